//! Precisions and hints, and the properties of OpenVINO that follow from them.

use crate::device_ids::CPU;

/// What floats are computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 32 bits, as the model says.
    #[default]
    F32,
    /// As [`Precision::F32`], but quantised networks with integers of 8 bits, where the processor has instructions for
    /// them. Roundings are where the library wants them: results differ by some steps of the quantisation. Activations
    /// may be rounded to 8 bits where only weights have them.
    Int8,
    /// 16 bits; cores without instructions for them run nothing. Results differ by about a thousandth. Quantised networks
    /// are computed as with [`Precision::Int8`].
    F16,
    /// 16 bits with the range of 32; cores without instructions for them run nothing. Results differ by about a
    /// hundredth. Quantised networks are computed as with [`Precision::Int8`].
    Bf16,
}

impl Precision {
    /// Those with less precision than the model says.
    pub const REDUCED: [Self; 3] = [Self::Int8, Self::F16, Self::Bf16];

    /// What a device that has instructions for it names among what it can do; `None` where it names nothing, or names
    /// it with or without such instructions, as integers of 8 bits on cores.
    pub(crate) fn capability(self) -> Option<&'static str> {
        match self {
            Self::F32 | Self::Int8 => None,
            Self::F16 => Some("FP16"),
            Self::Bf16 => Some("BF16"),
        }
    }

    /// What is said of a processor that can't compute with it.
    pub fn missing_instructions(self) -> String {
        let numbers = match self {
            Self::F32 => "floats of 32 bits",
            Self::Int8 => "integers of 8 bits",
            Self::F16 => "floats of 16 bits (FP16)",
            Self::Bf16 => "floats of 16 bits with the range of 32 (BF16)",
        };
        format!("this processor has no instructions for {numbers}")
    }

    /// What OpenVINO calls it.
    fn hint(self) -> &'static str {
        match self {
            Self::F32 | Self::Int8 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

/// What OpenVINO chooses its threads and streams for, where they are left to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// One frame at a time, as quick as can be.
    Latency,
    /// Several frames at once, as many as can be.
    Throughput,
}

impl Hint {
    /// What OpenVINO calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "LATENCY",
            Self::Throughput => "THROUGHPUT",
        }
    }
}

/// What a model is compiled with.
pub(crate) type Properties = Vec<(&'static str, String)>;

/// What a model is compiled with for cores: so many threads, which do not leave the thread that runs it. `may_attend`:
/// the network that it is of may have attention.
pub(crate) fn of_cores(precision: Precision, threads: usize, may_attend: bool, is_timed: bool) -> Properties {
    let mut properties = vec![
        ("INFERENCE_NUM_THREADS", threads.to_string()),
        ("NUM_STREAMS", "1".to_owned()),
        // Workers are pinned by who runs them; OpenVINO's pinning would move them.
        ("ENABLE_CPU_PINNING", "NO".to_owned()),
    ];
    if precision == Precision::F32 {
        // It would round activations to 8 bits where weights have 8 bits.
        properties.push(("DYNAMIC_QUANTIZATION_GROUP_SIZE", "0".to_owned()));
        // It would move the roundings of quantised networks to where integers can be computed with: other places in
        // each segment.
        properties.push(("LP_TRANSFORMS_MODE", "NO".to_owned()));
    }
    properties.extend(right_kernels(precision, may_attend));
    properties.extend(of_device(CPU, precision, is_timed));
    properties
}

/// Switches kernels of cores off whose results are wrong.
fn right_kernels(precision: Precision, may_attend: bool) -> Option<(&'static str, String)> {
    // Those that OpenVINO makes itself for attention with a mask of one row are wrong in 16 bits (2026.4.1), by more than
    // the largest element; 2025.2.0 was right.
    let are_wrong = may_attend && matches!(precision, Precision::F16 | Precision::Bf16);
    are_wrong.then(|| ("SNIPPETS_MODE", "DISABLE".to_owned()))
}

/// What a model is compiled with for cores if threads and streams are left to the library; `may_attend`: the network may
/// have attention.
pub(crate) fn of_hint(precision: Precision, hint: Hint, may_attend: bool) -> Properties {
    let mut properties = of_device(CPU, precision, false);
    properties.push(("PERFORMANCE_HINT", hint.name().to_owned()));
    properties.extend(right_kernels(precision, may_attend));
    properties
}

/// What a model is compiled with for a device. NPUs have no floats of 32 bits, and refuse to be asked for them.
pub(crate) fn of_device(id: &str, precision: Precision, is_timed: bool) -> Properties {
    let hint = ("INFERENCE_PRECISION_HINT", precision.hint().to_owned());
    let has_floats = precision != Precision::F32 || !id.starts_with("NPU");
    let mut properties: Properties = has_floats.then_some(hint).into_iter().collect();
    if is_timed {
        properties.push(("PERF_COUNT", "YES".to_owned()));
    }
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_npu_is_not_asked_for_floats_that_it_does_not_have() {
        let keys = |id, precision| {
            of_device(id, precision, true).into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
        };
        assert_eq!(keys("NPU", Precision::F32), ["PERF_COUNT=YES"]);
        assert_eq!(keys("NPU.1", Precision::F16), ["INFERENCE_PRECISION_HINT=f16", "PERF_COUNT=YES"]);
        assert_eq!(keys("GPU.0", Precision::F32), ["INFERENCE_PRECISION_HINT=f32", "PERF_COUNT=YES"]);
    }

    #[test]
    fn less_precision_is_only_used_when_it_is_asked_for() {
        let hint = |precision| {
            let properties = of_cores(precision, 3, true, false);
            let value = |name| properties.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
            assert_eq!(value("INFERENCE_NUM_THREADS").as_deref(), Some("3"));
            let makes_kernels = value("SNIPPETS_MODE").is_none();
            assert_eq!(makes_kernels, matches!(precision, Precision::F32 | Precision::Int8), "{precision:?}");
            let names = |properties: Properties| properties.iter().map(|(key, _)| *key).collect::<Vec<_>>();
            assert!(!names(of_cores(precision, 3, false, false)).contains(&"SNIPPETS_MODE"));
            for may_attend in [false, true] {
                let hinted = names(of_hint(precision, Hint::Latency, may_attend));
                assert_eq!(hinted.contains(&"SNIPPETS_MODE"), may_attend && !makes_kernels, "{precision:?}");
            }
            // Both keep roundings where the model has them.
            assert_eq!(value("LP_TRANSFORMS_MODE").is_some(), value("DYNAMIC_QUANTIZATION_GROUP_SIZE").is_some());
            (value("INFERENCE_PRECISION_HINT"), value("LP_TRANSFORMS_MODE").is_some())
        };
        assert_eq!(hint(Precision::default()), (Some("f32".to_owned()), true));
        assert_eq!(hint(Precision::Int8), (Some("f32".to_owned()), false));
        assert_eq!(hint(Precision::F16), (Some("f16".to_owned()), false));
        assert_eq!(hint(Precision::Bf16), (Some("bf16".to_owned()), false));
    }
}
