//! Progress of long steps: a bar on a terminal, a line now and then otherwise.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// Between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// A long step.
pub(crate) struct Steps {
    title: String,
    total: u64,
    bar: Option<ProgressBar>,
    last_line: Instant,
}

impl Steps {
    pub(crate) fn new(title: impl Into<String>, total: usize) -> Self {
        Self::with_template(title, "{msg} [{bar:30}] {pos}/{len}, {eta} left", total)
    }

    /// A step that takes so many seconds.
    pub(crate) fn of_seconds(title: impl Into<String>, total: usize) -> Self {
        Self::with_template(title, "{msg} [{bar:30}] {pos} of {len} s, {eta} left", total)
    }

    fn with_template(title: impl Into<String>, template: &str, total: usize) -> Self {
        let title = title.into();
        let total = total as u64;
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total).with_style(style.progress_chars("=> ")).with_message(title.clone())
        });
        if bar.is_none() {
            output::remark(format!("{title} ..."));
        }
        Self { title, total, bar, last_line: Instant::now() }
    }

    /// Says by what part the best so far is above what the search expects at best, which is an estimate.
    pub(crate) fn set_gap(&mut self, gap: f64) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: an estimated {:.1} % may be gained", self.title, 100.0 * gap));
        }
    }

    pub(crate) fn set(&mut self, done: usize, total: usize) {
        self.total = total as u64;
        match &self.bar {
            Some(bar) => {
                bar.set_length(self.total);
                bar.set_position(done as u64);
            }
            None if self.last_line.elapsed() >= LINE_INTERVAL => {
                output::remark(format!("{}: {done} of {total}", self.title));
                self.last_line = Instant::now();
            }
            None => {}
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
