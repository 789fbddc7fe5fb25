//! A model that does next to nothing but have its values moved.

use millstream_backend::PreparedSegment;

/// The model of the size that was asked for last, prepared on a device; none if the device does not run it.
#[derive(Default)]
pub(crate) struct Mover {
    /// How many floats it takes in.
    pub(crate) elements: usize,
    pub(crate) prepared: Option<Box<dyn PreparedSegment>>,
}
