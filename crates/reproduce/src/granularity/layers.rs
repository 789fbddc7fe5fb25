//! Table 1: five layers, their work, and the granularity that the lines choose for them.

use millstream_graph::{Graph, OperatorKind};
use millstream_predict::published::{Granularity, GranularityModel};
use millstream_report::{Align, Table};

use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// A layer of table 1, and why the lines choose another granularity than the best as measured, where they do.
struct Layer {
    name: &'static str,
    input_maps: usize,
    output_maps: usize,
    /// Width and height of the input maps.
    size: usize,
    kernel: usize,
    printed_macs: u64,
    best: u32,
    reason: Option<&'static str>,
}

const NEAR: Option<&str> = Some("by the lines the printed best takes less than 1 % longer than what they choose");

const LAYERS: [Layer; 5] = [
    layer("Inception_3a_3x3", [96, 128, 28, 3], 28_901_376, (8, NEAR)),
    layer("Inception_3b_3x3_reduce", [256, 128, 28, 1], 25_690_112, (16, NEAR)),
    layer("Inception_4c_1x1", [512, 128, 14, 1], 12_845_056, (4, NEAR)),
    layer("Inception_4e_1x1", [528, 256, 14, 1], 26_492_928, (16, None)),
    layer("Inception_5b_3x3", [192, 384, 7, 3], 10_838_016, (4, None)),
];

const fn layer(
    name: &'static str,
    shape: [usize; 4],
    printed_macs: u64,
    (best, reason): (u32, Option<&'static str>),
) -> Layer {
    let [input_maps, output_maps, size, kernel] = shape;
    Layer { name, input_maps, output_maps, size, kernel, printed_macs, best, reason }
}

impl Layer {
    /// Multiply-accumulates of the layer of our network that has these channels, this kernel, and as many pixels.
    fn macs(&self, network: &Graph) -> Option<u64> {
        let is_this = |kind: &OperatorKind| match kind {
            OperatorKind::Convolution(convolution) => {
                convolution.input_channels == self.input_maps
                    && convolution.output_channels == self.output_maps
                    && convolution.kernel == [self.kernel; 2]
            }
            _ => false,
        };
        let has_size = |pixels: u64| pixels == (self.size * self.size) as u64;
        let mut found = network.operators().iter().filter(|operator| is_this(&operator.kind));
        found.find(|operator| operator.work.gemm.is_some_and(|shape| has_size(shape.n))).map(|found| found.work.macs)
    }
}

pub(super) fn section(model: &GranularityModel) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("layer", Align::Left),
        ("MACs, ours", Align::Right),
        ("MACs, printed", Align::Right),
        ("chosen, our MACs", Align::Right),
        ("chosen, printed MACs", Align::Right),
        ("paper's measured best", Align::Right),
        ("loss by the lines", Align::Right),
    ]);

    let network = millstream_zoo::build("googlenet")?;
    let (mut work, mut choices) = (Vec::new(), Vec::new());
    for layer in &LAYERS {
        let macs = layer.macs(network.graph()).unwrap_or_default();
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
        let third = (layer.kernel == 3).then_some("an erratum: the printed number is a third of what equation 5 gives");
        work.push(
            Claim::count(format!("MACs of {}", layer.name), macs as usize, layer.printed_macs as usize).because(third),
        );
        let what = format!("granularity for {}", layer.name);
        let (ours, paper) = (chosen(layer.printed_macs).to_string(), layer.best.to_string());
        choices.push(Claim::choice(what, ours, paper).because(layer.reason));
    }

    Ok(Section {
        item: PaperItem::Table(1),
        about: "five layers of GoogLeNet and their granularity".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "The last column: how much longer the measured best takes by the lines than their own choice.".to_owned(),
        ],
        claims: work.into_iter().chain(choices).collect(),
    })
}
