//! How a number went while frames flowed.

use maud::html;

use super::scale::Scale;
use super::{Drawing, place};
use crate::duration::milliseconds;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 40.0;
/// The most parts that a course is kept in.
const MOST_PARTS: usize = 240;
/// A level that is so many times higher than the longest time would press the times together.
const FAR: f64 = 3.0;

/// A time for each frame, of any number of frames: kept in parts, each with the least and the most of some frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    parts: Vec<Part>,
    /// Frames of a part that is full.
    size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    frames: u64,
    /// In milliseconds, as the sum and the most.
    least: f64,
    most: f64,
    sum: f64,
}

impl Default for Course {
    fn default() -> Self {
        Self { parts: Vec::new(), size: 1 }
    }
}

impl Part {
    fn with(self, other: Self) -> Self {
        let (least, most) = (self.least.min(other.least), self.most.max(other.most));
        Self { frames: self.frames + other.frames, least, most, sum: self.sum + other.sum }
    }

    fn mean(&self) -> f64 {
        self.sum / self.frames as f64
    }
}

impl Course {
    /// Adds the next frame's time.
    pub fn push(&mut self, seconds: f64) {
        let value = 1e3 * seconds;
        let single = Part { frames: 1, least: value, most: value, sum: value };
        match self.parts.last_mut().filter(|part| part.frames < self.size) {
            Some(part) => *part = part.with(single),
            None => self.parts.push(single),
        }
        if self.parts.len() > MOST_PARTS {
            let pair = |pair: &[Part]| pair.iter().copied().reduce(Part::with);
            self.parts = self.parts.chunks(2).filter_map(pair).collect();
            self.size *= 2;
        }
    }

    /// How many frames there were.
    pub fn frames(&self) -> u64 {
        self.parts.iter().map(|part| part.frames).sum()
    }
}

/// Draws how the times of frames went, with levels in seconds, such as the median: a level that is far above all of
/// them is given in words. `None` for less than two frames.
pub fn course_drawing(course: &Course, levels: &[(&str, f64)], caption: &str) -> Option<Drawing> {
    let parts = &course.parts;
    if parts.len() < 2 || parts.iter().any(|part| !part.sum.is_finite()) {
        return None;
    }
    let longest = parts.iter().map(|part| part.most).fold(0.0, f64::max);
    let levels = levels.iter().map(|(name, seconds)| (*name, 1e3 * seconds));
    let (far, levels): (Vec<_>, Vec<_>) = levels.partition(|level| level.1 > FAR * longest);
    let most = levels.iter().map(|level| level.1).fold(longest, f64::max);
    let x = Scale::new(0.0, course.frames() as f64, (LEFT, RIGHT));
    let y = Scale::new(0.0, 1.1 * most, (BOTTOM, TOP));

    let mut before = 0.0;
    let mut middles = Vec::new();
    for part in parts {
        middles.push(x.at(before + part.frames as f64 / 2.0));
        before += part.frames as f64;
    }
    let point = |(at, value): (&f64, f64)| format!("{},{}", place(*at), place(y.at(value)));
    let upper = middles.iter().zip(parts).map(|(at, part)| point((at, part.most)));
    let lower = middles.iter().zip(parts).rev().map(|(at, part)| point((at, part.least)));
    let band: Vec<String> = upper.chain(lower).collect();
    let line: Vec<String> = middles.iter().zip(parts).map(|(at, part)| point((at, part.mean()))).collect();

    let drawn = html! {
        svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) {
            title { "Times of the frames, one after the other" }
            @for (text, at) in y.ticks(4) {
                line class="grid" x1=(LEFT) x2=(RIGHT) y1=(place(at)) y2=(place(at)) {}
                text x=(LEFT - 6.0) y=(place(at + 4.0)) text-anchor="end" { (text) }
            }
            @for (text, at) in x.ticks(5) { text x=(place(at)) y=(BOTTOM + 17.0) text-anchor="middle" { (text) } }
            text x="2" y="14" { "ms" }
            text x=(RIGHT) y=(HEIGHT - 4.0) text-anchor="end" { "frames" }
            g class="c0" {
                polygon class="band" points=(band.join(" ")) {}
                polyline class="front" points=(line.join(" ")) {}
            }
            @for (name, level) in &levels {
                line class="limit" x1=(LEFT) x2=(RIGHT) y1=(place(y.at(*level))) y2=(place(y.at(*level))) {}
                text class="level" x=(RIGHT) y=(place(y.at(*level) - 4.0)) text-anchor="end" { (name) }
            }
        }
    };
    let above = far.iter().map(|(name, level)| format!(" Far above it: {name}, {} ms.", milliseconds(level / 1e3)));
    let caption = std::iter::once(caption.to_owned()).chain(above).collect();
    Some(Drawing { svg: drawn.into_string(), caption, legend: Vec::new() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_long_course_keeps_its_extremes_and_little_memory() {
        let mut course = Course::default();
        (0..100_000)
            .for_each(|frame| course.push(if frame == 77_777 { 0.009 } else { 1e-3 * f64::from(1 + frame % 2) }));
        assert_eq!(course.frames(), 100_000);
        assert!(course.parts.len() <= MOST_PARTS && course.parts.len() > MOST_PARTS / 4);
        let of = |value: fn(&Part) -> f64| course.parts.iter().map(value).fold(f64::NAN, f64::max);
        assert_eq!(of(|part| part.most), 9.0);
        assert!(course.parts.iter().all(|part| part.least == 1.0));
        assert!(course.parts.iter().all(|part| part.frames <= course.size));
        let drawn = course_drawing(&course, &[("p99", 0.002)], "times");
        assert!(drawn.is_some_and(|drawing| drawing.svg.contains("p99")));
        assert_eq!(course_drawing(&Course::default(), &[], "nothing"), None);
    }

    /// Frames of 1 and 3 ms in turn, up to an axis of 3.3 ms that is 164 high: the line of their means is at 2 ms with
    /// parts of two.
    #[test]
    fn times_are_drawn_where_they_are_and_far_levels_are_told() {
        let mut course = Course::default();
        (0..4).for_each(|frame| course.push(if frame % 2 == 0 { 0.001 } else { 0.003 }));
        let drawn = course_drawing(&course, &[("p50", 0.002), ("deadline", 10.0)], "Times.").unwrap();
        assert_eq!(drawn.caption, "Times. Far above it: deadline, 10000 ms.");
        let at = |milliseconds: f64| place(BOTTOM - (BOTTOM - TOP) * milliseconds / 3.3);
        let line = drawn.svg.split("class=\"front\" points=\"").nth(1).unwrap().split('"').next().unwrap();
        let heights: Vec<&str> = line.split(' ').map(|point| point.split(',').nth(1).unwrap()).collect();
        assert_eq!(
            heights,
            [at(1.0), at(3.0), at(1.0), at(3.0)].each_ref().map(|height| height.as_str()),
            "{}",
            drawn.svg
        );
        assert_eq!(drawn.svg.matches("class=\"limit\"").count(), 1, "the deadline is not drawn");
    }

    #[test]
    fn the_line_is_of_the_means() {
        let part = Part { frames: 2, least: 1.0, most: 3.0, sum: 4.0 };
        assert_eq!(part.mean(), 2.0);
    }
}
