//! What moving values to a provider's device and back takes.

use std::time::{Duration, Instant};

use millstream_backend::{Segment, Tensor, TransferTimes};
use millstream_graph::ValueId;
use millstream_onnx::{ModelBuilder, SubModel, WeightStorage};
use ort::session::Session;

use crate::backend::OrtBackend;
use crate::convert;
use crate::lock::lock;
use crate::place::Device;

/// Operators of next to no work, one of which a device should take.
const LIGHT: [&str; 4] = ["Relu", "Neg", "Abs", "Sigmoid"];
/// Runs before the first that is timed, which settle memory.
const WARM_UP: usize = 2;
/// Runs of which the median counts.
const RUNS: usize = 5;

impl OrtBackend {
    /// What moving so many bytes takes, by half the time of a session that does little else. `None` where values stay
    /// in the host's memory, and of devices that take none of some light operators: what they take to move values is in
    /// the times of operators.
    pub(crate) fn moved(&self, bytes: u64) -> Option<TransferTimes> {
        let device = self.place.device().filter(|device| !device.provider.is_on_cores())?;
        let one_way = self.one_way(device, bytes)?;
        Some(TransferTimes { upload: one_way, download: one_way })
    }

    /// What moving the inputs and outputs of a segment takes, as far as it is known.
    pub(crate) fn moving(&self, segment: &Segment) -> Duration {
        let bytes = |values: &[ValueId]| {
            let sizes = values.iter().filter_map(|&value| self.model.graph().value(value).bytes());
            sizes.sum::<u64>()
        };
        let [read, made] = [&segment.boundary.inputs, &segment.boundary.outputs].map(|values| bytes(values));
        let median = |bytes: u64| {
            let mut times: Vec<Duration> = (0..RUNS).map_while(|_| Some(self.moved(bytes)?.upload)).collect();
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or_default()
        };
        median(read) + median(made)
    }

    /// Half the time of a run that takes so many bytes there and as many back.
    pub(crate) fn one_way(&self, device: &Device, bytes: u64) -> Option<Duration> {
        let elements = usize::try_from(bytes / 4).ok()?.max(1);
        let mut mover = lock(&device.mover);
        let input = Tensor::from_f32([1, elements], vec![0.5; elements]);
        if mover.as_ref().is_none_or(|(size, _)| *size != elements) {
            let made = LIGHT.iter().find_map(|light| self.light_session(device, light, elements));
            // One that fails is kept out, so that nobody makes it again.
            let warm = made.and_then(|mut session| {
                (0..WARM_UP).try_for_each(|_| timed(&mut session, &input).map(drop))?;
                Some(session)
            });
            *mover = Some((elements, warm));
        }
        let (_, session) = mover.as_mut()?;
        timed(session.as_mut()?, &input).map(|time| time / 2)
    }

    /// A session of one operator on the device; `None` if the device does not take it.
    fn light_session(&self, device: &Device, op_type: &str, elements: usize) -> Option<Session> {
        let mut builder = ModelBuilder::new("light");
        let input = builder.input("there", [1, elements]);
        let made = builder.node(op_type, &[&input]);
        builder.output(&made);
        let model = builder.build().ok()?;
        let SubModel { bytes, .. } = model.segment(model.graph().order(), WeightStorage::Inline).ok()?;
        let builder = self.environment.session_builder().ok()?.with_intra_threads(1).ok()?;
        let mut builder = self.place.add_to(builder, 1).ok()?;
        let session = builder.commit_from_memory(&bytes).ok()?;
        tracing::debug!(engine = device.provider.name(), op_type, "the operator that transfers are measured with");
        Some(session)
    }
}

/// The time of a run; `None` if it fails.
fn timed(session: &mut Session, input: &Tensor) -> Option<Duration> {
    let start = Instant::now();
    session.run([convert::input(input).ok()?]).ok()?;
    Some(start.elapsed())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Arc;

    use super::*;
    use crate::environment::Environment;

    /// The device of the plug-in that tests load is the cores, which move nothing; how moves are timed can be seen with
    /// it all the same.
    #[test]
    fn moves_are_timed_by_a_session_that_does_little_else() {
        let Some(library) = std::env::var_os("MILLSTREAM_PLUGIN").filter(|file| std::path::Path::new(file).is_file())
        else {
            return;
        };
        let mut definition =
            serde_json::json!({"engine": "npu", "provider": "cpu_ep", "library": library.to_str().unwrap()});
        let mut builder = ModelBuilder::new("none");
        let input = builder.input("image", [1, 4]);
        let made = builder.node("Det", &[&input]);
        builder.output(&made);
        let model = Arc::new(builder.build().unwrap());
        let environment = Environment::load().unwrap();
        let open = |definition: &serde_json::Value| {
            let definition = serde_json::from_value(definition.clone()).unwrap();
            OrtBackend::on_device(&environment, Arc::clone(&model), &definition, "N").unwrap()
        };
        let backend = open(&definition);
        let device = backend.place.device().unwrap();
        let [small, large] = [4, 64 << 20].map(|bytes| backend.one_way(device, bytes).unwrap());
        assert!(small > Duration::ZERO && large > small, "{large:?} for 64 MiB, {small:?} for 4 bytes");
        assert!(backend.moved(4).is_none(), "its memory is the host's");
        // One that takes no operator can't be timed.
        definition = serde_json::json!({"engine": "cloud", "provider": "AzureExecutionProvider"});
        let backend = open(&definition);
        assert!(backend.moved(4).is_none());
    }
}
