//! The file form of schedules of several networks that share a board.

use millstream_board::{Document, is_document, read_document};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::schedule::ScheduleDocument;
use crate::error::ScheduleError;

/// The `format` of files with the schedules of several networks.
pub const SCHEDULE_SET_FORMAT: &str = "millstream-schedule-set";
/// The `version` of such files that is written and read.
pub const SCHEDULE_SET_VERSION: u32 = 1;

/// Schedules of several networks that share a board, as they stand in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSetDocument {
    /// Always `millstream-schedule-set`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// How often a second as many frames of each network can pass as its weight says.
    pub rounds_per_second: f64,
    /// Whether the networks take turns on the same processors; if not, each has processors of its own.
    #[serde(default)]
    pub takes_turns: bool,
    /// One entry per network.
    pub networks: Vec<SharedSchedule>,
}

/// One of several networks that share a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedSchedule {
    /// Frames for each frame of a network with weight 1.
    pub weight: f64,
    /// The longest time of a frame through the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<f64>,
    /// By what part predictions had to be better than the deadline, 0.1 for a tenth; nothing without a margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Its schedule.
    pub schedule: ScheduleDocument,
}

impl Document for ScheduleSetDocument {
    const FORMAT: &'static str = SCHEDULE_SET_FORMAT;
    const VERSION: u32 = SCHEDULE_SET_VERSION;
    const NAME: &'static str = "file of schedules for several networks";
}

impl ScheduleSetDocument {
    /// Whether a file says that it is one.
    pub fn is_one(text: &str) -> bool {
        is_document::<Self>(text)
    }

    /// Reads a file with the schedules of several networks.
    ///
    /// # Errors
    /// [`ScheduleError::Document`] if it is not one, [`ScheduleError::Constraint`] if a margin makes no sense,
    /// [`ScheduleError::SharedProcessor`] if two networks use the same core or accelerator.
    pub fn from_json(text: &str) -> Result<Self, ScheduleError> {
        let document: Self = read_document(text)?;
        let margins = document.networks.iter().filter_map(|network| network.margin);
        if let Some(value) = margins.into_iter().find(|margin| *margin < 0.0) {
            return Err(ScheduleError::Constraint { field: "margin", value });
        }
        if !document.takes_turns {
            document.check_processors()?;
        }
        Ok(document)
    }

    /// Whether no two networks use the same core or accelerator.
    fn check_processors(&self) -> Result<(), ScheduleError> {
        let mut taken = Vec::new();
        for network in &self.networks {
            let mut names_here = Vec::new();
            let stages = network.schedule.stages.iter().flat_map(|stage| &stage.replicas);
            for processor in stages.flat_map(|replica| &replica.assignments).map(|assignment| &assignment.processor) {
                let names = if processor.is_accelerator() {
                    vec![processor.cluster.clone()]
                } else {
                    processor.cores.iter().map(|core| format!("core {core}")).collect()
                };
                if let Some(unit) = names.iter().find(|unit| taken.contains(*unit)) {
                    let network = network.schedule.model.name.clone();
                    return Err(ScheduleError::SharedProcessor { network, unit: unit.clone() });
                }
                names_here.extend(names);
            }
            taken.extend(names_here);
        }
        Ok(())
    }
}
