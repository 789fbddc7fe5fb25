use millstream_board::ProcessorClass;

use crate::Nanoseconds;

/// Identifies a processor class of one [`CostTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessorIndex(usize);

impl ProcessorIndex {
    /// Position of the class in [`CostTable::classes`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Segments of this very network were measured on this processor.
    Measured,
    /// A model fitted to other measurements predicts it.
    Model,
}

/// What a stage pays to take over a frame's values from the stages before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandOver {
    /// Once per frame.
    pub seconds: f64,
    /// Per byte received.
    pub seconds_per_byte: f64,
}

/// Operators x processor classes to times. Operators are numbered as in their graph
/// ([`OperatorId::index`](millstream_graph::OperatorId::index)).
#[derive(Debug, Clone)]
pub struct CostTable {
    operators: usize,
    classes: Vec<ProcessorClass>,
    /// Row per class.
    times: Vec<Option<Nanoseconds>>,
    origins: Vec<Origin>,
    hand_overs: Vec<HandOver>,
}

impl CostTable {
    /// A table in which nothing is supported yet and hand-overs are free.
    pub fn new(operators: usize, classes: impl IntoIterator<Item = ProcessorClass>) -> Self {
        let classes: Vec<ProcessorClass> = classes.into_iter().collect();
        Self {
            operators,
            times: vec![None; operators * classes.len()],
            origins: vec![Origin::Model; classes.len()],
            hand_overs: vec![HandOver { seconds: 0.0, seconds_per_byte: 0.0 }; classes.len()],
            classes,
        }
    }

    /// Number of operators.
    pub fn operators(&self) -> usize {
        self.operators
    }

    /// The processor classes.
    pub fn classes(&self) -> &[ProcessorClass] {
        &self.classes
    }

    /// All processor classes' indices.
    pub fn processors(&self) -> impl ExactSizeIterator<Item = ProcessorIndex> + use<> {
        (0..self.classes.len()).map(ProcessorIndex)
    }

    /// The index of a class, if the table has it.
    pub fn find(&self, class: &ProcessorClass) -> Option<ProcessorIndex> {
        self.classes.iter().position(|other| other == class).map(ProcessorIndex)
    }

    /// Time of an operator in context; `None` if the processor does not support it.
    pub fn time(&self, processor: ProcessorIndex, operator: usize) -> Option<Nanoseconds> {
        self.times.get(processor.0 * self.operators + operator).copied().flatten()
    }

    /// Sets the time of an operator.
    pub fn set_time(&mut self, processor: ProcessorIndex, operator: usize, time: Nanoseconds) {
        self.times[processor.0 * self.operators + operator] = Some(time);
    }

    /// What taking over `bytes` from the stages before costs a stage on this processor.
    pub fn hand_over(&self, processor: ProcessorIndex, bytes: u64) -> Nanoseconds {
        let HandOver { seconds, seconds_per_byte } = self.hand_overs[processor.0];
        Nanoseconds::from_seconds(seconds + seconds_per_byte * bytes as f64)
    }

    /// Sets what a hand-over costs.
    pub fn set_hand_over(&mut self, processor: ProcessorIndex, hand_over: HandOver) {
        self.hand_overs[processor.0] = hand_over;
    }

    /// Where a processor's times come from.
    pub fn origin(&self, processor: ProcessorIndex) -> Origin {
        self.origins[processor.0]
    }

    /// Sets where a processor's times come from.
    pub fn set_origin(&mut self, processor: ProcessorIndex, origin: Origin) {
        self.origins[processor.0] = origin;
    }
}
