//! Execution providers that ONNX Runtime may be built with.

use std::collections::BTreeMap;

use millstream_board::{AcceleratorKind, EngineLabel, Provider, ProviderName};
use ort::ep::{self, ArbitrarilyConfigurableExecutionProvider, ExecutionProvider, ExecutionProviderDispatch};

/// What a provider computes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderPlace {
    /// The cores: it has no memory of its own, and brings other kernels for them.
    Cores,
    /// A device of this kind.
    Device(AcceleratorKind),
    /// Nothing that could be told without asking it: other computers, or devices that its options choose.
    Elsewhere,
}

/// One of them, as this program knows it.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) place: ProviderPlace,
    is_available: fn() -> ort::Result<bool>,
    make: fn(&BTreeMap<String, String>) -> Result<ExecutionProviderDispatch, String>,
}

impl BuiltIn {
    /// Whether the library at hand was built with it.
    pub(crate) fn is_available(&self) -> bool {
        (self.is_available)().unwrap_or(false)
    }

    /// It as an engine of a board, without options.
    pub(crate) fn definition(&self) -> Option<Provider> {
        Some(Provider {
            engine: EngineLabel::of_provider(self.name)?,
            provider: ProviderName::try_from(self.name.to_owned()).ok()?,
            options: BTreeMap::new(),
            library: None,
            device: None,
        })
    }

    /// What registers it with a session.
    pub(crate) fn with_options(&self, options: &BTreeMap<String, String>) -> Result<ExecutionProviderDispatch, String> {
        (self.make)(options)
    }

    /// One whose options ONNX Runtime checks.
    const fn of<E: ExecutionProvider + ArbitrarilyConfigurableExecutionProvider + Default>(place: ProviderPlace) -> Self
    where
        ExecutionProviderDispatch: From<E>,
    {
        Self { name: E::NAME, place, is_available: E::is_available, make: with_any_options::<E> }
    }
}

const GPU: ProviderPlace = ProviderPlace::Device(AcceleratorKind::Gpu);
const NPU: ProviderPlace = ProviderPlace::Device(AcceleratorKind::Npu);

/// The provider of ONNX Runtime's own kernels, which is the engine `onnxruntime`.
pub(crate) const CPU: &str = "CPUExecutionProvider";

/// All that are known. Of several for the same kind of device, the first is preferred where none is asked for: CUDA
/// begins at once, where TensorRT takes minutes to build its engines.
pub(crate) const ALL: [BuiltIn; 15] = [
    BuiltIn { name: ep::ACL::NAME, place: ProviderPlace::Cores, is_available: ep::ACL::is_available, make: acl },
    BuiltIn::of::<ep::Azure>(ProviderPlace::Elsewhere),
    BuiltIn::of::<ep::CANN>(NPU),
    BuiltIn::of::<ep::CoreML>(NPU),
    BuiltIn::of::<ep::CUDA>(GPU),
    BuiltIn::of::<ep::OneDNN>(ProviderPlace::Cores),
    BuiltIn::of::<ep::NVRTX>(GPU),
    BuiltIn::of::<ep::OpenVINO>(ProviderPlace::Elsewhere),
    BuiltIn::of::<ep::QNN>(NPU),
    BuiltIn { name: ep::RKNPU::NAME, place: NPU, is_available: ep::RKNPU::is_available, make: rknpu },
    BuiltIn::of::<ep::TensorRT>(GPU),
    BuiltIn { name: ep::VSINPU::NAME, place: NPU, is_available: ep::VSINPU::is_available, make: vsinpu },
    BuiltIn::of::<ep::Vitis>(NPU),
    BuiltIn::of::<ep::WebGPU>(GPU),
    BuiltIn {
        name: ep::XNNPACK::NAME,
        place: ProviderPlace::Cores,
        is_available: ep::XNNPACK::is_available,
        make: xnnpack,
    },
];

fn with_any_options<E: ArbitrarilyConfigurableExecutionProvider + Default>(
    options: &BTreeMap<String, String>,
) -> Result<ExecutionProviderDispatch, String>
where
    ExecutionProviderDispatch: From<E>,
{
    let configured =
        options.iter().fold(E::default(), |provider, (key, value)| provider.with_arbitrary_config(key, value));
    Ok(configured.into())
}

/// The only option of the Arm Compute Library.
const FAST_MATH: &str = "enable_fast_math";

fn acl(options: &BTreeMap<String, String>) -> Result<ExecutionProviderDispatch, String> {
    only_options(options, &[FAST_MATH])?;
    let is_fast = match options.get(FAST_MATH).map(String::as_str) {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(other) => return Err(format!("the option {FAST_MATH} is '{other}', must be 0 or 1")),
    };
    Ok(ep::ACL::default().with_fast_math(is_fast).build())
}

fn rknpu(options: &BTreeMap<String, String>) -> Result<ExecutionProviderDispatch, String> {
    only_options(options, &[])?;
    Ok(ep::RKNPU::default().build())
}

fn vsinpu(options: &BTreeMap<String, String>) -> Result<ExecutionProviderDispatch, String> {
    only_options(options, &[])?;
    Ok(ep::VSINPU.build())
}

/// The only option of XNNPACK. Without it, it takes as many threads as the worker has.
pub(crate) const XNNPACK_THREADS: &str = "intra_op_num_threads";

fn xnnpack(options: &BTreeMap<String, String>) -> Result<ExecutionProviderDispatch, String> {
    only_options(options, &[XNNPACK_THREADS])?;
    let provider = ep::XNNPACK::default();
    Ok(match options.get(XNNPACK_THREADS) {
        None => provider.build(),
        Some(threads) => {
            let threads = threads
                .parse()
                .map_err(|_| format!("the option {XNNPACK_THREADS} is '{threads}', must be a number from 1"))?;
            provider.with_intra_op_num_threads(threads).build()
        }
    })
}

fn only_options(options: &BTreeMap<String, String>, known: &[&str]) -> Result<(), String> {
    match options.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) if known.is_empty() => Err(format!("it has no option '{key}', and no other one")),
        Some(key) => Err(format!("it has no option '{key}', only {}", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn known(name: &str) -> &'static BuiltIn {
        ALL.iter().find(|provider| provider.name == name).unwrap()
    }

    fn refused(name: &str, key: &str, value: &str) -> String {
        let options = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        known(name).with_options(&options).err().unwrap_or_default()
    }

    #[test]
    fn options_that_no_list_can_hold_are_checked_here() {
        assert_eq!(refused("ACLExecutionProvider", "enable_fast_math", "1"), "");
        assert!(refused("ACLExecutionProvider", "enable_fast_math", "yes").contains("must be 0 or 1"));
        assert!(refused("ACLExecutionProvider", "fast", "1").contains("no option 'fast', only enable_fast_math"));
        assert!(refused("RknpuExecutionProvider", "cores", "3").contains("no option 'cores'"));
        assert!(refused("VSINPUExecutionProvider", "cores", "3").contains("no option 'cores'"));
        assert_eq!(refused("XnnpackExecutionProvider", "intra_op_num_threads", "2"), "");
        assert!(refused("XnnpackExecutionProvider", "intra_op_num_threads", "0").contains("a number from 1"));
        assert!(refused("XnnpackExecutionProvider", "threads", "2").contains("no option 'threads', only intra_op"));
        assert_eq!(refused("QNNExecutionProvider", "backend_type", "htp"), "", "ONNX Runtime checks these");
    }

    #[test]
    fn every_one_can_be_an_engine_of_a_board() {
        assert!(ALL.iter().all(|provider| provider.definition().is_some()));
        let on_cores =
            ALL.iter().filter(|provider| provider.place == ProviderPlace::Cores).filter_map(BuiltIn::definition);
        let labels: Vec<String> = on_cores.map(|provider| provider.engine.to_string()).collect();
        assert_eq!(labels, ["acl", "dnnl", "xnnpack"]);
    }

    #[test]
    fn what_boards_come_with_is_known_each_once() {
        for name in ["Xnnpack", "Dnnl", "ACL", "QNN", "CoreML", "Tensorrt", "CUDA", "VitisAI", "Rknpu", "WebGpu"] {
            assert_eq!(
                ALL.iter().filter(|provider| provider.name == format!("{name}ExecutionProvider")).count(),
                1,
                "{name}"
            );
        }
    }
}
