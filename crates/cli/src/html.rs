//! Pages that commands write about what they did.

use std::path::Path;

use anyhow::Result;
use millstream::files;
use millstream_report::{ReportChapter, ReportPage};
use millstream_schedule::Schedule;

use crate::output;

/// The fewest and the most frames that are drawn one by one, and how many there are for each replica.
const FEWEST_FRAMES: usize = 8;
const MOST_FRAMES: usize = 40;
const FRAMES_PER_REPLICA: usize = 4;

/// How many frames are drawn one by one.
pub(crate) fn drawn_frames(schedule: &Schedule) -> usize {
    let replicas: usize = schedule.stages.iter().map(|stage| stage.replicas.len()).sum();
    (FRAMES_PER_REPLICA * replicas).clamp(FEWEST_FRAMES, MOST_FRAMES)
}

/// Writes a page with these chapters, and says where it is.
pub(crate) fn write(path: &Path, title: &str, chapters: Vec<ReportChapter>) -> Result<()> {
    let (lead, title) = match chapters.as_slice() {
        [only] => (title.to_owned(), only.title.clone()),
        _ => (String::new(), title.to_owned()),
    };
    let provenance = millstream::provenance();
    let footer = format!("Millstream {}, {}", provenance.tool_version, provenance.created);
    files::write(path, &ReportPage { title, lead, chapters, footer }.to_html())?;
    output::remark(format!("wrote {}", path.display()));
    Ok(())
}
