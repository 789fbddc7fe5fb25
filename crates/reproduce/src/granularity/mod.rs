//! Thread granularity: the fitted lines, where they cross, and what they choose.

mod networks;

use millstream_predict::Line;
use millstream_predict::published::{Granularity, GranularityModel};
use millstream_report::{Align, Axis, Marks, Plot, Series, Table};

use crate::{Claim, Figure, Kind, ReproduceError, Reproduction, Section};

/// Frequency of equations 8 to 13.
const HERTZ: f64 = 1.497e9;
/// Equations 8 to 13: granularity, milliseconds per multiply-accumulate, milliseconds.
const LINES: [(u32, f64, f64); 6] = [
    (1, 1.661e-6, 8.734),
    (2, 1.059e-6, 5.682),
    (4, 7.915e-7, 3.707),
    (8, 7.171e-7, 4.557),
    (16, 7.001e-7, 4.997),
    (32, 9.775e-7, 2.7961),
];
/// Where the best granularity changes, from equations 10 to 13 (the paper shows it in figure 9 without numbers).
const CROSSOVERS: [f64; 3] = [4.90e6, 1.14e7, 2.59e7];
/// Equation 6: the line for granularity 1 at 900 MHz, in milliseconds.
const AT_900_MEGAHERTZ: (f64, f64, f64) = (0.9e9, 2.82e-6, 13.49);

/// A layer of table 1.
struct Layer {
    name: &'static str,
    input_maps: u64,
    output_maps: u64,
    size: u64,
    kernel: u64,
    printed_macs: u64,
    best: u32,
}

const LAYERS: [Layer; 5] = [
    layer("Inception_3a_3x3", [96, 128, 28, 3], 28_901_376, 8),
    layer("Inception_3b_3x3_reduce", [256, 128, 28, 1], 25_690_112, 16),
    layer("Inception_4c_1x1", [512, 128, 14, 1], 12_845_056, 4),
    layer("Inception_4e_1x1", [528, 256, 14, 1], 26_492_928, 16),
    layer("Inception_5b_3x3", [192, 384, 7, 3], 10_838_016, 4),
];

const fn layer(name: &'static str, shape: [u64; 4], printed_macs: u64, best: u32) -> Layer {
    let [input_maps, output_maps, size, kernel] = shape;
    Layer { name, input_maps, output_maps, size, kernel, printed_macs, best }
}

pub(crate) fn model() -> GranularityModel {
    let line = |(granularity, slope, intercept): (u32, f64, f64)| {
        (Granularity(granularity), Line::new(slope * 1e-3, intercept * 1e-3))
    };
    GranularityModel::new(HERTZ, LINES.map(line))
}

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    let model = model();
    let mut sections = vec![crossovers(&model), layers(&model), frequencies(&model)];
    sections.extend(networks::tables(&model)?);
    Ok(Reproduction {
        paper: "Motamedi et al., Machine Intelligence on Resource-Constrained IoT Devices (TECS 2017)".to_owned(),
        sections,
        figures: vec![figure(&model)?],
    })
}

fn crossovers(model: &GranularityModel) -> Section {
    let mut table = Table::new([
        ("from MACs", Align::Right),
        ("best granularity", Align::Right),
        ("crossover in the paper's lines", Align::Right),
        ("difference", Align::Right),
    ]);
    let mut claims = Vec::new();
    for (index, (from, granularity)) in model.regions().into_iter().enumerate() {
        let printed = index.checked_sub(1).and_then(|index| CROSSOVERS.get(index)).copied();
        let claim = printed.map(|at| Claim {
            what: format!("crossover to granularity {}", granularity.0),
            ours: from,
            paper: [at, at],
            tolerance: 0.005,
        });
        table.row([
            format!("{from:.3e}"),
            granularity.0.to_string(),
            printed.map_or("-".to_owned(), |at| format!("{at:.2e}")),
            claim.as_ref().map_or("-".to_owned(), |claim| millstream_report::percent(claim.difference())),
        ]);
        claims.extend(claim);
    }
    Section {
        title: "Equations 8-13, figure 9: the best granularity by work, at 1497 MHz".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec!["Granularities 1 and 2 are never the best, as the paper says.".to_owned()],
        claims,
    }
}

fn layers(model: &GranularityModel) -> Section {
    let mut table = Table::new([
        ("layer", Align::Left),
        ("MACs, eq. 5", Align::Right),
        ("MACs, printed", Align::Right),
        ("chosen, eq. 5", Align::Right),
        ("chosen, printed MACs", Align::Right),
        ("paper's measured best", Align::Right),
        ("loss by the lines", Align::Right),
    ]);
    let mut claims = Vec::new();
    for layer in &LAYERS {
        let macs = layer.input_maps * layer.size * layer.size * layer.kernel * layer.kernel * layer.output_maps;
        let chosen = |macs: u64| model.best(macs).map_or(0, |granularity| granularity.0);
        // What the paper's measured best would cost by the lines, beside the lines' own choice.
        let seconds =
            |granularity: u32| model.seconds(Granularity(granularity), layer.printed_macs).unwrap_or(f64::NAN);
        let loss = seconds(layer.best) / seconds(chosen(layer.printed_macs)) - 1.0;
        table.row([
            layer.name.to_owned(),
            macs.to_string(),
            layer.printed_macs.to_string(),
            chosen(macs).to_string(),
            chosen(layer.printed_macs).to_string(),
            layer.best.to_string(),
            millstream_report::percent(loss),
        ]);
        if layer.kernel == 1 {
            claims.push(Claim {
                what: format!("MACs of {}", layer.name),
                ours: macs as f64,
                paper: [layer.printed_macs as f64; 2],
                tolerance: 0.0,
            });
        }
    }
    Section {
        title: "Table 1: five layers of GoogLeNet and their granularity".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "The printed MACs of the 3x3 layers are a third of what equation 5 gives.".to_owned(),
            "The lines were fitted to all layers; where they choose otherwise than the measurements, they differ little: see \
             the last column."
                .to_owned(),
        ],
        claims,
    }
}

fn frequencies(model: &GranularityModel) -> Section {
    let (hertz, slope, intercept) = AT_900_MEGAHERTZ;
    let scaled = model.at_frequency(hertz);
    let mut table = Table::new([
        ("900 MHz, granularity 1", Align::Left),
        ("scaled from 1497 MHz (eq. 14)", Align::Right),
        ("fitted in the paper (eq. 6)", Align::Right),
        ("difference", Align::Right),
    ]);
    let line = scaled.lines().get(&Granularity(1)).copied().unwrap_or(Line::new(f64::NAN, f64::NAN));
    let mut claims = Vec::new();
    for (what, ours, paper) in [("ms per MAC", line.slope * 1e3, slope), ("ms", line.intercept * 1e3, intercept)] {
        let claim = Claim { what: what.to_owned(), ours, paper: [paper; 2], tolerance: 0.1 };
        table.row([
            what.to_owned(),
            format!("{ours:.3e}"),
            format!("{paper:.3e}"),
            millstream_report::percent(claim.difference()),
        ]);
        claims.push(claim);
    }
    Section {
        title: "Equation 14: scaling between frequencies".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec!["The paper expects such a scaling to be good enough for choosing, not to be exact.".to_owned()],
        claims,
    }
}

fn figure(model: &GranularityModel) -> Result<Figure, ReproduceError> {
    let points =
        |line: &Line| (0..=30).map(|step| f64::from(step) * 1e6).map(|macs| (macs, 1e3 * line.at(macs))).collect();
    let series = model
        .lines()
        .iter()
        .map(|(granularity, line)| Series { name: format!("granularity {}", granularity.0), points: points(line) })
        .collect();
    let plot = Plot {
        title: "Time by work and granularity, Nexus 5 at 1497 MHz (figure 9)",
        x: Axis { label: "multiply-accumulates", is_logarithmic: false },
        y: Axis { label: "ms", is_logarithmic: false },
        marks: Marks::Lines,
        series,
    };
    Ok(Figure { file: "granularity-figure-9.svg".to_owned(), svg: plot.to_svg()? })
}
