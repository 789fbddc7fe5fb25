//! Plots as SVG.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use thiserror::Error;

/// Width and height in pixels.
pub(crate) const SIZE: (u32, u32) = (1120, 640);
/// Part of the width that the legend takes.
const LEGEND_WIDTH: u32 = 220;
/// Colours that stay apart for readers with any colour vision (Okabe and Ito's, without the yellow), then a brown and a
/// grey.
pub(crate) const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(120, 70, 20),
    RGBColor(140, 140, 140),
];

/// A plot could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the plot '{title}' can't be drawn: {detail}")]
pub struct PlotError {
    /// The plot's title.
    pub title: String,
    /// Why.
    pub detail: String,
}

/// Points or a line of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What they are, for the legend.
    pub name: String,
    /// Their coordinates.
    pub points: Vec<(f64, f64)>,
}

/// How an axis is labelled and divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis<'a> {
    /// What it shows, with the unit.
    pub label: &'a str,
    /// Whether equal distances are equal factors.
    pub is_logarithmic: bool,
}

/// What the series look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Dots, and the diagonal on which both coordinates are equal.
    DotsAndDiagonal,
    /// Dots.
    Dots,
    /// Lines through the points.
    Lines,
}

/// A plot of one or several series.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot<'a> {
    /// The headline.
    pub title: &'a str,
    /// The horizontal axis.
    pub x: Axis<'a>,
    /// The vertical axis.
    pub y: Axis<'a>,
    /// What the series look like.
    pub marks: Marks,
    /// What is shown.
    pub series: Vec<Series>,
}

impl Plot<'_> {
    /// Draws the plot.
    ///
    /// # Errors
    /// [`PlotError`] without any point, with one that is not a number, or with one that a logarithmic axis can't show.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let fits = |value: f64, axis: Axis<'_>| value.is_finite() && (value > 0.0 || !axis.is_logarithmic);
        if let Some(point) = points().find(|point| !(fits(point.0, self.x) && fits(point.1, self.y))) {
            return Err(self.error(format!("the point {point:?} is outside its axes")));
        }
        if points().next().is_none() {
            return Err(self.error("there are no points".to_owned()));
        }
        let mut x = range(points().map(|point| point.0), self.x);
        let mut y = range(points().map(|point| point.1), self.y);
        if self.marks == Marks::DotsAndDiagonal {
            let both = x.start.min(y.start)..x.end.max(y.end);
            (x, y) = (both.clone(), both);
        }
        let mut svg = String::new();
        let drawn = match (self.x.is_logarithmic, self.y.is_logarithmic) {
            (true, true) => self.draw(&mut svg, (x.clone()).log_scale(), y.clone().log_scale(), &x),
            (true, false) => self.draw(&mut svg, (x.clone()).log_scale(), y.clone(), &x),
            (false, true) => self.draw(&mut svg, x.clone(), y.clone().log_scale(), &x),
            (false, false) => self.draw(&mut svg, x.clone(), y.clone(), &x),
        };
        drawn.map_err(|error| self.error(error.to_string()))?;
        Ok(svg)
    }

    fn draw<X, Y>(
        &self,
        svg: &mut String,
        x: X,
        y: Y,
        diagonal: &std::ops::Range<f64>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (area, legend) = parts(&root);
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)?;

        let label = |value: &f64| short(*value);
        chart
            .configure_mesh()
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1))
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .draw()?;

        if self.marks == Marks::DotsAndDiagonal {
            let ends = [(diagonal.start, diagonal.start), (diagonal.end, diagonal.end)];
            chart.draw_series(LineSeries::new(ends, BLACK.mix(0.5)))?;
        }
        for (index, series) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points = series.points.iter().copied();
            match self.marks {
                Marks::DotsAndDiagonal | Marks::Dots => {
                    chart.draw_series(points.map(|point| Circle::new(point, 3, colour.mix(0.6).filled())))?
                }
                Marks::Lines => chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?,
            };
        }

        draw_legend(&legend, self.series.iter().map(|series| series.name.as_str()))?;
        root.present()?;
        Ok(())
    }

    fn error(&self, detail: String) -> PlotError {
        PlotError { title: self.title.to_owned(), detail }
    }
}

/// The drawing's parts: where the chart goes, and where its legend does.
pub(crate) fn parts<Backend: DrawingBackend>(
    root: &DrawingArea<Backend, Shift>,
) -> (DrawingArea<Backend, Shift>, DrawingArea<Backend, Shift>) {
    root.split_horizontally(SIZE.0 - LEGEND_WIDTH)
}

/// Draws the legend beside the chart, where it hides nothing.
pub(crate) fn draw_legend<'a, Backend: DrawingBackend>(
    legend: &DrawingArea<Backend, Shift>,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    for (index, name) in names.enumerate() {
        let top = 60 + 22 * index as i32;
        legend.draw(&Rectangle::new([(4, top), (16, top + 10)], COLOURS[index % COLOURS.len()].filled()))?;
        legend.draw(&Text::new(name.to_owned(), (22, top), ("sans-serif", 13)))?;
    }
    Ok(())
}

/// From the least to the most, with some room.
fn range(values: impl Iterator<Item = f64> + Clone, axis: Axis<'_>) -> std::ops::Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(f64::NEG_INFINITY, f64::max);
    if axis.is_logarithmic {
        return least / 1.3..most * 1.3;
    }
    let room = 0.05 * (most - least).max(f64::MIN_POSITIVE.max(1e-9 * most.abs()));
    (if least >= 0.0 { (least - room).max(0.0) } else { least - room })..most + room
}

/// A number with few digits: `0.02`, `35`, `1.5e7`.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (0.01..1e5).contains(&size) => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> Plot<'static> {
        Plot {
            title: "Times",
            x: Axis { label: "measured ms", is_logarithmic: true },
            y: Axis { label: "predicted ms", is_logarithmic: true },
            marks: Marks::DotsAndDiagonal,
            series: vec![Series { name: "convolution".into(), points }],
        }
    }

    #[test]
    fn every_point_is_drawn_with_labels_and_legend() {
        let svg = plot(vec![(0.1, 0.12), (3.0, 2.9), (50.0, 51.0)]).to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("<circle").count(), 3);
        for text in ["Times", "measured ms", "predicted ms", "convolution"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn what_no_axis_can_show_is_an_error() {
        for points in [vec![], vec![(0.0, 1.0)], vec![(f64::NAN, 1.0)]] {
            assert!(plot(points).to_svg().unwrap_err().to_string().contains("'Times'"));
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.02, 35.0, 1.5e7, 2.796].map(short), ["0", "0.02", "35", "1.5e7", "2.796"]);
    }
}
