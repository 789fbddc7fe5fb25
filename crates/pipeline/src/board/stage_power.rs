//! Power of stages.

use millstream_cost::{ClassId, CostTable, Nanoseconds};

/// What a stage's processors draw.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StagePower {
    /// Energy of a frame beyond idle power.
    pub(crate) dynamic_joules: f64,
    /// Power all the time.
    pub(crate) idle_watts: f64,
}

/// Idle power of a processor class, and what it draws more while it works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassPower {
    pub(crate) idle_watts: f64,
    pub(crate) dynamic_watts: f64,
}

impl ClassPower {
    pub(crate) fn of(table: &CostTable, class: ClassId) -> Option<Self> {
        let power = table.power(class)?;
        Some(Self { idle_watts: power.idle_watts, dynamic_watts: power.active_watts - power.idle_watts })
    }

    /// Of a frame that takes this long.
    pub(crate) fn for_time(self, time: Nanoseconds) -> StagePower {
        StagePower { dynamic_joules: self.dynamic_watts * time.seconds(), idle_watts: self.idle_watts }
    }
}
