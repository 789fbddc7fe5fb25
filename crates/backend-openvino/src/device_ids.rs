//! What OpenVINO calls devices that are everywhere.

/// The cores of this computer.
pub(crate) const CPU: &str = "CPU";
