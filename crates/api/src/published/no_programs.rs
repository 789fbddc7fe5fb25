//! What stands in for the integer programs where there is no solver.

use super::instance::{Found, Instance};
use crate::{Error, PublishedAlgorithm};

pub(super) fn map(_: &Instance<'_>, algorithm: PublishedAlgorithm) -> Result<Found, Error> {
    Err(Error::MissingFeature { what: algorithm.name(), feature: "highs" })
}
