//! The file form of schedules for several sizes of a network.

use millstream_board::{Document, DocumentError, is_document, read_document};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::schedule::ScheduleDocument;
use crate::error::ScheduleError;

/// The `format` of files with schedules for several sizes of a network.
pub const SIZES_FORMAT: &str = "millstream-schedule-sizes";
/// The `version` of such files that is written and read.
pub const SIZES_VERSION: u32 = 1;

/// Schedules of one network for frames of several sizes, as they stand in a file: each frame runs through the one of
/// its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizesDocument {
    /// Always `millstream-schedule-sizes`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// One schedule per size; the sizes are those of the model that it is for.
    pub plans: Vec<ScheduleDocument>,
}

impl Document for SizesDocument {
    const FORMAT: &'static str = SIZES_FORMAT;
    const VERSION: u32 = SIZES_VERSION;
    const NAME: &'static str = "file of schedules for several sizes";

    fn validate(&self) -> Result<(), DocumentError> {
        if self.plans.is_empty() {
            return Err(DocumentError::invalid::<Self>("plans", "is empty"));
        }
        for (index, plan) in self.plans.iter().enumerate() {
            let is_same = |other: &ScheduleDocument| other.model.digest == plan.model.digest;
            if self.plans.iter().take(index).any(is_same) {
                let detail = format!("is a second plan for {:?}", plan.model.dimensions);
                return Err(DocumentError::invalid::<Self>(format!("plans[{index}]"), detail));
            }
        }
        Ok(())
    }
}

impl SizesDocument {
    /// The file of these plans.
    pub fn new(plans: Vec<ScheduleDocument>) -> Self {
        Self { format: SIZES_FORMAT.to_owned(), version: SIZES_VERSION, plans }
    }

    /// Whether a file says that it is one.
    pub fn is_one(text: &str) -> bool {
        is_document::<Self>(text)
    }

    /// Reads a file with schedules for several sizes.
    ///
    /// # Errors
    /// [`ScheduleError::Document`] if it is not one, has no plan, or two for the same size.
    pub fn from_json(text: &str) -> Result<Self, ScheduleError> {
        Ok(read_document(text)?)
    }
}
