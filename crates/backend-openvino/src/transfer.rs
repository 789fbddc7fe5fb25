//! What moving values to a device and back takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::{Backend, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_onnx::ModelBuilder;

use crate::backend::{OpenVinoBackend, Where};
use crate::lock::lock;
use crate::mover::Mover;

/// Runs before the first that is timed, which settle memory.
const WARM_UP: usize = 2;

impl OpenVinoBackend {
    /// What moving so many bytes to the device takes, or back: half the time of a model of one operator that does
    /// little else. `None` on cores, which move nothing, and of devices that do not run it: what they take to move values
    /// is not known then.
    pub(crate) fn one_way(&self, bytes: u64) -> Option<Duration> {
        let Where::Device { label, watch, mover } = &self.place else { return None };
        let elements = usize::try_from(bytes / 4).ok()?.max(1);
        let input = [Tensor::from_f32([1, elements], vec![0.5; elements])];
        let mut mover = lock(mover);
        if mover.elements != elements {
            let mut prepared = self.light(watch.id(), label, elements);
            let is_usable =
                |prepared: &mut Box<dyn PreparedSegment>| (0..WARM_UP).all(|_| prepared.run(&input).is_ok());
            prepared = prepared.and_then(|mut prepared| is_usable(&mut prepared).then_some(prepared));
            *mover = Mover { elements, prepared };
        }
        let start = Instant::now();
        mover.prepared.as_mut()?.run(&input).ok()?;
        Some(start.elapsed() / 2)
    }

    /// A model of one operator, prepared on a device.
    fn light(&self, device: &str, label: &str, elements: usize) -> Option<Box<dyn PreparedSegment>> {
        let mut builder = ModelBuilder::new("light");
        let input = builder.input("there", [1, elements]);
        let made = builder.node("Relu", &[&input]);
        builder.output(&made);
        let model = Arc::new(builder.build().ok()?);
        let backend = Self::on_device(&self.library, device, label, Arc::clone(&model)).ok()?;
        backend.prepare(&Segment::whole(model.graph()), &Processor::accelerator(label)).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_backend::Observed;

    use super::*;
    use crate::library::OpenVino;

    /// The only device that is everywhere is the cores, which move nothing; how moves are timed can be seen with it all
    /// the same.
    #[test]
    fn moves_are_timed_by_a_model_that_does_little_else() {
        let Ok(library) = OpenVino::load() else {
            return millstream_test_support::not_tested("OPENVINO", "there is no OpenVINO here");
        };
        let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
        let device = OpenVinoBackend::on_device(&library, "CPU", "V", Arc::clone(&model)).unwrap();
        let of = |bytes| device.transfer_times(&Processor::accelerator("V"), bytes).unwrap().unwrap();
        let [small, large] = [4, 64 << 20].map(of);
        assert!(small.upload > Duration::ZERO && large.download > small.download, "{large:?} {small:?}");
        let cores = OpenVinoBackend::new(&library, model);
        assert_eq!(cores.transfer_times(&Processor::new("B", [0]), 4).unwrap(), None);
    }
}
