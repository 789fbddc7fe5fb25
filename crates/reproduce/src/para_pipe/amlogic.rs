//! Figures 2 and 10: Para-Pipe's choices on Khadas VIM3, with costs calibrated to what others measured on it.

use millstream_report::{Align, BarChart, Table};

use super::trade_offs;
use crate::paper::ReproduceError;
use crate::para_pipe::choices::{ASSUMPTIONS, Case, Choices};
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;

/// Figure 10, with what the text says of single networks.
pub(super) fn strategies(cases: &[Case]) -> Result<(Vec<Section>, Figure), ReproduceError> {
    let all: Vec<Choices> = cases.iter().map(Choices::of).collect::<Result<_, _>>()?;
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages", Align::Left),
        ("latency / para-only", Align::Right),
        ("throughput / para-only", Align::Right),
        ("frames/J / para-only", Align::Right),
    ]);

    let mut groups = Vec::new();
    for choices in &all {
        let rows = choices.rows();
        for (name, stages, measures) in &rows {
            let mut cells = vec![choices.network.name.to_owned(), (*name).to_owned(), stages.clone()];
            cells.extend(measures.iter().map(|value| format!("{value:.2}")));
            table.row(cells);
        }
        let bars = rows.iter().take(SERIES.len()).map(|(_, _, [_, _, efficiency])| *efficiency);
        groups.push((choices.network.name.to_owned(), bars.collect()));
    }

    let chart = BarChart {
        title: "Frames per joule over para-only, on a big cluster, a small one and a GPU (figure 10)",
        label: "frames/J / para-only",
        series: SERIES.map(str::to_owned).to_vec(),
        groups,
    };
    let figure = Figure { file: "para-pipe-figure-10.svg".to_owned(), svg: chart.to_svg()? };

    let section = Section {
        item: PaperItem::Figure(10),
        about: "Para-Pipe's choices on Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "As in the paper, no operator is divided by channels. HEFT and CPOP map the network as a whole, layer-switched runs one operator after the other. That hybrid-L is quicker than hybrid-T, hybrids better \
             than para-only in something, and the exact search at least as good as all, is so by the way they are chosen, and not counted."
                .to_owned(),
            ASSUMPTIONS.to_owned(),
        ],
        claims: trade_offs::claims(&all),
    };
    Ok((trade_offs::figure_2(&all).into_iter().chain([section]).collect(), figure))
}

const SERIES: [&str; 7] =
    ["layer-switched", "HEFT & CPOP", "pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced"];
