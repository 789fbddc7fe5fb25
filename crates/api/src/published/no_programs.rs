//! What stands in for the integer programs where there is no solver.

use super::algorithm::PublishedAlgorithm;
use super::ground::{Found, Ground};
use crate::Error;

pub(super) fn map(_: &Ground<'_>, algorithm: PublishedAlgorithm) -> Result<Found, Error> {
    Err(Error::MissingFeature { what: algorithm.name(), feature: "highs" })
}
