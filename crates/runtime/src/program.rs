//! A replica as the segments that its processors run, and who waits for whom.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use millstream_backend::Segment;
use millstream_graph::{Along, Graph, OperatorId, RowRegion, ValueId};
use millstream_schedule::execution::TaskId;
use millstream_schedule::{InseparableTasks, Replica, Task};

/// What a replica does for a frame.
pub(crate) struct Program {
    /// Per processor, its segments in order.
    pub(crate) tracks: Vec<Vec<Step>>,
    /// The values that cross borders of segments; segments name them by their places here.
    pub(crate) values: Vec<ValueId>,
    /// Values that several processors make together.
    pub(crate) joins: Vec<Join>,
}

/// A run of operators on one processor between two points where processors wait for each other.
pub(crate) struct Step {
    pub(crate) segment: Segment,
    pub(crate) inputs: Vec<usize>,
    pub(crate) output: StepOutput,
    /// Other processors, and how many of their segments must be done before this one starts.
    pub(crate) waits: Vec<(usize, usize)>,
    /// Processors that wait for this segment.
    pub(crate) wakes: Vec<usize>,
}

/// Where a segment's results go.
pub(crate) enum StepOutput {
    /// Whole values.
    Values(Vec<usize>),
    /// A part of a value: the join, and the place among its parts.
    Part(usize, usize),
}

/// A value whose channels or rows several processors make.
pub(crate) struct Join {
    pub(crate) value: usize,
    /// Dimension that counts channels or rows.
    pub(crate) axis: usize,
    /// Channels or rows of each part.
    pub(crate) parts: Vec<usize>,
}

impl Program {
    /// Cuts every processor's operators where it has to wait for a value from another processor that it has not waited for
    /// yet, after each operator that others wait for, and around operators that it shares.
    pub(crate) fn new(replica: &Replica, graph: &Graph) -> Self {
        let tasks = replica.tasks(graph);
        let mut is_awaited = vec![false; tasks.len()];
        for task in &tasks {
            for input in task.inputs.iter().filter(|input| tasks[input.maker.index()].processor != task.processor) {
                is_awaited[input.maker.index()] = true;
            }
        }

        let mut program = Self { tracks: vec_of(replica.assignments.len()), values: Vec::new(), joins: Vec::new() };
        let runs = runs(replica, graph, &tasks, &is_awaited);
        // The processor and the segment that each task is in.
        let mut home = vec![(0, 0); tasks.len()];
        for (processor, runs) in runs.iter().enumerate() {
            for (step, run) in runs.iter().enumerate() {
                run.clone().for_each(|task| home[task] = (processor, step));
            }
        }

        let mut known: HashMap<ValueId, usize> = HashMap::new();
        let mut joins: HashMap<ValueId, usize> = HashMap::new();
        for (processor, runs) in runs.iter().enumerate() {
            let mut awaited: HashMap<usize, usize> = HashMap::new();
            for run in runs {
                let mut waits: HashMap<usize, usize> = HashMap::new();
                for input in tasks[run.clone()].iter().flat_map(|task| &task.inputs) {
                    let (other, step) = home[input.maker.index()];
                    if other != processor && awaited.get(&other).is_none_or(|&done| done < step + 1) {
                        let wait = waits.entry(other).or_insert(0);
                        *wait = (*wait).max(step + 1);
                    }
                }
                awaited.extend(waits.iter().map(|(&other, &steps)| (other, steps)));
                let mut waits: Vec<(usize, usize)> = waits.into_iter().collect();
                waits.sort_unstable();
                let step = program.step(replica, graph, &tasks[run.clone()], waits, &mut known, &mut joins);
                program.tracks[processor].push(step);
            }
        }

        for processor in 0..program.tracks.len() {
            for step in 0..program.tracks[processor].len() {
                for (other, steps) in program.tracks[processor][step].waits.clone() {
                    let wakes = &mut program.tracks[other][steps - 1].wakes;
                    if !wakes.contains(&processor) {
                        wakes.push(processor);
                    }
                }
            }
        }
        program
    }

    fn step(
        &mut self,
        replica: &Replica,
        graph: &Graph,
        tasks: &[Task],
        waits: Vec<(usize, usize)>,
        known: &mut HashMap<ValueId, usize>,
        joins: &mut HashMap<ValueId, usize>,
    ) -> Step {
        let operators: Vec<OperatorId> = tasks.iter().map(|task| task.operator).collect();
        let mut place = |value: ValueId| {
            *known.entry(value).or_insert_with(|| {
                self.values.push(value);
                self.values.len() - 1
            })
        };

        let split = operators.first().and_then(|&head| replica.split_of(head)).zip(tasks.first());
        let part = split
            .and_then(|(split, task)| Some((split, split.portion(task.processor.index())?, task.processor.index())));
        let Some((split, portion, processor)) = part else {
            let segment = Segment::new(graph, operators);
            let inputs = segment.boundary.inputs.iter().map(|&value| place(value)).collect();
            let output = StepOutput::Values(segment.boundary.outputs.iter().map(|&value| place(value)).collect());
            return Step { segment, inputs, output, waits, wakes: Vec::new() };
        };

        let axis = match portion.along {
            Along::Channels => {
                operators.first().and_then(|&head| graph.channel_units(head)).map_or(1, |units| units.axis)
            }
            Along::Rows => RowRegion::new(graph, &operators).map_or(2, |region| region.axis()),
        };

        let segment = Segment { portion: Some(portion), ..Segment::new(graph, operators) };
        let inputs = segment.boundary.inputs.iter().map(|&value| place(value)).collect();
        let parts: Vec<usize> = split.shares.iter().copied().filter(|&share| share > 0).collect();
        let own = split.shares[..processor].iter().filter(|&&share| share > 0).count();
        let output = segment.boundary.outputs.first().map_or(StepOutput::Values(Vec::new()), |&value| {
            let value_place = place(value);
            let join = *joins.entry(value).or_insert_with(|| {
                self.joins.push(Join { value: value_place, axis, parts });
                self.joins.len() - 1
            });
            StepOutput::Part(join, own)
        });
        Step { segment, inputs, output, waits, wakes: Vec::new() }
    }

    /// Where a value is, if any segment reads or makes it.
    pub(crate) fn place(&self, value: ValueId) -> Option<usize> {
        self.values.iter().position(|&other| other == value)
    }
}

fn vec_of(length: usize) -> Vec<Vec<Step>> {
    (0..length).map(|_| Vec::new()).collect()
}

/// Per processor, the ranges of tasks that run without waiting in between.
fn runs(replica: &Replica, graph: &Graph, tasks: &[Task], is_awaited: &[bool]) -> Vec<Vec<Range<usize>>> {
    let inseparable = InseparableTasks::of(graph, tasks);
    let members = |index: usize| inseparable.members(TaskId::new(index)).map(TaskId::index);
    let mut runs: Vec<Vec<Range<usize>>> = vec![Vec::new(); replica.assignments.len()];
    // What the processor has waited for so far.
    let mut here: HashSet<usize> = HashSet::new();
    for index in 0..tasks.len() {
        let task = &tasks[index];
        let previous = index.checked_sub(1).filter(|&previous| tasks[previous].processor == task.processor);
        if previous.is_none() {
            here.clear();
        }

        let is_bound = inseparable.first(TaskId::new(index)).index() < index;
        let remote: Vec<usize> = members(index)
            .filter(|_| !is_bound)
            .flat_map(|member| &tasks[member].inputs)
            .map(|input| input.maker.index())
            .filter(|&maker| tasks[maker].processor != task.processor && !here.contains(&maker))
            .collect();

        let split =
            |index: usize| replica.splits.iter().position(|split| split.operators.contains(&tasks[index].operator));
        let goes_on = previous.is_some_and(|previous| match (split(previous), split(index)) {
            (None, None) => is_bound || remote.is_empty() && !members(previous).any(|member| is_awaited[member]),
            (before, now) => before == now,
        });

        here.extend(remote);
        let own = &mut runs[task.processor.index()];
        match own.last_mut() {
            Some(last) if goes_on => last.end = index + 1,
            _ => own.push(index..index + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use millstream_board::Processor;
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape};
    use millstream_schedule::Assignment;

    use super::*;

    /// A processor waits before it makes a value of unknown type, not before it reads that: nothing can start or end at such a value.
    #[test]
    fn segments_end_at_no_value_of_unknown_type() {
        let mut builder = GraphBuilder::new("untyped");
        let mut value = |name: &str, data_type| builder.value(name, data_type, Some(Shape::from([1, 8]))).unwrap();
        let [input, elsewhere, output] = ["x", "elsewhere", "y"].map(|name| value(name, Some(DataType::F32)));
        let untyped = value("untyped", None);
        builder.input(input);
        let mut operator = |name: &str, reads: &[ValueId], makes: ValueId| {
            let new = NewOperator::new(name, "If", OperatorKind::Opaque).reads(reads.iter().copied()).makes([makes]);
            builder.operator(new).unwrap()
        };
        let first = operator("first", &[input], untyped);
        let other = operator("other", &[input], elsewhere);
        let last = operator("last", &[untyped, elsewhere], output);
        builder.output(output);
        let graph = builder.build().unwrap();

        let assignment =
            |core: u32, operators: Vec<OperatorId>| Assignment { processor: Processor::new("B", [core]), operators };
        let replica = Replica::new(vec![assignment(0, vec![first, last]), assignment(1, vec![other])]);
        let program = Program::new(&replica, &graph);
        let [own, others] = program.tracks.as_slice() else { panic!("two processors") };
        assert_eq!(own.iter().map(|step| step.waits.as_slice()).collect::<Vec<_>>(), [&[(1, 1)]]);
        assert_eq!((own[0].inputs.len(), others.len(), others[0].wakes.as_slice()), (2, 1, &[0][..]));
        assert!(program.values.iter().all(|&value| graph.value(value).data_type.is_some()));
    }
}
