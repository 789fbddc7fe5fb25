//! Certificates of schedules: written after a search, and checked without it.

mod checked;
mod written;

pub use checked::certify;
pub(crate) use written::written;
