//! What frames cost in energy.

use std::fmt;

use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};

use crate::{Plan, PlannedStage, Problem};

/// An energy in whole nanojoules, so that equal means equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanojoules(pub u64);

impl Nanojoules {
    /// Rounds to the nearest nanojoule; negative and undefined energies become zero.
    pub fn from_joules(joules: f64) -> Self {
        Self((joules * 1e9).round() as u64)
    }

    /// In joules.
    pub fn joules(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl fmt::Display for Nanojoules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} mJ", self.joules() * 1e3)
    }
}

/// What a stage's processors draw.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StagePower {
    /// Energy of a frame beyond idle power.
    pub(crate) active_joules: f64,
    /// Power all the time.
    pub(crate) idle_watts: f64,
}

/// Idle power of a processor class, and what it draws more while it works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassPower {
    pub(crate) idle_watts: f64,
    pub(crate) more_watts: f64,
}

impl ClassPower {
    pub(crate) fn of(table: &CostTable, processor: ProcessorIndex) -> Option<Self> {
        let power = table.power(processor)?;
        Some(Self { idle_watts: power.idle_watts, more_watts: power.active_watts - power.idle_watts })
    }
}

/// Power of a stage whose replicas take frames in proportion to their speed: each then works for all of the stage's period.
pub(crate) fn replicated_power(powers: &[ClassPower], times: &[Nanoseconds]) -> StagePower {
    let more: f64 = powers.iter().map(|power| power.more_watts).sum();
    let rate: f64 = times.iter().map(|time| 1.0 / time.seconds().max(1e-9)).sum();
    let idle_watts = powers.iter().map(|power| power.idle_watts).sum();
    StagePower { active_joules: more / rate, idle_watts }
}

impl Problem {
    /// The energy of a frame through a plan, by the plan's times; `None` if the power of one of its processors is not known.
    pub fn energy(&self, plan: &Plan) -> Option<Nanojoules> {
        let mut joules = 0.0;
        for stage in &plan.stages {
            let StagePower { active_joules, idle_watts } = self.stage_power(stage)?;
            joules += active_joules + idle_watts * plan.period.seconds();
        }
        Some(Nanojoules::from_joules(joules))
    }

    fn stage_power(&self, stage: &PlannedStage) -> Option<StagePower> {
        if stage.is_team {
            let predicted = self.team_of(&stage.replicas)?.power(stage.blocks.start, stage.blocks.end)?;
            let own = self.class_of(&stage.replicas.iter().collect::<Vec<_>>())?;
            let expected = self.time(own, stage.blocks.start, stage.blocks.end) as f64 * 1e-9;
            let factor = stage.times.first()?.seconds() / expected.max(1e-12);
            return Some(StagePower { active_joules: predicted.active_joules * factor, ..predicted });
        }
        let class = |class| self.classes.iter().position(|own| own == class);
        let powers = stage.replicas.iter().map(|replica| self.powers.get(class(replica)?).copied().flatten());
        let powers: Vec<ClassPower> = powers.collect::<Option<_>>()?;
        Some(replicated_power(&powers, &stage.times))
    }
}
