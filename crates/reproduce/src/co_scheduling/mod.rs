//! Co-scheduling: tables 2 to 6 and figures 10 and 11, from the coefficients of table 2.

mod accuracy;
mod data;
mod energy;
mod idle;
mod outcome;
mod speedups;
mod tiny_darknet;

use millstream_report::{Align, Table, milliseconds};

use crate::co_scheduling::outcome::Outcome;
use crate::paper::ReproduceError;
use crate::report::{Kind, LeftOut, Reproduction, Section};
use crate::selection::PaperItem;
use data::{LAYERS, PLATFORMS, PROCESSING_ELEMENTS};

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
        slowdowns: Vec::new(),
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
        item: PaperItem::Table(3),
        about: "the layers, with our times for Ultra96 and 4 processing elements".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec!["Split: channels on the accelerator + on the CPU by equations 12 and 13.".to_owned()],
        claims: Vec::new(),
    }
}
