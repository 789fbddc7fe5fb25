//! Plans in which several cores work on a frame together, and those of them whose times change from minute to minute on
//! machines that are shared with others.

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;
use millstream_pipeline::{Plan, PlannedReplica, PlannedStage};

/// A plan may have been this much slower in one trial than it is in the next.
pub(crate) const TRIAL_NOISE: f64 = 1.03;
/// In longer frames, what the cores wait for each other is a small part.
const SHORT_FRAME: Nanoseconds = Nanoseconds(10_000_000);

/// Whether several cores or devices work on one frame at a time.
pub(crate) fn shares_frames(plan: &Plan) -> bool {
    let mut replicas = plan.stages.iter().flat_map(|stage| &stage.replicas);
    replicas.any(|replica| replica.processors.iter().map(|class| class.count).sum::<usize>() > 1)
}

/// Whether one core or device computes all of each frame: instances of the network side by side.
pub(crate) fn is_of_instances(plan: &Plan) -> bool {
    plan.stages.len() == 1 && !shares_frames(plan)
}

/// The processor of several cores that has the whole network, if one has.
pub(crate) fn several_cores(plan: &Plan) -> Option<&ProcessorClass> {
    let [PlannedStage { replicas, .. }] = plan.stages.as_slice() else { return None };
    let [PlannedReplica { processors, .. }] = replicas.as_slice() else { return None };
    let [processor] = processors.as_slice() else { return None };
    Some(processor).filter(|processor| processor.count > 1)
}

/// Whether several cores share short frames of the whole network: they wait for each other after every operator, and how
/// soon they hear of each other changes on machines that are shared with others.
pub(crate) fn is_unsteady(plan: &Plan) -> bool {
    several_cores(plan).is_some() && plan.latency <= SHORT_FRAME
}
