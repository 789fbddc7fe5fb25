use anyhow::{Context, Result};
use millstream::{RunReport, files};
use millstream_board::BoardDocument;
use millstream_certify::Certificate;
use millstream_predict::calibration::Measurements;
use millstream_predict::{CostModels, Profile};
use millstream_schedule::{ScheduleDocument, ScheduleSetDocument, SizesDocument};

use crate::arguments::SchemasCommand;

pub(crate) fn run(command: &SchemasCommand) -> Result<()> {
    std::fs::create_dir_all(&command.folder).with_context(|| format!("cannot make {}", command.folder.display()))?;
    let schemas = [
        ("certificate", schemars::schema_for!(Certificate)),
        ("board", schemars::schema_for!(BoardDocument)),
        ("cost", schemars::schema_for!(CostModels)),
        ("measurements", schemars::schema_for!(Measurements)),
        ("profile", schemars::schema_for!(Profile)),
        ("schedule", schemars::schema_for!(ScheduleDocument)),
        ("schedule-sizes", schemars::schema_for!(SizesDocument)),
        ("run-report", schemars::schema_for!(RunReport)),
        ("schedule-set", schemars::schema_for!(ScheduleSetDocument)),
    ];
    for (name, schema) in schemas {
        let text = format!("{}\n", serde_json::to_string_pretty(&schema)?);
        files::write(&command.folder.join(format!("{name}.schema.json")), &text)?;
    }
    Ok(())
}
