//! Drawings for pages, as SVG that takes its colours from the page: they are readable in light and in dark.

mod contest;
mod course;
mod folding;
mod front;
mod gantt;
mod layers;
mod network;
mod scale;

pub use contest::{ContestBar, contest_drawing};
pub use course::{Course, course_drawing};
pub use front::front_drawing;
pub use gantt::{GanttBar, gantt_drawing};
pub use network::network_drawing;

/// How many colours there are; stages and frames take them in turn.
pub(crate) const COLOURS: usize = 8;

/// A picture with what it shows in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// The picture as an `svg` element. Its text is escaped, and its colours are those of a
    /// [`ReportPage`](crate::ReportPage).
    pub svg: String,
    /// What it shows.
    pub caption: String,
    /// What its colours mean: the number of the colour, and the words.
    pub legend: Vec<(usize, String)>,
}

/// A coordinate with as many digits as can be seen.
pub(crate) fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The start of a long text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
