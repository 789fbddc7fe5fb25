//! Co-scheduling: tables 2 to 6 and figures 10 and 11, from the coefficients of table 2.

mod accuracy;
mod data;
mod energy;
mod tiny_darknet;

use millstream_cosched::{Split, exact_split, published_split};
use millstream_predict::published::ConvolutionSize;
use millstream_report::{Align, BarChart, Table, milliseconds, percent};

use crate::{Claim, Figure, Kind, ReproduceError, Reproduction, Section};
use data::{IDLE, LAYERS, Layer, PLATFORMS, PROCESSING_ELEMENTS, Platform, SPEEDUPS};

/// Speedups are held to the printed ranges within this.
const TOLERANCE: f64 = 0.03;

/// One layer on one platform.
struct Outcome {
    cpu_seconds: f64,
    accelerator_seconds: f64,
    split: Split,
    /// What accelerator and CPU take for their parts of the published split.
    parts: [f64; 2],
    exact_seconds: f64,
}

impl Outcome {
    fn of(platform: &Platform, processing_elements: u64, layer: Layer) -> Self {
        Self::of_size(platform, processing_elements, &layer.convolution())
    }

    fn of_size(platform: &Platform, processing_elements: u64, size: &ConvolutionSize) -> Self {
        let (model, cpu_model) = (platform.accelerator(processing_elements), platform.cpu());
        let accelerator = |channels: u64| model.latency(size, channels).total_seconds;
        let cpu = |channels: u64| cpu_model.seconds(size, channels);
        let (accelerator_seconds, cpu_seconds) = (accelerator(size.filters), cpu(size.filters));
        let split = published_split(size.filters, accelerator_seconds, cpu_seconds);
        let exact = exact_split(size.filters, accelerator, cpu);
        Self {
            cpu_seconds,
            accelerator_seconds,
            split,
            parts: [accelerator(split.accelerator), cpu(split.cpu)],
            exact_seconds: exact.seconds(accelerator, cpu),
        }
    }

    fn both_seconds(&self) -> f64 {
        self.parts[0].max(self.parts[1])
    }

    /// Part of the time that the faster side waits, and who it is.
    fn idle(&self) -> (f64, &'static str) {
        let [accelerator, cpu] = self.parts;
        ((accelerator - cpu).abs() / self.both_seconds(), if accelerator > cpu { "CPU" } else { "acc." })
    }
}

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    let (section, figure) = speedups()?;
    let (energy, energy_figure) = energy::section()?;
    Ok(Reproduction {
        paper: "Kim et al., CPU-Accelerator Co-Scheduling for CNN Acceleration at the Edge (IEEE Access 2020)"
            .to_owned(),
        sections: vec![
            accuracy::coefficients()?,
            layers(),
            accuracy::section()?,
            idle_times(),
            tiny_darknet::section(),
            section,
            energy,
        ],
        figures: vec![figure, energy_figure],
    })
}

fn layers() -> Section {
    let mut table = Table::new([
        ("layer", Align::Left),
        ("input", Align::Right),
        ("kernel", Align::Right),
        ("filters", Align::Right),
        ("from", Align::Left),
        ("CPU ms", Align::Right),
        ("accelerator ms", Align::Right),
        ("split", Align::Right),
        ("both ms", Align::Right),
        ("exact split ms", Align::Right),
    ]);
    for (index, layer) in LAYERS.into_iter().enumerate() {
        let outcome = Outcome::of(&PLATFORMS[0], PROCESSING_ELEMENTS[1], layer);
        table.row([
            format!("{index}"),
            format!("{0}x{0}x{1}", layer.size, layer.channels),
            format!("{0}x{0}", layer.kernel),
            layer.filters.to_string(),
            layer.network.to_owned(),
            milliseconds(outcome.cpu_seconds),
            milliseconds(outcome.accelerator_seconds),
            format!("{} + {}", outcome.split.accelerator, outcome.split.cpu),
            milliseconds(outcome.both_seconds()),
            milliseconds(outcome.exact_seconds),
        ]);
    }
    Section {
        title: "Table 3: the layers, with our times for Ultra96 and 4 processing elements".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec!["Split: channels on the accelerator + on the CPU by equations 12 and 13.".to_owned()],
        claims: Vec::new(),
    }
}

fn idle_times() -> Section {
    let mut table = Table::new([
        ("layer", Align::Right),
        ("platform", Align::Left),
        ("2 PEs: ours", Align::Right),
        ("paper's", Align::Right),
        ("4 PEs: ours", Align::Right),
        ("paper's", Align::Right),
        ("8 PEs: ours", Align::Right),
        ("paper's", Align::Right),
    ]);
    let (mut sum, mut printed_sum, mut count) = (0.0, 0.0, 0.0);
    for (index, layer) in LAYERS.into_iter().enumerate() {
        for (platform, printed) in PLATFORMS.iter().zip(IDLE[index]) {
            let ours = PROCESSING_ELEMENTS.map(|elements| Outcome::of(platform, elements, layer).idle());
            let show = |place: usize| format!("{:.2} % {}", 100.0 * ours[place].0, ours[place].1);
            let paper = |place: usize| format!("{:.2} %", printed[place]);
            let name = platform.name.to_owned();
            table.row([index.to_string(), name, show(0), paper(0), show(1), paper(1), show(2), paper(2)]);
            sum += ours.iter().map(|(idle, _)| idle).sum::<f64>();
            printed_sum += printed.iter().sum::<f64>() / 100.0;
            count += printed.len() as f64;
        }
    }
    Section {
        title: "Table 5: part of the time that one side waits for the other".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![format!(
            "On average {:.2} % by the models, {:.2} % as measured in the paper. Ours has who waits; the paper's measurements \
             contain what the models leave out, and differ by as much as the idle times themselves.",
            100.0 * sum / count,
            100.0 * printed_sum / count
        )],
        claims: Vec::new(),
    }
}

fn speedups() -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("processing elements", Align::Right),
        ("platform", Align::Left),
        ("accelerator / CPU", Align::Right),
        ("paper's range", Align::Right),
        ("both / CPU", Align::Right),
        ("paper's range", Align::Right),
        ("both / accelerator", Align::Right),
        ("paper's range", Align::Right),
        ("exact split gains", Align::Right),
    ]);
    let mut claims = Vec::new();
    let mut bars = Vec::new();
    let mut largest_gain: f64 = 0.0;
    for (elements, printed) in PROCESSING_ELEMENTS.into_iter().zip(&SPEEDUPS) {
        for platform in &PLATFORMS {
            let outcomes: Vec<Outcome> =
                LAYERS.into_iter().map(|layer| Outcome::of(platform, elements, layer)).collect();
            let mean =
                |ratio: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(ratio).sum::<f64>() / outcomes.len() as f64;
            let accelerator = mean(&|outcome| outcome.cpu_seconds / outcome.accelerator_seconds);
            let both = mean(&|outcome| outcome.cpu_seconds / outcome.both_seconds());
            let over_accelerator = mean(&|outcome| outcome.accelerator_seconds / outcome.both_seconds());
            let gain = |outcome: &Outcome| outcome.both_seconds() / outcome.exact_seconds - 1.0;
            largest_gain = outcomes.iter().map(gain).fold(largest_gain, f64::max);
            let range =
                |range: Option<[f64; 2]>| range.map_or("-".to_owned(), |[low, high]| format!("{low:.2}-{high:.2}"));
            table.row([
                elements.to_string(),
                platform.name.to_owned(),
                format!("{accelerator:.2}"),
                range(printed.accelerator_over_cpu),
                format!("{both:.2}"),
                range(Some(printed.both_over_cpu)),
                format!("{over_accelerator:.2}"),
                range(Some(printed.both_over_accelerator)),
                percent(mean(&gain)),
            ]);
            let mut claim = |what: &str, ours: f64, paper: Option<[f64; 2]>| {
                let what = format!("{what}, {} with {elements} processing elements", platform.name);
                claims.extend(paper.map(|paper| Claim { what, ours, paper, tolerance: TOLERANCE }));
            };
            claim("accelerator over CPU", accelerator, printed.accelerator_over_cpu);
            claim("both over CPU", both, Some(printed.both_over_cpu));
            claim("both over accelerator", over_accelerator, Some(printed.both_over_accelerator));
            bars.push((format!("{} / {elements}", platform.name), vec![1.0, accelerator, both]));
        }
    }
    let chart = BarChart {
        title: "Speed relative to the CPU alone, by platform / processing elements (figure 10)",
        label: "times the CPU's speed",
        series: ["CPU only", "accelerator only", "CPU + accelerator"].map(str::to_owned).to_vec(),
        groups: bars,
    };
    let figure = Figure { file: "co-scheduling-figure-10.svg".to_owned(), svg: chart.to_svg()? };
    let section = Section {
        title: "Figure 10: speedups, means over the 14 layers".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![format!(
            "Equation 12 ignores that channels are computed in waves. The best split is up to {:.1} % faster on single layers.",
            100.0 * largest_gain
        )],
        claims,
    };
    Ok((section, figure))
}
