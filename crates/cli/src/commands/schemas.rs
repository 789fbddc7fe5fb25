//! `schemas`: a JSON schema for each file format.

use anyhow::{Context, Result};
use millstream::{RunReport, files};
use millstream_board::{BoardDocument, SystemDocument};
use millstream_certify::Certificate;
use millstream_predict::calibration::Measurements;
use millstream_predict::{CostModels, Profile};
use millstream_schedule::{ScheduleDocument, ScheduleSetDocument, SizesDocument};

use crate::arguments::SchemasCommand;

pub(crate) fn run(command: &SchemasCommand) -> Result<()> {
    std::fs::create_dir_all(&command.folder).with_context(|| format!("cannot make {}", command.folder.display()))?;
    for (name, schema) in schemas() {
        let text = format!("{}\n", serde_json::to_string_pretty(&schema)?);
        files::write(&command.folder.join(format!("{name}.schema.json")), &text)?;
    }
    Ok(())
}

/// Every file format, by the name of its schema.
pub(crate) fn schemas() -> [(&'static str, schemars::Schema); 10] {
    [
        ("board", schemars::schema_for!(BoardDocument)),
        ("system", schemars::schema_for!(SystemDocument)),
        ("profile", schemars::schema_for!(Profile)),
        ("cost", schemars::schema_for!(CostModels)),
        ("measurements", schemars::schema_for!(Measurements)),
        ("schedule", schemars::schema_for!(ScheduleDocument)),
        ("schedule-sizes", schemars::schema_for!(SizesDocument)),
        ("schedule-set", schemars::schema_for!(ScheduleSetDocument)),
        ("certificate", schemars::schema_for!(Certificate)),
        ("run-report", schemars::schema_for!(RunReport)),
    ]
}
