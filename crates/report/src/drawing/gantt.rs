//! Which frame was where at which time.

use maud::html;

use super::scale::Scale;
use super::{COLOURS, Drawing, place};

const WIDTH: f64 = 720.0;
/// Height of a lane with its name above it.
const LANE: f64 = 48.0;
const BAR: f64 = 22.0;
const NAME: f64 = 18.0;
const AXIS: f64 = 36.0;
/// Room at both ends, for the numbers that stand below them.
const LEFT: f64 = 24.0;
const RIGHT: f64 = 26.0;
/// The least width of a bar that its frame's number fits into, for each digit.
const DIGIT: f64 = 9.0;

/// What worked on a frame, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct GanttBar {
    /// Position of the lane.
    pub lane: usize,
    /// The frame.
    pub frame: u64,
    /// When the work began, in seconds from any moment.
    pub start_seconds: f64,
    /// When it ended.
    pub end_seconds: f64,
}

/// Draws bars in lanes, a colour for each frame, with the frames' numbers. `None` if there is nothing to draw.
pub fn gantt_drawing(lanes: &[String], bars: &[GanttBar], caption: &str) -> Option<Drawing> {
    let begin = bars.iter().map(|bar| bar.start_seconds).fold(f64::INFINITY, f64::min);
    let end = bars.iter().map(|bar| bar.end_seconds).fold(f64::NEG_INFINITY, f64::max);
    if !(begin.is_finite() && end > begin) {
        return None;
    }

    let height = lanes.len() as f64 * LANE + AXIS;
    let bottom = height - AXIS;
    let scale = Scale::new(0.0, 1e3 * (end - begin), (LEFT, WIDTH - RIGHT));
    let span = |bar: &GanttBar| {
        let [from, to] = [bar.start_seconds, bar.end_seconds].map(|time| scale.at(1e3 * (time - begin)));
        (from, (to - from).max(0.5))
    };

    let drawn = html! {
        svg class="gantt" xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {WIDTH} {height}")) {
            title { "When each frame was where" }
            @for (text, at) in scale.ticks(8) {
                line class="grid" x1=(place(at)) x2=(place(at)) y1="0" y2=(bottom) {}
                text x=(place(at)) y=(bottom + 16.0) text-anchor="middle" { (text) }
            }
            text x=(WIDTH - 2.0) y=(height - 4.0) text-anchor="end" { "ms" }
            @for (index, name) in lanes.iter().enumerate() {
                text x=(LEFT) y=(place(index as f64 * LANE + NAME - 4.0)) { (name) }
            }
            @for bar in bars.iter().filter(|bar| bar.lane < lanes.len()) {
                @let (from, width) = span(bar);
                @let top = bar.lane as f64 * LANE + NAME;
                @let number = bar.frame.to_string();
                g class=(format!("c{}", bar.frame % COLOURS as u64)) {
                    title { (format!("frame {number}, {:.3} ms", 1e3 * (bar.end_seconds - bar.start_seconds))) }
                    rect class="bar" x=(place(from)) y=(place(top)) width=(place(width)) height=(BAR) {}
                    @if width > DIGIT * (number.len() as f64 + 0.5) {
                        text x=(place(from + width / 2.0)) y=(place(top + 16.0)) text-anchor="middle" { (number) }
                    }
                }
            }
        }
    };
    Some(Drawing { svg: drawn.into_string(), caption: caption.to_owned(), legend: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_ends_of_the_axis_have_room() {
        let bar = GanttBar { lane: 0, frame: 1, start_seconds: 3.0, end_seconds: 3.0016 };
        let svg = gantt_drawing(&["a core".to_owned()], &[bar], "").map_or(String::new(), |drawing| drawing.svg);
        // Behind each bracket stand the attributes of a text, and what it says.
        let texts = svg.split("<text ").filter(|text| text.contains("middle"));
        let ends = texts.filter_map(|text| {
            let middle: f64 = text.split('"').nth(1)?.parse().ok()?;
            let half = 0.3 * 15.0 * text.split_once('>')?.1.split_once('<')?.0.chars().count() as f64;
            Some((middle - half, middle + half))
        });
        let ends: Vec<(f64, f64)> = ends.collect();
        assert!(ends.len() > 3 && ends.iter().all(|(left, right)| *left > 0.0 && *right < WIDTH), "{ends:?}: {svg}");
    }
}
