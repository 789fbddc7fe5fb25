//! What an engine says of one of its devices.

/// The device, the version of what drives it or why it can't be used, and the labels of the accelerators that it is.
pub(super) type DeviceReport = (String, Result<String, String>, Vec<String>);
