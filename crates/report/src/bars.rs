//! Bar charts as SVG.

use plotters::prelude::*;

use crate::plot::{COLOURS, PlotError, SIZE, draw_legend, parts};

/// Groups of bars side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart<'a> {
    /// The headline.
    pub title: &'a str,
    /// What the heights are, with the unit.
    pub label: &'a str,
    /// What the bars of a group are, for the legend.
    pub series: Vec<String>,
    /// Name and heights of each group, one height per series.
    pub groups: Vec<(String, Vec<f64>)>,
}

impl BarChart<'_> {
    /// Draws the chart.
    ///
    /// # Errors
    /// [`PlotError`] without groups or with a height that is not a number from 0.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let heights = || self.groups.iter().flat_map(|(_, heights)| heights.iter().copied());
        if self.groups.is_empty() || heights().any(|height| !(height.is_finite() && height >= 0.0)) {
            let detail = "it needs groups, and heights that are numbers from 0".to_owned();
            return Err(PlotError { title: self.title.to_owned(), detail });
        }
        let mut svg = String::new();
        let drawn = self.draw(&mut svg, heights().fold(0.0, f64::max).max(f64::MIN_POSITIVE));
        drawn.map_err(|error| PlotError { title: self.title.to_owned(), detail: error.to_string() })?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String, highest: f64) -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let count = self.groups.len();
        let (area, legend) = parts(&root);
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(72)
            .build_cartesian_2d(-0.5..count as f64 - 0.5, 0.0..1.1 * highest)?;

        let name = |place: &f64| {
            let is_group = (place - place.round()).abs() < 1e-6 && *place >= 0.0;
            let group = if is_group { self.groups.get(place.round() as usize) } else { None };
            group.map_or(String::new(), |(name, _)| name.clone())
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .y_desc(self.label)
            .x_labels(2 * count + 1)
            .x_label_formatter(&name)
            .x_label_style(("sans-serif", 11))
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1))
            .draw()?;

        let width = 0.8 / self.series.len().max(1) as f64;
        for index in 0..self.series.len() {
            let colour = COLOURS[index % COLOURS.len()];
            let bars = self.groups.iter().enumerate().filter_map(|(place, (_, heights))| {
                let left = place as f64 - 0.4 + width * index as f64;
                Some(Rectangle::new([(left, 0.0), (left + width, *heights.get(index)?)], colour.filled()))
            });
            chart.draw_series(bars)?;
        }

        draw_legend(&legend, self.series.iter().map(String::as_str))?;
        root.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_and_series_is_named() {
        let chart = BarChart {
            title: "Speed",
            label: "frames/s",
            series: vec!["one".into(), "two".into()],
            groups: vec![("first".into(), vec![1.0, 2.0]), ("second".into(), vec![3.0, 0.5])],
        };
        let svg = chart.to_svg().unwrap();
        for text in ["Speed", "frames/s", "one", "two", "first", "second"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(BarChart { groups: Vec::new(), ..chart.clone() }.to_svg().is_err());
        assert!(BarChart { groups: vec![("bad".into(), vec![f64::NAN])], ..chart }.to_svg().is_err());
    }
}
