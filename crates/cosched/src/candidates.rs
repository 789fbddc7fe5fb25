//! Divisions of one operator that are worth a trial.

use millstream_cost::{ClassId, CostTable, Nanoseconds, PartTimes};
use millstream_graph::{Along, Graph, OperatorId};
use millstream_schedule::execution::{ProcessorId, Span, TaskId};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Task};

use crate::shares::exact_shares_by;
use crate::trial::Trial;

/// Ways to divide an operator, by its own cost and with more or fewer of its followers.
pub(crate) fn candidates(
    whole: &Trial<'_>,
    head: OperatorId,
    graph: &Graph,
    table: &CostTable,
    is_free: &impl Fn(OperatorId) -> bool,
) -> Vec<Replica> {
    let Trial { replica, tasks, execution, .. } = whole;
    let (Some(units), Some(home)) = (graph.channel_units(head), home(replica, head)) else { return Vec::new() };
    let tasks = tasks.tasks();
    let spans: Vec<Span> = TaskId::all(tasks.len()).map(|task| execution.span(task)).collect();
    let followers = graph.channel_followers(head);
    let Some(start) = tasks.iter().position(|task| task.operator == head).map(|index| spans[index].start) else {
        return Vec::new();
    };

    // When each processor has done what it starts before the operator.
    let ready = |processor: ProcessorId| {
        let before = tasks.iter().zip(&spans).filter(|(task, span)| task.processor == processor && span.start < start);
        before.map(|(_, span)| span.end).max().unwrap_or_default().max(start)
    };
    let classes = classes(replica, table);
    // When each processor could begin with a part.
    let begin = |processor: ProcessorId| ready(processor) + arrival(processor, home, tasks, head, &classes, table);
    let begins: Vec<Nanoseconds> = ProcessorId::all(classes.len()).map(begin).collect();

    let mut found = Vec::new();
    for length in lengths(replica, head, home, graph, is_free) {
        let operators: Vec<OperatorId> = std::iter::once(head).chain(followers[..length].iter().copied()).collect();
        let parts_on = |class: &Option<ClassId>| -> Option<Vec<PartTimes>> {
            let class = (*class)?;
            operators.iter().map(|&id| table.part_times(class, id, units.channels, id == head)).collect()
        };
        let parts: Vec<Option<Vec<PartTimes>>> = classes.iter().map(parts_on).collect();
        // When a processor has made so many channels.
        let cost = |processor: ProcessorId, channels: usize| {
            let times = parts[processor.index()].as_ref()?.iter().map(|part| part.time(channels));
            Some(begins[processor.index()] + times.sum())
        };
        let never_fall = parts.iter().flatten().flatten().all(PartTimes::never_fall);
        let found_shares = exact_shares_by(units.channels, units.unit, classes.len(), never_fall, cost);
        let Some(shares) = found_shares else { continue };
        if shares.made.iter().filter(|&&share| share > 0).count() < 2 {
            continue;
        }

        let mut divided = replica.clone();
        for (processor, assignment) in ProcessorId::all(classes.len()).zip(&mut divided.assignments) {
            if processor != home && shares.made[processor.index()] > 0 {
                let at = position_of_part(replica, processor, started_before(tasks, &spans, processor, start));
                assignment.operators.splice(at..at, operators.iter().copied());
            }
        }
        divided.splits.push(OperatorSplit { operators, along: Along::Channels, shares: shares.made });
        take_from_home(&mut divided, home);
        found.push(divided);
    }
    found
}

/// The class of each processor in the table, if it is there.
pub(crate) fn classes(replica: &Replica, table: &CostTable) -> Vec<Option<ClassId>> {
    replica.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect()
}

/// How many of the operators that follow an operator on its processor could be divided with it.
fn lengths(
    replica: &Replica,
    head: OperatorId,
    home: ProcessorId,
    graph: &Graph,
    is_free: &impl Fn(OperatorId) -> bool,
) -> Vec<usize> {
    let own = &replica.assignments[home.index()].operators;
    let position = own.iter().position(|&id| id == head).unwrap_or(0);
    let followers = graph.channel_followers(head);
    let together = followers
        .iter()
        .zip(&own[position + 1..])
        .take_while(|(follower, next)| {
            follower == next && is_free(**follower) && replica.split_of(**follower).is_none()
        })
        .count();
    let mut lengths = vec![together, 0];
    // Activations without the pooling that comes after them.
    lengths.extend((1..together).filter(|&length| graph.operator(followers[length]).op_type.contains("Pool")));
    lengths.dedup();
    lengths.retain(|&length| graph.can_divide_together(head, &followers[..length]));
    lengths
}

/// How many tasks a processor starts before a moment.
fn started_before(tasks: &[Task], spans: &[Span], processor: ProcessorId, moment: Nanoseconds) -> usize {
    let is_before = |span: &Span| span.start < moment || span.start == moment && span.end == moment;
    tasks.iter().zip(spans).filter(|(task, span)| task.processor == processor && is_before(span)).count()
}

/// Where a processor's part of a divided operator goes among its operators: after `at` of them, and after all that is
/// divided together with the last of these.
pub(crate) fn position_of_part(replica: &Replica, processor: ProcessorId, mut at: usize) -> usize {
    let operators = &replica.assignments[processor.index()].operators;
    while let (Some(before), Some(next)) = (at.checked_sub(1), operators.get(at))
        && let Some(split) = replica.split_of(operators[before])
        && split.operators.contains(next)
    {
        at += 1;
    }
    at
}

/// Where an operator that is not divided runs.
fn home(replica: &Replica, operator: OperatorId) -> Option<ProcessorId> {
    let runs = |assignment: &Assignment| assignment.operators.contains(&operator);
    replica.assignments.iter().position(runs).map(ProcessorId::new)
}

/// A processor whose share came out as nothing does not list the operators.
fn take_from_home(replica: &mut Replica, home: ProcessorId) {
    if let Some(split) = replica.splits.last()
        && split.shares[home.index()] == 0
    {
        replica.assignments[home.index()].operators.retain(|id| !split.operators.contains(id));
    }
}

/// How long the operator's inputs take to get from its own processor to another one.
fn arrival(
    processor: ProcessorId,
    home: ProcessorId,
    tasks: &[Task],
    head: OperatorId,
    classes: &[Option<ClassId>],
    table: &CostTable,
) -> Nanoseconds {
    if processor == home {
        return Nanoseconds::ZERO;
    }
    let inputs = tasks.iter().filter(|task| task.operator == head).flat_map(|task| &task.inputs);
    let transfers = inputs.filter_map(|input| {
        let from = tasks[input.maker.index()].processor;
        let transfer = || Some(table.transfer(classes[from.index()]?, classes[processor.index()]?, input.bytes));
        (from != processor).then(transfer)?
    });
    transfers.max().unwrap_or_default()
}
