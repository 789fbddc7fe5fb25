//! Why a mapper stopped.

/// Why a mapper stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is shorter: the makespan equals the lower bound.
    Optimal,
    /// The gap is as small as was asked for.
    GapReached,
    /// It has taken all steps that it was allowed, or there is nothing left that it could try.
    StepLimit,
    /// The caller asked to stop.
    Cancelled,
    /// It is a heuristic, and has made its one mapping.
    Heuristic,
}
