//! Devices beside the cores that engines drive here.

use millstream_board::{Accelerator, AcceleratorKind, Board, EngineName, EngineSet, Provider};

use crate::backends::free_label::free_label;
use crate::backends::{cpu, gpu, openvino};
use crate::error::Error;

/// The board with those of these engines that it lacks and that ONNX Runtime here was built with, for cores.
pub(crate) fn with_providers_for<'a>(board: Board, engines: impl Iterator<Item = &'a EngineSet>) -> Board {
    let is_missing = |engine: &EngineName| match engine {
        EngineName::Provider(label) => board.provider(*label).is_err(),
        _ => false,
    };
    let missing: Vec<EngineName> = engines.flat_map(EngineSet::iter).filter(is_missing).collect();
    if missing.is_empty() {
        return board;
    }
    let detected = cpu::core_providers().unwrap_or_default();
    let wanted = detected.into_iter().filter(|device| missing.contains(&device.engine()));
    wanted.fold(board, Board::with_provider)
}

/// Why one of these engines, which the board does not have, is not to be had from the ONNX Runtime here, if it is one of
/// the providers that it may be built with.
pub(crate) fn missing_provider(board: &Board, engines: &EngineSet) -> Option<Error> {
    engines.iter().find_map(|engine| match engine {
        EngineName::Provider(label) if board.provider(label).is_err() => cpu::missing_provider(label),
        _ => None,
    })
}

/// The board with the devices that providers of ONNX Runtime drive here.
///
/// # Errors
/// [`Error::Board`] if the board can't have them.
pub(crate) fn with_provider_devices(board: Board) -> Result<Board, Error> {
    with_devices_of(board, cpu::device_providers(), &cpu::drives_a_device)
}

/// The board with a device of each kind of which one of these providers drives one: of the first of these. After that,
/// no other is tried, which may take seconds. What is known of that kind already is likely the same device.
fn with_devices_of(
    board: Board,
    providers: Vec<(Provider, AcceleratorKind)>,
    drives_a_device: &dyn Fn(&Provider) -> bool,
) -> Result<Board, Error> {
    let mut accelerators = board.accelerators().to_vec();
    let mut board = board;
    for (provider, kind) in providers {
        let is_of_provider = |known: &Accelerator| known.engine.is_some() && known.kind == kind;
        if accelerators.iter().any(is_of_provider) || !drives_a_device(&provider) {
            continue;
        }
        let same = accelerators.iter().find(|known| is_likely_the_same(known, &provider, kind));
        let same_device_as = same.map(|known| known.label.clone());
        // Providers do not say how much memory a device has, which is the same whoever drives it.
        let memory_bytes = same.and_then(|known| known.memory_bytes);
        let label = free_label(&accelerators, if kind == AcceleratorKind::Gpu { "G" } else { "N" });
        let name = Some(provider.provider.to_string());
        let engine = Some(provider.engine);
        accelerators.push(Accelerator { name, engine, same_device_as, memory_bytes, ..Accelerator::new(label, kind) });
        board = board.with_provider(provider);
    }
    Ok(board.with_accelerators(accelerators)?)
}

/// Whether a known accelerator may be the device that a provider drives as one of this kind: NVIDIA's drive only their
/// own.
fn is_likely_the_same(known: &Accelerator, provider: &Provider, kind: AcceleratorKind) -> bool {
    let is_of_maker = |maker: &str| known.name.as_deref().is_some_and(|name| name.contains(maker));
    let is_of_nvidia = ["CUDA", "TensorRT", "Tensorrt"].iter().any(|name| provider.provider.as_str().contains(name));
    known.kind == kind && known.engine.is_none() && (!is_of_nvidia || is_of_maker("NVIDIA"))
}

/// The graphics devices of this computer.
pub(crate) fn accelerators(has_software_gpus: bool) -> Vec<Accelerator> {
    gpu::accelerators(has_software_gpus)
}

/// The devices of this computer that OpenVINO drives, as accelerators beside those that are known.
pub(crate) fn openvino_devices(known: &[Accelerator]) -> Result<Vec<Accelerator>, Error> {
    openvino::devices(known)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
    use std::collections::BTreeMap;

    use millstream_board::{EngineLabel, ProviderName};

    use super::*;

    fn provider(engine: &str, name: &str) -> Provider {
        Provider {
            engine: EngineLabel::try_from(engine).unwrap(),
            provider: ProviderName::try_from(name.to_owned()).unwrap(),
            options: BTreeMap::new(),
            library: None,
            device: None,
        }
    }

    /// Label, engine and kind of each accelerator.
    fn devices(board: &Board) -> Vec<(String, Option<String>, AcceleratorKind)> {
        let of = |own: &Accelerator| (own.label.clone(), own.engine.map(|engine| engine.to_string()), own.kind);
        board.accelerators().iter().map(of).collect()
    }

    #[test]
    fn a_provider_drives_the_device_of_its_kind_and_the_first_of_several_does() {
        let board = millstream_test_support::board("B2");
        assert_eq!(with_devices_of(board.clone(), Vec::new(), &|_| true).unwrap(), board);

        let (gpu, npu) = (AcceleratorKind::Gpu, AcceleratorKind::Npu);
        let found = vec![
            (provider("cuda", "CUDAExecutionProvider"), gpu),
            (provider("qnn", "QNNExecutionProvider"), npu),
            (provider("tensorrt", "TensorrtExecutionProvider"), gpu),
        ];
        let with = with_devices_of(board, found.clone(), &|_| true).unwrap();
        let expected = [("G", "cuda", gpu), ("N", "qnn", npu)];
        assert_eq!(devices(&with), expected.map(|(label, engine, kind)| (label.into(), Some(engine.into()), kind)));
        let engines: Vec<String> = with.providers().iter().map(|provider| provider.engine.to_string()).collect();
        assert_eq!(engines, ["cuda", "qnn"], "one that drives nothing is no engine of the board");
        assert_eq!(with_devices_of(with.clone(), found.clone(), &|_| panic!("tried again")).unwrap(), with);
        let without = with_devices_of(millstream_test_support::board("B2"), found.clone(), &|provider| {
            provider.engine.as_str() != "cuda"
        });
        assert_eq!(devices(&without.unwrap())[1], ("G".into(), Some("tensorrt".into()), gpu), "the next one drives it");
        let known = millstream_test_support::board("B2+G[600]");
        let with_names = |names: &[&str]| {
            let named = names.iter().enumerate().map(|(index, name)| Accelerator {
                name: Some((*name).to_owned()),
                ..Accelerator::new(format!("G{}", index + 5), gpu)
            });
            let known = known.with_accelerators(named.collect()).unwrap();
            let with = with_devices_of(known, found.clone(), &|_| true).unwrap();
            with.accelerators().iter().find(|own| own.kind == gpu && own.engine.is_some()).cloned().unwrap()
        };
        let same = |names: &[&str]| with_names(names).same_device_as;
        assert_eq!(same(&["Intel(R) Iris(R)", "NVIDIA H200"]).as_deref(), Some("G6"), "shaders run on it as well");
        assert_eq!(same(&["Intel(R) Iris(R)"]), None);

        // Other makers' drivers may drive anything. What was known stays, with its memory.
        let any = with_devices_of(known.clone(), vec![(provider("webgpu", "WebGpuExecutionProvider"), gpu)], &|_| true);
        let any = any.unwrap();
        let [first, second] = any.accelerators() else { panic!("{any:?}") };
        assert_eq!((first, first.memory_bytes), (&known.accelerators()[0], Some(600)));
        let same = second.same_device_as.as_deref();
        assert_eq!((second.label.as_str(), same, second.memory_bytes), ("G2", Some("G"), Some(600)));

        // A board file that is written from it can be read again.
        assert_eq!(Board::from_json(&serde_json::to_string(&with.to_document()).unwrap()).unwrap(), with);
    }
}
