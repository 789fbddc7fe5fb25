//! Dividing the operators of a replica wherever that lets it finish earlier.

use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Along, ChannelUnits, Graph, OperatorId};
use millstream_schedule::execution::{ProcessorId, Span, TaskId};
use millstream_schedule::{Assignment, OperatorSplit, Replica, ReplicaTasks, Task};

use crate::exact_shares;

/// Rounds over all operators: what one division changes may make another one worthwhile.
const MOST_ROUNDS: usize = 4;

/// Divides operators by output channels between the replica's processors, one after the other, each where that brings down
/// `finish`, and the operators that follow it channel by channel with it. `finish` says when a replica is done, by whatever
/// counts for the caller; `None` if it can't run.
///
/// For each operator, the exact division of its own cost ([`exact_shares`]) is tried in place, with and without its followers,
/// and then shifted as long as that helps. Operators for which `is_free` is false stay as they are.
pub fn divide(
    replica: Replica,
    graph: &Graph,
    table: &CostTable,
    is_free: impl Fn(OperatorId) -> bool,
    finish: impl Fn(&Replica) -> Option<Nanoseconds>,
) -> Replica {
    divide_where_close(replica, graph, table, f64::INFINITY, is_free, finish)
}

/// The same where there is much to divide: a division is shifted only if the replica is done at most `most_above` times as late with it as
/// without, and only from the processor whose part takes longest, unless `most_above` is infinite. Some divisions that shifting would make
/// worthwhile are missed, and most of the time is saved.
pub fn divide_where_close(
    mut replica: Replica,
    graph: &Graph,
    table: &CostTable,
    most_above: f64,
    is_free: impl Fn(OperatorId) -> bool,
    finish: impl Fn(&Replica) -> Option<Nanoseconds>,
) -> Replica {
    if replica.assignments.len() < 2 {
        return replica;
    }
    let Some(mut best) = finish(&replica) else { return replica };
    let mut heads: Vec<OperatorId> =
        replica.operators().filter(|&id| is_free(id) && graph.channel_units(id).is_some()).collect();
    let work = |id: &OperatorId| std::cmp::Reverse(graph.operator(*id).work.macs);
    heads.sort_by_key(work);
    for _ in 0..MOST_ROUNDS {
        let before = best;
        for &head in &heads {
            let Some(whole) = undivided(&replica, head) else { continue };
            for mut candidate in candidates(&whole, head, graph, table, &is_free) {
                let Some(mut time) = finish(&candidate) else { continue };
                if time.0 as f64 <= best.0 as f64 * most_above {
                    shift(&mut candidate, head, (graph, table), &mut time, most_above == f64::INFINITY, &finish);
                }
                if time < best {
                    (replica, best) = (candidate, time);
                }
            }
            // Perhaps it is not worth it any more.
            if let Some(time) = finish(&whole).filter(|time| *time <= best) {
                (replica, best) = (whole, time);
            }
        }
        if best >= before {
            break;
        }
    }
    replica
}

/// The replica with the operator's group back on the processor that makes the most of it; itself if it is not divided. `None` if
/// the operator is divided as a follower of another one.
fn undivided(replica: &Replica, head: OperatorId) -> Option<Replica> {
    let Some(index) = replica.splits.iter().position(|split| split.operators.contains(&head)) else {
        return Some(replica.clone());
    };
    let mut whole = replica.clone();
    let split = whole.splits.remove(index);
    if split.operators.first() != Some(&head) {
        return None;
    }
    let home = (0..split.shares.len()).max_by_key(|&position| split.shares[position])?;
    for (position, assignment) in whole.assignments.iter_mut().enumerate() {
        if position != home {
            assignment.operators.retain(|id| !split.operators.contains(id));
        }
    }
    Some(whole)
}

/// Ways to divide an operator, by its own cost and with more or fewer of its followers.
fn candidates(
    replica: &Replica,
    head: OperatorId,
    graph: &Graph,
    table: &CostTable,
    is_free: &impl Fn(OperatorId) -> bool,
) -> Vec<Replica> {
    let (Some(units), Some(home)) = (graph.channel_units(head), home(replica, head)) else { return Vec::new() };
    let Ok(replica_tasks) = ReplicaTasks::new(replica, graph, table) else { return Vec::new() };
    let Ok(execution) = replica_tasks.execute(graph) else { return Vec::new() };
    let tasks = replica_tasks.tasks();
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
    let mut found = Vec::new();
    for length in lengths(replica, head, home, graph, is_free) {
        let operators: Vec<OperatorId> = std::iter::once(head).chain(followers[..length].iter().copied()).collect();
        let cost = |position: usize, channels: usize| {
            let (processor, class) = (ProcessorId::new(position), classes[position]?);
            let parts = operators.iter().map(|id| table.part_time(class, id.index(), channels, units.channels));
            let time: Option<Nanoseconds> = parts.sum();
            let apart = table.part(class, head.index()).apart;
            Some((apart + ready(processor) + arrival(processor, home, tasks, head, &classes, table) + time?).0)
        };
        let Some(shares) = exact_shares(units.channels, units.unit, replica.assignments.len(), cost) else { continue };
        if shares.made.iter().filter(|&&share| share > 0).count() < 2 {
            continue;
        }
        let mut divided = replica.clone();
        for (processor, assignment) in ProcessorId::all(classes.len()).zip(&mut divided.assignments) {
            if processor != home && shares.made[processor.index()] > 0 {
                let at = place_of_part(replica, processor, started_before(tasks, &spans, processor, start));
                assignment.operators.splice(at..at, operators.iter().copied());
            }
        }
        divided.splits.push(OperatorSplit { operators, along: Along::Channels, shares: shares.made });
        take_from_home(&mut divided, home);
        found.push(divided);
    }
    found
}

/// The processors' places in the table.
fn classes(replica: &Replica, table: &CostTable) -> Vec<Option<ProcessorIndex>> {
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
    let place = own.iter().position(|&id| id == head).unwrap_or(0);
    let followers = graph.channel_followers(head);
    let together = followers
        .iter()
        .zip(&own[place + 1..])
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

/// Where a processor's part of a divided operator goes: after so many tasks, and after all that is divided together with the last.
fn place_of_part(replica: &Replica, processor: ProcessorId, mut at: usize) -> usize {
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

/// What the operator's inputs take to get to another processor than its own.
fn arrival(
    processor: ProcessorId,
    home: ProcessorId,
    tasks: &[Task],
    head: OperatorId,
    classes: &[Option<ProcessorIndex>],
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

/// Moves channels of an operator from one processor to another as long as that helps, in ever smaller steps: from any, or only from the one
/// whose part takes longest.
fn shift(
    replica: &mut Replica,
    head: OperatorId,
    (graph, table): (&Graph, &CostTable),
    time: &mut Nanoseconds,
    from_any: bool,
    finish: &impl Fn(&Replica) -> Option<Nanoseconds>,
) {
    let Some(ChannelUnits { channels, unit, .. }) = graph.channel_units(head) else { return };
    let Some(index) = replica.splits.iter().position(|split| split.operators.first() == Some(&head)) else { return };
    let classes = classes(replica, table);
    let part_time = |replica: &Replica, position: usize| {
        let share = replica.splits[index].shares[position];
        classes[position].and_then(|class| table.part_time(class, head.index(), share, channels))
    };
    let takers: Vec<usize> =
        (0..replica.assignments.len()).filter(|&position| replica.splits[index].shares[position] > 0).collect();
    let mut step = (channels / unit / 4).max(1);
    loop {
        let mut has_moved = false;
        let longest = takers.iter().copied().max_by_key(|&position| part_time(replica, position));
        let sources = takers.iter().copied().filter(|&from| from_any || Some(from) == longest);
        for (from, to) in sources.flat_map(|from| takers.iter().map(move |&to| (from, to))).collect::<Vec<_>>() {
            let moved = step * unit;
            if from == to || replica.splits[index].shares[from] <= moved {
                continue;
            }
            replica.splits[index].shares[from] -= moved;
            replica.splits[index].shares[to] += moved;
            match finish(replica).filter(|found| *found < *time) {
                Some(found) => (*time, has_moved) = (found, true),
                None => {
                    replica.splits[index].shares[from] += moved;
                    replica.splits[index].shares[to] -= moved;
                }
            }
        }
        if !has_moved {
            if step == 1 {
                return;
            }
            step /= 2;
        }
    }
}
