use millstream_pipeline::{Constraints, Objective};

/// What a schedule should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// What it should be best at.
    pub objective: Objective,
    /// What it must keep to.
    pub constraints: Constraints,
    /// Whether plans are wanted that cost little energy, even if they are neither fast nor quick.
    pub wants_energy: bool,
}

impl Aim {
    /// The best schedule for an objective.
    pub fn best(objective: Objective) -> Self {
        Self { objective, constraints: Constraints::default(), wants_energy: objective == Objective::Energy }
    }

    /// The same within constraints.
    #[must_use]
    pub fn within(self, constraints: Constraints) -> Self {
        Self { constraints, wants_energy: self.wants_energy || constraints.max_watts.is_some(), ..self }
    }
}

impl Default for Aim {
    /// The highest throughput.
    fn default() -> Self {
        Self::best(Objective::Throughput)
    }
}
