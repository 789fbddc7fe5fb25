//! Versions of OpenVINO that this crate works with, and where it looks for one.

/// The environment variable that names OpenVINO's folder: of its libraries, of the Python package, or where it was
/// installed.
pub const VARIABLE: &str = "OPENVINO_INSTALL_DIR";

/// The versions that this was written for and tested with, as pip writes them.
pub(crate) const SUPPORTED: &str = "2026.*";

/// The years of these versions.
pub(crate) const SUPPORTED_YEARS: std::ops::RangeInclusive<u32> = 2026..=2026;
