//! Tables 2, 3 and 5: whole networks with the finest and with the best granularity.

use millstream_graph::OperatorKind;
use millstream_predict::published::{Granularity, GranularityModel};
use millstream_report::{Align, Table, percent};

use crate::claim::Claim;
use crate::evidence::ClaimTolerance;
use crate::paper::ReproduceError;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// How much more power the proposed granularity draws (section 7.6.2, SqueezeNet).
const MORE_POWER: f64 = 1.14;

/// A mean time with its standard deviation, in milliseconds.
type Time = (f64, f64);

/// A network with a row of table 2 for each frequency.
struct Measured {
    name: &'static str,
    model: &'static str,
    /// With the finest and with the proposed granularity.
    nexus_5: [[Time; 2]; 3],
    /// The speedups with a free clock: table 2, rows 10 to 12, and with other programs running, table 3, rows 4 to 6.
    free: [f64; 2],
    /// Table 5, joules of a frame with the finest and with the proposed granularity.
    joules: Option<[f64; 2]>,
}

const HERTZ: [f64; 3] = [1497e6, 1574e6, 1728e6];

const NETWORKS: [Measured; 3] = [
    Measured {
        name: "GoogLeNet",
        model: "googlenet",
        nexus_5: [
            [(3267.0, 182.0), (1389.0, 116.0)],
            [(3088.0, 187.0), (1327.0, 118.0)],
            [(2839.0, 161.0), (1222.0, 107.0)],
        ],
        free: [2.37, 2.38],
        joules: Some([6.134, 3.424]),
    },
    Measured {
        name: "SqueezeNet",
        model: "squeezenet",
        nexus_5: [[(1883.0, 88.0), (866.0, 58.0)], [(1784.0, 75.0), (819.0, 48.0)], [(1628.0, 92.0), (744.0, 55.0)]],
        free: [2.18, 2.20],
        joules: Some([3.376, 1.757]),
    },
    Measured {
        name: "AlexNet",
        model: "alexnet",
        nexus_5: [[(1172.0, 34.0), (512.0, 33.0)], [(1143.0, 35.0), (488.0, 28.0)], [(1004.0, 31.0), (440.0, 23.0)]],
        free: [2.29, 2.36],
        joules: None,
    },
];

const SQUEEZENET: &str =
    "the paper does not say which version of SqueezeNet it runs, nor what its times contain beside convolutions";
const ONE_POWER: &str =
    "the paper prints the additional power of SqueezeNet only, and GoogLeNet's is taken to be the same";
const CLOCK: &str = "from 1497 to 1574 MHz, by 5 %, the printed time falls by 2.5 % only: equation 14 expects 4.9 %";

/// Multiply-accumulates of the convolutions.
fn convolutions(model: &str) -> Result<Vec<u64>, ReproduceError> {
    let model = millstream_zoo::build(model)?;
    let operators = model.graph().operators().iter();
    let convolutions = operators.filter(|operator| matches!(operator.kind, OperatorKind::Convolution(_)));
    Ok(convolutions.map(|operator| operator.work.macs).collect())
}

/// Milliseconds with the finest granularity, and with the best by the lines.
fn by_the_lines(model: &GranularityModel, macs: &[u64]) -> [f64; 2] {
    let milliseconds = |granularity: Granularity, macs: u64| 1e3 * model.seconds(granularity, macs).unwrap_or(f64::NAN);
    let finest = macs.iter().map(|&macs| milliseconds(Granularity(1), macs)).sum();
    let best = macs.iter().filter_map(|&macs| Some(milliseconds(model.best(macs)?, macs))).sum();
    [finest, best]
}

pub(super) fn tables(model: &GranularityModel) -> Result<Vec<Section>, ReproduceError> {
    Ok(vec![nexus_5(model)?, free_clock(model)?, energy(model)?])
}

fn nexus_5(model: &GranularityModel) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("MHz", Align::Right),
        ("finest ms: ours", Align::Right),
        ("paper's", Align::Right),
        ("difference", Align::Right),
        ("chosen ms: ours", Align::Right),
        ("paper's", Align::Right),
        ("difference", Align::Right),
        ("speedup: ours", Align::Right),
        ("paper's", Align::Right),
    ]);

    let mut claims = Vec::new();
    for network in &NETWORKS {
        let macs = convolutions(network.model)?;
        for (hertz, printed) in HERTZ.into_iter().zip(network.nexus_5) {
            let ours = by_the_lines(&model.at_frequency(hertz), &macs);
            let megahertz = format!("{:.0}", hertz / 1e6);
            let mut row = vec![network.name.to_owned(), megahertz.clone()];
            for ((what, ours), (mean, deviation)) in ["the finest", "the chosen"].into_iter().zip(ours).zip(printed) {
                row.extend([format!("{ours:.0}"), format!("{mean:.0} ± {deviation:.0}"), percent(ours / mean - 1.0)]);
                let what_time = format!("{} with {what} granularity at {megahertz} MHz, ms", network.name);
                let claim = Claim::number(what_time, ours, mean).within(ClaimTolerance::Stated(deviation / mean));
                claims.push(claim.because(missing_time(network.name, hertz, what)));
            }
            row.extend([format!("{:.2}", ours[0] / ours[1]), format!("{:.2}", printed[0].0 / printed[1].0)]);
            table.row(row);
        }
    }

    Ok(Section {
        item: PaperItem::Table(2),
        about: "networks on Nexus 5 with the finest and the chosen granularity".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "Ours are sums of the lines 8 to 13 over the convolutions of our networks, scaled by equation 14; allowed is the printed standard deviation."
                .to_owned(),
        ],
        claims,
    })
}

fn missing_time(network: &str, hertz: f64, granularity: &str) -> Option<&'static str> {
    match network {
        "SqueezeNet" => Some(SQUEEZENET),
        "AlexNet" if hertz == HERTZ[1] && granularity == "the finest" => Some(CLOCK),
        _ => None,
    }
}

/// With a clock that changes: by equation 14, speedups do not depend on it.
fn free_clock(model: &GranularityModel) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("speedup: ours", Align::Right),
        ("paper's, alone", Align::Right),
        ("paper's, with other programs", Align::Right),
    ]);
    let mut claims = Vec::new();
    for network in &NETWORKS {
        let [finest, best] = by_the_lines(model, &convolutions(network.model)?);
        let speedup = finest / best;
        let [alone, loaded] = network.free;
        table.row([network.name.to_owned(), format!("{speedup:.2}"), format!("{alone:.2}"), format!("{loaded:.2}")]);
        for (when, printed) in [("alone (table 2)", alone), ("with other programs (table 3)", loaded)] {
            claims.push(Claim::number(format!("speedup of {}, {when}", network.name), speedup, printed));
        }
    }
    Ok(Section {
        item: PaperItem::Table(3),
        about: "speedups on Nexus 5 with a free clock, rows 10 to 12 of table 2 and 4 to 6 of table 3".to_owned(),
        kind: Kind::Computed,
        table,
        notes: Vec::new(),
        claims,
    })
}

fn energy(model: &GranularityModel) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("finest J, paper's", Align::Right),
        ("chosen J, paper's", Align::Right),
        ("ratio, paper's", Align::Right),
        ("ratio, ours", Align::Right),
        ("difference", Align::Right),
    ]);

    let mut claims = Vec::new();
    for network in &NETWORKS {
        let Some([finest, proposed]) = network.joules else { continue };
        let ours = by_the_lines(model, &convolutions(network.model)?);
        let ratio = ours[0] / ours[1] / MORE_POWER;
        let what = format!("energy of {} with the finest over the chosen granularity", network.name);
        let reason = (network.name != "SqueezeNet").then_some(ONE_POWER);
        let claim = Claim::number(what, ratio, finest / proposed).because(reason);
        table.row([
            network.name.to_owned(),
            format!("{finest:.3}"),
            format!("{proposed:.3}"),
            format!("{:.2}", finest / proposed),
            format!("{ratio:.2}"),
            percent(claim.difference()),
        ]);
        claims.push(claim);
    }

    Ok(Section {
        item: PaperItem::Table(5),
        about: "energy of a frame with the finest and the chosen granularity".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![format!(
            "Ours: the ratio of times by the lines, over the {MORE_POWER} times as much power that section 7.6.2 prints for the chosen granularity."
        )],
        claims,
    })
}
