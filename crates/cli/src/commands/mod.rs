//! One module per command.

pub(crate) mod board;
pub(crate) mod boards;
pub(crate) mod calibrate;
pub(crate) mod certify;
pub(crate) mod compare;
#[cfg(unix)]
pub(crate) mod deploy;
pub(crate) mod fit;
pub(crate) mod manual;
pub(crate) mod profile;
#[cfg(feature = "highs")]
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod schemas;
pub(crate) mod session_options;
pub(crate) mod simulate;
pub(crate) mod tune;
