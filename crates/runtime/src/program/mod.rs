//! What a replica does for a frame: the steps of its processors, and who waits for whom.

mod build;
mod runs;

use millstream_backend::Segment;
use millstream_graph::ValueId;
use millstream_schedule::execution::ProcessorId;

/// What a replica does for a frame.
pub(crate) struct Program {
    /// Per processor, its steps in the order in which it runs them.
    pub(crate) tracks: Vec<Vec<Step>>,
    /// The values that cross borders of segments, by [`ProgramSlot`].
    pub(crate) values: Vec<ValueId>,
    /// Values that several processors make together, by [`JoinId`].
    pub(crate) joins: Vec<Join>,
}

/// A step of a [`Program`]. Those of one processor are ordered as it runs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StepId {
    /// Whose step it is; when another processor takes it over, it is still this one's.
    pub(crate) processor: ProcessorId,
    /// Its position in the processor's track, counted from 0.
    pub(crate) index: usize,
}

/// Where the processors of a replica keep a value of the frame at hand. What frames carry from stage to stage has
/// [`FrameSlot`](crate::route::FrameSlot)s instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgramSlot(usize);

/// A value that several processors make together, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JoinId(usize);

/// A segment of one processor, between two points where processors wait for each other.
pub(crate) struct Step {
    pub(crate) segment: Segment,
    /// What the segment reads, in the order of its inputs.
    pub(crate) inputs: Vec<ProgramSlot>,
    pub(crate) output: StepOutput,
    /// The steps that must be done before this one starts: of each processor that it waits for, the last one.
    pub(crate) waits: Vec<StepId>,
    /// Processors that wait for this step.
    pub(crate) wakes: Vec<ProcessorId>,
}

/// Where a step's results go.
pub(crate) enum StepOutput {
    /// Whole values, in the order of the segment's outputs.
    Values(Vec<ProgramSlot>),
    /// A part of a value that several processors make.
    Part {
        join: JoinId,
        /// Which of [`Join::parts`], counted from 0.
        part: usize,
    },
}

/// A value whose channels or rows several processors make.
pub(crate) struct Join {
    pub(crate) slot: ProgramSlot,
    /// Dimension that counts channels or rows.
    pub(crate) axis: usize,
    /// Channels or rows of each part.
    pub(crate) parts: Vec<usize>,
}

impl ProgramSlot {
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

impl JoinId {
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

impl Program {
    pub(crate) fn step(&self, id: StepId) -> &Step {
        &self.tracks[id.processor.index()][id.index]
    }

    /// How many steps a processor has.
    pub(crate) fn track_length(&self, processor: ProcessorId) -> usize {
        self.tracks[processor.index()].len()
    }

    /// A processor's steps in order.
    pub(crate) fn steps_of(&self, processor: ProcessorId) -> impl DoubleEndedIterator<Item = StepId> + use<> {
        (0..self.track_length(processor)).map(move |index| StepId { processor, index })
    }

    /// Where a value is kept, if any segment reads or makes it.
    pub(crate) fn slot(&self, value: ValueId) -> Option<ProgramSlot> {
        self.values.iter().position(|&other| other == value).map(ProgramSlot)
    }
}
