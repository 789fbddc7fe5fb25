//! What computes results, and with which precision.

use std::collections::BTreeSet;

use millstream_board::{Accelerator, AcceleratorKind, Board, EngineName, Processor};
use millstream_schedule::Schedule;

use crate::backends::first_core::first_core_with;

/// What computes the results that are checked.
pub(crate) struct ResultMakers {
    /// Of cores.
    engines: BTreeSet<EngineName>,
    /// By their labels.
    accelerators: BTreeSet<String>,
}

impl ResultMakers {
    /// What a run computes with: adapting changes the schedule.
    pub(crate) fn of_run(is_adaptive: bool, board: &Board, schedule: &Schedule) -> Self {
        if is_adaptive { Self::all_of(board) } else { Self::those_of(schedule) }
    }

    /// Whatever a schedule on a board may compute with.
    pub(crate) fn all_of(board: &Board) -> Self {
        let accelerators = board.accelerators().iter().map(|own| own.label.clone()).collect();
        Self { engines: board.engines_in_use().collect(), accelerators }
    }

    /// What a schedule computes with.
    pub(crate) fn those_of(schedule: &Schedule) -> Self {
        let (accelerators, cores): (Vec<&Processor>, Vec<&Processor>) =
            schedule.processors().partition(|processor| processor.is_accelerator());
        Self {
            engines: cores.into_iter().map(|processor| processor.engine).collect(),
            accelerators: accelerators.into_iter().map(|processor| processor.cluster.clone()).collect(),
        }
    }

    /// What may compute results and is not the engine of the reference: engines of cores, and accelerators by their
    /// labels.
    pub(crate) fn beside(&self, reference: EngineName) -> Vec<String> {
        let engines = self.engines.iter().filter(|&&engine| engine != reference);
        engines.map(|engine| engine.title().to_owned()).chain(self.accelerators.iter().cloned()).collect()
    }

    /// Whether OpenVINO is among what may compute results.
    pub(crate) fn have_openvino(&self, board: &Board) -> bool {
        let is_used = |own: &&Accelerator| self.accelerators.contains(&own.label);
        let mut accelerators = board.accelerators().iter().filter(is_used);
        self.engines.iter().any(EngineName::is_openvino) || accelerators.any(Accelerator::is_of_openvino)
    }

    /// A core with each engine that has another precision than the one of the reference, and the accelerators that may
    /// have another.
    pub(crate) fn of_other_precision(&self, board: &Board, reference: EngineName) -> Vec<Processor> {
        let is_other = |other: &&EngineName| other.reduced_precision() != reference.reduced_precision();
        let cores = self.engines.iter().filter(is_other).filter_map(|other| first_core_with(board, *other));
        let is_concerned = |own: &&Accelerator| self.accelerators.contains(&own.label) && chooses_precision(own);
        let accelerators = board.accelerators().iter().filter(is_concerned);
        cores.chain(accelerators.map(|own| Processor::accelerator(own.label.clone()))).collect()
    }
}

/// Whether an accelerator computes with the precision that it has, whatever the model says: NPUs have floats of 16 bits,
/// and providers of ONNX Runtime do as their devices do. Our own shaders, and OpenVINO's GPUs, compute with 32 bits.
fn chooses_precision(accelerator: &Accelerator) -> bool {
    let is_npu = accelerator.kind == AcceleratorKind::Npu;
    accelerator.engine.is_some() && (is_npu || !accelerator.is_of_openvino())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::collections::BTreeMap;

    use millstream_board::Provider;
    use millstream_schedule::{Replica, Stage};

    use super::*;

    /// Two cores with two engines, a GPU of our own, one of OpenVINO, one of a provider, and an NPU of OpenVINO.
    fn desk() -> Board {
        let board = millstream_test_support::board("B2@onnxruntime,openvinobf16+G+V=gpu+P=gpu+N");
        let mut accelerators = board.accelerators().to_vec();
        for (accelerator, engine) in
            accelerators.iter_mut().zip([None, Some("openvino"), Some("cuda"), Some("openvino")])
        {
            accelerator.engine = engine.map(|engine| engine.to_owned().try_into().unwrap());
        }
        let cuda = Provider {
            engine: "cuda".to_owned().try_into().unwrap(),
            provider: "CUDAExecutionProvider".to_owned().try_into().unwrap(),
            options: BTreeMap::new(),
            library: None,
            device: None,
        };
        board.with_provider(cuda).with_accelerators(accelerators).unwrap()
    }

    fn labels(makers: &ResultMakers) -> Vec<String> {
        let other = makers.of_other_precision(&desk(), EngineName::OnnxRuntime);
        other.iter().map(|processor| format!("{}@{}", processor.cluster, processor.engine)).collect()
    }

    #[test]
    fn npus_and_providers_have_precisions_of_their_own() {
        let all = labels(&ResultMakers::all_of(&desk()));
        assert_eq!(all, ["B@openvinobf16", "P@onnxruntime", "N@onnxruntime"]);
    }

    #[test]
    fn others_than_the_reference_are_named() {
        let all = ResultMakers::all_of(&desk());
        assert_eq!(all.beside(EngineName::OnnxRuntime), ["OpenVINO bf16", "G", "N", "P", "V"]);
        let bf16 = EngineName::OpenVinoWith(millstream_board::ReducedPrecision::Bf16);
        assert_eq!(all.beside(bf16), ["ONNX Runtime", "G", "N", "P", "V"]);

        let of = |processor: Processor| {
            let stage = Stage { replicas: vec![Replica::single(processor, Vec::new())] };
            ResultMakers::those_of(&Schedule { stages: vec![stage] })
        };
        let core = || Processor::new("B", [0]);
        assert!(!of(core()).have_openvino(&desk()) && of(core().with_engine(bf16)).have_openvino(&desk()));
        assert!(of(Processor::accelerator("V")).have_openvino(&desk()));
        assert!(!of(Processor::accelerator("G")).have_openvino(&desk()));
    }

    #[test]
    fn only_what_a_schedule_uses_may_differ() {
        let of = |processor: Processor| {
            let stage = Stage { replicas: vec![Replica::single(processor, Vec::new())] };
            labels(&ResultMakers::those_of(&Schedule { stages: vec![stage] }))
        };
        assert_eq!(of(Processor::accelerator("N")), ["N@onnxruntime"]);
        assert!(of(Processor::accelerator("V")).is_empty() && of(Processor::new("B", [0])).is_empty());
        let reduced = EngineName::OpenVinoWith(millstream_board::ReducedPrecision::Bf16);
        assert_eq!(of(Processor::new("B", [0]).with_engine(reduced)), ["B@openvinobf16"]);
    }
}
