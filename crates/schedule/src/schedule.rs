use millstream_board::Processor;
use millstream_graph::OperatorId;

/// A pipeline: every frame passes through all stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The stages, in the order in which a frame passes them.
    pub stages: Vec<Stage>,
}

/// One step of the pipeline, which works on one frame per replica at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Interchangeable executors of the stage; a frame goes to whichever is free.
    pub replicas: Vec<Replica>,
}

/// One executor of a stage: all of the stage's operators on a set of processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// What each processor runs.
    pub assignments: Vec<Assignment>,
}

/// The operators that one processor runs, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The processor.
    pub processor: Processor,
    /// Its operators, in the order in which it runs them.
    pub operators: Vec<OperatorId>,
}

impl Schedule {
    /// All processors, stage by stage.
    pub fn processors(&self) -> impl Iterator<Item = &Processor> {
        self.stages
            .iter()
            .flat_map(|stage| &stage.replicas)
            .flat_map(|replica| &replica.assignments)
            .map(|assignment| &assignment.processor)
    }
}

impl Stage {
    /// The operators of the stage, as its first replica lists them.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> {
        self.replicas.first().into_iter().flat_map(Replica::operators)
    }
}

impl Replica {
    /// All operators, processor by processor.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> {
        self.assignments.iter().flat_map(|assignment| assignment.operators.iter().copied())
    }
}
