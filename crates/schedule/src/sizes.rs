use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{check_format, format_of};
use crate::{ScheduleDocument, ScheduleError};

/// The `format` of files with schedules for several sizes of a network.
pub const SIZES_FORMAT: &str = "millstream-schedule-sizes";
/// The `version` of such files that is written and read.
pub const SIZES_VERSION: u32 = 1;

/// Schedules of one network for frames of several sizes, as they stand in a file: each frame runs through the one of its size.
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

impl SizesDocument {
    /// The file of these plans.
    pub fn new(plans: Vec<ScheduleDocument>) -> Self {
        Self { format: SIZES_FORMAT.to_owned(), version: SIZES_VERSION, plans }
    }

    /// Whether a file says that it is one.
    pub fn is_one(text: &str) -> bool {
        format_of(text).is_some_and(|format| format == SIZES_FORMAT)
    }

    /// Reads a file with schedules for several sizes.
    ///
    /// # Errors
    /// [`ScheduleError::Malformed`] if it is not one, has no plan, or two for the same size.
    pub fn from_json(text: &str) -> Result<Self, ScheduleError> {
        let malformed = |detail: String| ScheduleError::Malformed { detail };
        let document: Self = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        check_format((&document.format, document.version), (SIZES_FORMAT, SIZES_VERSION))?;
        if document.plans.is_empty() {
            return Err(malformed("it has no plan".to_owned()));
        }
        for (index, plan) in document.plans.iter().enumerate() {
            let is_same = |other: &ScheduleDocument| other.model.digest == plan.model.digest;
            if document.plans[..index].iter().any(is_same) {
                return Err(malformed(format!("two plans are for {:?}", plan.model.dimensions)));
            }
        }
        Ok(document)
    }
}
