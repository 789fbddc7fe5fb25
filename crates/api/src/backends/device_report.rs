//! What an engine says of one of its devices.

use millstream_board::EngineName;

/// An engine on a device, as it is there or is not.
#[derive(Debug)]
pub(super) struct DeviceReport {
    /// Its name; of the cores, one for each precision.
    pub(super) engine: EngineName,
    /// Which device it is.
    pub(super) device: String,
    /// The version of what drives it, or why it can't be used.
    pub(super) version: Result<String, String>,
    /// The labels of the accelerators that it is; `None` for the cores of this computer.
    pub(super) accelerators: Option<Vec<String>>,
}
