//! The front of latency and throughput.

use maud::{Markup, html};

use super::scale::Scale;
use super::{Drawing, place};
use crate::duration::{milliseconds, rate};
use crate::energy::joules;
use crate::plan::FrontRow;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 42.0;

/// Draws a front: latency to the right, frames per second upwards. What is best for something is marked and numbered,
/// the row at the place `chosen` most of all, and a line shows the frames per second that no schedule passes by the
/// costs, if it is near enough. `None` if there is nothing to draw.
pub fn front_drawing(rows: &[FrontRow], chosen: Option<usize>, least_period_seconds: f64) -> Option<Drawing> {
    let points: Vec<(f64, f64)> =
        rows.iter().map(|row| (1e3 * row.latency_seconds, 1.0 / row.period_seconds)).collect();
    if points.is_empty() || points.iter().any(|(x, y)| !(x.is_finite() && y.is_finite())) {
        return None;
    }
    let best = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let limit = Some(1.0 / least_period_seconds).filter(|rate| rate.is_finite() && *rate <= 1.5 * best);
    let x = Scale::around(points.iter().map(|point| point.0), (LEFT, RIGHT));
    let y = Scale::around(points.iter().map(|point| point.1).chain(limit), (BOTTOM, TOP));
    let is_marked = |&index: &usize| chosen == Some(index) || !rows[index].chosen_for.is_empty();
    let marked: Vec<usize> = (0..rows.len()).filter(is_marked).collect();
    let drawn = html! {
        svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) {
            title { "The front of latency and throughput" }
            (axes(x, y))
            @if let Some(limit) = limit {
                line class="limit" x1=(LEFT) x2=(RIGHT) y1=(place(y.at(limit))) y2=(place(y.at(limit))) {}
                text class="level" x=(RIGHT) y=(place(y.at(limit) - 5.0)) text-anchor="end" { "no schedule is above, by these costs and clocks" }
            }
            polyline class="front c0" points=(steps(&points, x, y)) {}
            @for (index, (own_x, own_y)) in points.iter().enumerate() {
                @let number = marked.iter().position(|row| *row == index).map(|place| place + 1);
                (point((x.at(*own_x), y.at(*own_y)), number, &rows[index], chosen == Some(index)))
            }
        }
    };
    Some(Drawing { svg: drawn.into_string(), caption: caption(rows), legend: legend(rows, &marked, chosen) })
}

fn axes(x: Scale, y: Scale) -> Markup {
    html! {
        @for (text, at) in y.ticks(5) {
            line class="grid" x1=(LEFT) x2=(RIGHT) y1=(place(at)) y2=(place(at)) {}
            text x=(LEFT - 6.0) y=(place(at + 4.0)) text-anchor="end" { (text) }
        }
        @for (text, at) in x.ticks(5) {
            line class="grid" x1=(place(at)) x2=(place(at)) y1=(TOP) y2=(BOTTOM) {}
            text x=(place(at)) y=(BOTTOM + 17.0) text-anchor="middle" { (text) }
        }
        text x=(RIGHT) y=(HEIGHT - 6.0) text-anchor="end" { "latency, ms" }
        text x="2" y="14" { "frames/s" }
    }
}

/// What can be had at each latency: stairs from the fastest pipeline to the one that passes most.
fn steps(points: &[(f64, f64)], x: Scale, y: Scale) -> String {
    let mut sorted = points.to_vec();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut text = Vec::new();
    let mut level: Option<f64> = None;
    for (own_x, own_y) in sorted {
        if level.is_some_and(|level| own_y <= level) {
            continue;
        }
        let at = place(x.at(own_x));
        text.extend(level.map(|level| format!("{at},{}", place(y.at(level)))));
        text.push(format!("{at},{}", place(y.at(own_y))));
        level = Some(own_y);
    }
    text.join(" ")
}

fn point((x, y): (f64, f64), number: Option<usize>, row: &FrontRow, is_chosen: bool) -> Markup {
    html! {
        g class=(if is_chosen { "c1" } else { "c0" }) {
            title { (in_words(row)) }
            circle class="point" cx=(place(x)) cy=(place(y)) r=(if number.is_some() { "6" } else { "3.5" }) {}
            @if is_chosen { circle class="ring" cx=(place(x)) cy=(place(y)) r="10" {} }
            @if let Some(number) = number {
                text class="mark" x=(place(x)) y=(place(y - 13.0)) text-anchor="middle" { (number) }
            }
        }
    }
}

fn in_words(row: &FrontRow) -> String {
    let energy = row.joules_per_frame.map_or(String::new(), |energy| format!(", {} J a frame", joules(energy)));
    format!(
        "{}: {} frames/s, {} ms{energy}{}",
        row.configuration,
        rate(row.period_seconds),
        milliseconds(row.latency_seconds),
        if row.is_measured { ", tried" } else { "" }
    )
}

fn caption(rows: &[FrontRow]) -> String {
    match rows.len() {
        1 => "One schedule has both the shortest latency and the most frames per second.".to_owned(),
        count => format!("{count} schedules that no other beats in both latency and frames per second."),
    }
}

fn legend(rows: &[FrontRow], marked: &[usize], chosen: Option<usize>) -> Vec<(usize, String)> {
    let entry = |(number, &index): (usize, &usize)| {
        let row = rows.get(index)?;
        let is_chosen = chosen == Some(index);
        let best =
            if row.chosen_for.is_empty() { String::new() } else { format!(", best for {}", row.chosen_for.join(", ")) };
        let word = if is_chosen { "; chosen" } else { "" };
        Some((usize::from(is_chosen), format!("{}: {}{best}{word}", number + 1, in_words(row))))
    };
    marked.iter().enumerate().filter_map(entry).collect()
}
