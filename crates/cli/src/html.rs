//! Pages that commands write about what they did.

use std::path::Path;

use anyhow::Result;
use millstream::files;
use millstream_report::{ReportChapter, ReportPage};

use crate::output;

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
