//! Making a program of a replica's tasks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use millstream_backend::Segment;
use millstream_graph::{Along, Graph, OperatorId, Portion, TileRegion, ValueId};
use millstream_schedule::execution::ProcessorId;
use millstream_schedule::{OperatorSplit, Replica, Task};

use super::runs::runs;
use super::{Join, JoinId, Program, ProgramSlot, Step, StepId, StepOutput};

impl Program {
    /// What the processors of a replica do for a frame, each in the order of the schedule.
    pub(crate) fn new(replica: &Replica, graph: &Graph) -> Self {
        let tasks = replica.tasks(graph);
        let runs = runs(replica, graph, &tasks);
        let step_of = steps_of_tasks(&runs, tasks.len());

        let mut builder = Builder { replica, graph, values: Vec::new(), slots: HashMap::new(), joins: Vec::new() };
        let mut tracks = Vec::with_capacity(runs.len());
        for (processor, runs) in ProcessorId::all(runs.len()).zip(&runs) {
            let mut waited_for = BTreeMap::new();
            let mut track = Vec::with_capacity(runs.len());
            for run in runs {
                let tasks = &tasks[run.clone()];
                let waits = waits(processor, tasks, &step_of, &mut waited_for);
                track.push(builder.step(tasks, waits));
            }
            tracks.push(track);
        }

        let mut program = Self { tracks, values: builder.values, joins: builder.joins };
        program.set_wakes();
        program
    }

    /// Has every step wake those who wait for it.
    fn set_wakes(&mut self) {
        for processor in ProcessorId::all(self.tracks.len()) {
            for step in self.steps_of(processor) {
                for awaited in self.step(step).waits.clone() {
                    let wakes = &mut self.tracks[awaited.processor.index()][awaited.index].wakes;
                    if !wakes.contains(&processor) {
                        wakes.push(processor);
                    }
                }
            }
        }
    }
}

/// The step that each task is in.
fn steps_of_tasks(runs: &[Vec<Range<usize>>], tasks: usize) -> Vec<StepId> {
    let mut step_of = vec![StepId { processor: ProcessorId::new(0), index: 0 }; tasks];
    for (processor, runs) in ProcessorId::all(runs.len()).zip(runs) {
        for (index, run) in runs.iter().enumerate() {
            step_of[run.clone()].fill(StepId { processor, index });
        }
    }
    step_of
}

/// What a processor waits for before these tasks: of each other processor, the last step that makes one of their
/// inputs, unless that was waited for before. `waited_for` has the last step of each processor that was.
fn waits(
    processor: ProcessorId,
    tasks: &[Task],
    step_of: &[StepId],
    waited_for: &mut BTreeMap<ProcessorId, StepId>,
) -> Vec<StepId> {
    let mut waits: BTreeMap<ProcessorId, StepId> = BTreeMap::new();
    for input in tasks.iter().flat_map(|task| &task.inputs) {
        let maker = step_of[input.maker.index()];
        if maker.processor != processor && waited_for.get(&maker.processor).is_none_or(|&known| known < maker) {
            let wait = waits.entry(maker.processor).or_insert(maker);
            *wait = maker.max(*wait);
        }
    }
    waited_for.extend(&waits);
    waits.into_values().collect()
}

/// The values and joins of the steps that were made so far.
struct Builder<'t> {
    replica: &'t Replica,
    graph: &'t Graph,
    values: Vec<ValueId>,
    /// Of each of `values`.
    slots: HashMap<ValueId, ProgramSlot>,
    joins: Vec<Join>,
}

impl Builder<'_> {
    /// The step that runs these tasks of one processor.
    fn step(&mut self, tasks: &[Task], waits: Vec<StepId>) -> Step {
        let operators: Vec<OperatorId> = tasks.iter().map(|task| task.operator).collect();
        let split = operators.first().and_then(|&head| self.replica.split_of(head)).zip(tasks.first());
        let part =
            split.and_then(|(split, task)| Some((split, task.processor, split.portion(task.processor.index())?)));

        let segment = Segment::new(self.graph, operators);
        let inputs = segment.boundary.inputs.iter().map(|&value| self.slot(value)).collect();
        let Some((split, processor, portion)) = part else {
            let output = StepOutput::Values(segment.boundary.outputs.iter().map(|&value| self.slot(value)).collect());
            return Step { segment, inputs, output, waits, wakes: Vec::new() };
        };

        let output = self.part_output(&segment, split, processor, &portion);
        let segment = Segment { portion: Some(portion), ..segment };
        Step { segment, inputs, output, waits, wakes: Vec::new() }
    }

    /// Where a processor's part of operators that are divided goes.
    fn part_output(
        &mut self,
        segment: &Segment,
        split: &OperatorSplit,
        processor: ProcessorId,
        portion: &Portion,
    ) -> StepOutput {
        let Some(&value) = segment.boundary.outputs.first() else { return StepOutput::Values(Vec::new()) };
        let slot = self.slot(value);
        let known = self.joins.iter().position(|join| join.slot == slot);
        let join = known.unwrap_or_else(|| {
            let (axis, unit) = divided_axis(self.graph, &segment.operators, portion.along);
            let parts = split.shares.iter().filter(|&&share| share > 0).map(|share| share * unit).collect();
            self.joins.push(Join { slot, axis, parts });
            self.joins.len() - 1
        });

        let before = split.shares.iter().take(processor.index());
        StepOutput::Part { join: JoinId(join), part: before.filter(|&&share| share > 0).count() }
    }

    /// The slot of a value, a new one if it has none yet.
    fn slot(&mut self, value: ValueId) -> ProgramSlot {
        *self.slots.entry(value).or_insert_with(|| {
            self.values.push(value);
            ProgramSlot(self.values.len() - 1)
        })
    }
}

/// The dimension of their output along which operators are divided, and how many positions along it a channel, a row, a
/// column or a head has.
fn divided_axis(graph: &Graph, operators: &[OperatorId], along: Along) -> (usize, usize) {
    let tiles = TileRegion::new(graph, operators, along).map(|region| (region.axis(), region.unit()));
    let channels = || operators.first().and_then(|&head| graph.channel_units(head)).map_or(1, |units| units.axis);
    tiles.unwrap_or_else(|| (channels(), 1))
}

#[cfg(test)]
mod tests {
    use millstream_board::Processor;
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape};
    use millstream_schedule::Assignment;

    use super::*;

    /// A processor waits before it makes a value of unknown type, not before it reads that: nothing can start or end at
    /// such a value.
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
        let [waiting, others] = program.tracks.as_slice() else { panic!("two processors") };
        let [first, second] = [0, 1].map(ProcessorId::new);
        let awaited = StepId { processor: second, index: 0 };
        assert_eq!(waiting.iter().map(|step| step.waits.as_slice()).collect::<Vec<_>>(), [&[awaited]]);
        assert_eq!((waiting[0].inputs.len(), others.len(), others[0].wakes.as_slice()), (2, 1, &[first][..]));
        assert!(program.values.iter().all(|&value| graph.value(value).data_type.is_some()));
    }
}
