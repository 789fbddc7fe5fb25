//! What a schedule should be: an objective within constraints.

use millstream_cost::Nanoseconds;
use millstream_pipeline::{Constraints, Effort, Objective};
use millstream_schedule::StatedConstraints;

/// The aim of a search: objective, limits and effort.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// What it should be best at.
    pub objective: Objective,
    /// What it must keep to.
    pub constraints: Constraints,
    /// By what part predictions must be better than each of the constraints, for what predictions do not know: 0.1 for
    /// a tenth.
    pub margin: f64,
    /// Whether plans are wanted that cost little energy, even if they are neither fast nor quick.
    pub wants_energy: bool,
    /// How much work the search puts into stages of several processors.
    pub effort: Effort,
}

impl Aim {
    /// The best schedule for an objective.
    pub fn best(objective: Objective) -> Self {
        let wants_energy = objective == Objective::Energy;
        Self { objective, constraints: Constraints::default(), margin: 0.0, wants_energy, effort: Effort::USUAL }
    }

    /// The same within constraints.
    #[must_use]
    pub fn within(self, constraints: Constraints) -> Self {
        Self { constraints, wants_energy: self.wants_energy || constraints.max_watts.is_some(), ..self }
    }

    /// The same with a margin to the constraints; a negative one counts as none.
    #[must_use]
    pub fn with_margin(self, margin: f64) -> Self {
        Self { margin: margin.max(0.0), ..self }
    }

    /// The same with another effort.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// What predictions must keep to: the constraints with their margin.
    pub(crate) fn limits(&self) -> Constraints {
        if self.margin == 0.0 { self.constraints } else { self.constraints.divided_by(1.0 + self.margin) }
    }

    /// The constraints as they stand in files.
    pub(crate) fn stated(&self) -> StatedConstraints {
        let Constraints { max_latency, max_period, max_watts } = self.constraints;
        StatedConstraints {
            max_latency_seconds: max_latency.map(Nanoseconds::seconds),
            min_throughput_hertz: max_period.map(|period| 1.0 / period.seconds().max(1e-9)),
            max_watts,
            margin: self.margin,
        }
    }
}

impl Default for Aim {
    /// The highest throughput.
    fn default() -> Self {
        Self::best(Objective::Throughput)
    }
}
