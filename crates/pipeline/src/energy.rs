//! What frames cost in energy.

use std::fmt;
use std::ops::Range;

use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_schedule::{LinkUse, replica_rates};

use crate::senders::Senders;
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

/// Power of a stage whose replicas take frames as often as they and their links can.
pub(crate) fn replicated_power(powers: &[ClassPower], times: &[Nanoseconds], links: &[Option<LinkUse>]) -> StagePower {
    let rates = replica_rates(times, links);
    let rate: f64 = rates.iter().sum();
    let working = powers.iter().zip(times).zip(&rates);
    let more: f64 = working.map(|((power, time), rate)| power.more_watts * time.seconds() * rate).sum();
    let idle_watts = powers.iter().map(|power| power.idle_watts).sum();
    StagePower { active_joules: more / rate, idle_watts }
}

impl Problem {
    /// The energy of a frame through a plan, by the plan's times; `None` if the power of one of its processors is not known.
    pub fn energy(&self, plan: &Plan) -> Option<Nanojoules> {
        let mut joules = 0.0;
        let mut senders = Senders::NETWORK;
        for stage in &plan.stages {
            let classes = self.classes_of_stage(stage)?;
            let StagePower { active_joules, idle_watts } = self.stage_power(stage, &classes, senders)?;
            joules += active_joules + idle_watts * plan.period.seconds();
            senders = self.senders(&classes);
        }
        Some(Nanojoules::from_joules(joules))
    }

    /// The numbers of a stage's classes, or that of its team.
    fn classes_of_stage(&self, stage: &PlannedStage) -> Option<Vec<usize>> {
        if stage.is_team {
            return Some(vec![self.class_of(&stage.replicas.iter().collect::<Vec<_>>())?]);
        }
        stage.replicas.iter().map(|class| self.classes.iter().position(|own| own == class)).collect()
    }

    fn stage_power(&self, stage: &PlannedStage, classes: &[usize], senders: Senders) -> Option<StagePower> {
        let Range { start, end } = stage.blocks;
        if let Some(&own) = classes.first().filter(|_| stage.is_team) {
            let predicted = self.team(own)?.power(senders, start, end)?;
            let expected = self.time(own, senders, start, end) as f64 * 1e-9;
            let factor = stage.times.first()?.seconds() / expected.max(1e-12);
            return Some(StagePower { active_joules: predicted.active_joules * factor, ..predicted });
        }
        let powers: Option<Vec<ClassPower>> = classes.iter().map(|&class| self.powers.get(class).copied()?).collect();
        Some(replicated_power(&powers?, &stage.times, &self.links(classes, senders, &stage.blocks)))
    }
}
