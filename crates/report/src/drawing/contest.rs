//! Ways to run a network beside each other.

use maud::html;

use super::scale::Scale;
use super::{Drawing, place};

const WIDTH: f64 = 480.0;
const ROW: f64 = 46.0;
const NAME: f64 = 18.0;
const BAR: f64 = 18.0;
/// What the number behind a bar needs.
const NUMBER: f64 = 74.0;

/// A bar with what it was in each round.
#[derive(Debug, Clone, PartialEq)]
pub struct ContestBar {
    /// What it is of.
    pub name: String,
    /// Whether it is one of ours.
    pub is_ours: bool,
    /// Its length.
    pub value: f64,
    /// The value as text.
    pub text: String,
    /// The values of single rounds, as dots.
    pub rounds: Vec<f64>,
}

/// Draws bars below each other, ours in a colour of their own. `None` if there is nothing to draw.
pub fn contest_drawing(bars: &[ContestBar], caption: &str, legend: [&str; 2]) -> Option<Drawing> {
    let values = bars.iter().flat_map(|bar| bar.rounds.iter().copied().chain([bar.value]));
    let most = values.clone().fold(0.0, f64::max);
    if !(most > 0.0 && values.into_iter().all(f64::is_finite)) {
        return None;
    }
    let x = Scale::new(0.0, most, (2.0, WIDTH - NUMBER));
    let drawn = html! {
        svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {WIDTH} {}", bars.len() as f64 * ROW)) {
            title { (caption) }
            @for (index, bar) in bars.iter().enumerate() {
                @let top = index as f64 * ROW;
                @let middle = top + NAME + BAR / 2.0;
                g class=(if bar.is_ours { "c1" } else { "c0" }) {
                    text x="2" y=(place(top + NAME - 5.0)) { (bar.name) }
                    rect class="bar" x="2" y=(place(top + NAME)) width=(place(x.at(bar.value) - 2.0)) height=(BAR) {}
                    @for value in &bar.rounds { circle class="dot" cx=(place(x.at(*value))) cy=(place(middle)) r="2.5" {} }
                    @let end = bar.rounds.iter().copied().fold(bar.value, f64::max);
                    text class="mark" x=(place(x.at(end) + 8.0)) y=(place(middle + 5.0)) { (bar.text) }
                }
            }
        }
    };
    let legend = [1, 0].into_iter().zip(legend.map(str::to_owned)).collect();
    Some(Drawing { svg: drawn.into_string(), caption: caption.to_owned(), legend })
}
