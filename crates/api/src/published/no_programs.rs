//! What stands in for the integer programs where there is no solver.

use super::instance::{Found, Instance};
use crate::error::Error;
use crate::published_algorithm::PublishedAlgorithm;

pub(super) fn map(_: &Instance<'_>, algorithm: PublishedAlgorithm) -> Result<Found, Error> {
    Err(Error::MissingFeature { what: algorithm.name(), feature: "highs" })
}
