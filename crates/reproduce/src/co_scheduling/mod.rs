//! Co-scheduling: tables 2 to 6 and figures 10 and 11, from the coefficients of table 2.

mod accuracy;
mod data;
mod energy;
mod idle;
mod speedups;
mod tiny_darknet;

use millstream_cosched::{Split, exact_split, published_split};
use millstream_predict::published::ConvolutionSize;
use millstream_report::{Align, Table, milliseconds};

use crate::{Kind, LeftOut, ReproduceError, Reproduction, Section};
use data::{LAYERS, Layer, PLATFORMS, PROCESSING_ELEMENTS, Platform};

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

const LEFT_OUT: [LeftOut; 3] = [
    LeftOut { what: "Table 1", reason: "lists the platforms' CPUs; there is nothing to compute" },
    LeftOut {
        what: "Table 2, against measurements",
        reason: "the times that its lines were fitted to are not printed",
    },
    LeftOut { what: "Figures 6 to 9", reason: "draw these times without numbers" },
];

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    let (section, figure) = speedups::section()?;
    let (energy, energy_figure) = energy::section()?;
    Ok(Reproduction {
        paper: "Kim et al., CPU-Accelerator Co-Scheduling for CNN Acceleration at the Edge (IEEE Access 2020)"
            .to_owned(),
        sections: vec![
            accuracy::coefficients()?,
            layers(),
            accuracy::section()?,
            idle::section(),
            tiny_darknet::section(),
            section,
            energy,
        ],
        figures: vec![figure, energy_figure],
        left_out: LEFT_OUT.to_vec(),
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
