//! What else happened on the machine while frames flowed.

use std::time::{Duration, Instant};

use millstream_board::Board;
use millstream_machine::CpuQuota;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interference::InterferenceWatch;

/// The system counts time by hundredths of a second: two counts of it may differ by one each without meaning anything.
const COUNTED: f64 = 0.02;

/// Waiting for processor time because a container had used up what it may.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throttling {
    /// How many cores' time the container may use.
    pub quota_cores: f64,
    /// How long its threads waited, all together, for each second that passed.
    pub waited_fraction: f64,
}

/// Looks at the machine from its creation on.
pub(super) struct Surroundings {
    begin: Instant,
    watch: InterferenceWatch,
    quota: Option<(CpuQuota, Duration)>,
}

/// What held the stages up from outside.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeldUp {
    /// Whether the system lowered clocks because of heat.
    pub(super) heat_throttled: bool,
    /// How many cores others used; `None` where the system does not tell.
    pub(super) others_cores: Option<f64>,
    /// `None` without a quota, and where nothing waited for it.
    pub(super) throttling: Option<Throttling>,
}

impl Surroundings {
    pub(super) fn watch(board: &Board) -> Self {
        let quota = CpuQuota::detect().ok().flatten().and_then(|quota| {
            let throttled = quota.throttled()?;
            Some((quota, throttled))
        });
        Self { begin: Instant::now(), watch: InterferenceWatch::of(board), quota }
    }

    pub(super) fn seen(&self) -> HeldUp {
        let passed = self.begin.elapsed().as_secs_f64();
        let throttling = self.quota.as_ref().and_then(|(quota, before)| {
            let waited = quota.throttled()?.saturating_sub(*before).as_secs_f64();
            (waited > 0.0).then(|| Throttling { quota_cores: quota.cores, waited_fraction: waited / passed })
        });
        let others_cores = self.watch.others_cores().map(|cores| (cores - COUNTED / passed).max(0.0));
        HeldUp { heat_throttled: self.watch.heat_throttled(), others_cores, throttling }
    }
}
