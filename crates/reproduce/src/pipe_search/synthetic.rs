//! Table 7: the synthetic networks, by the weights of their layers alone.

use millstream_report::{Align, Table};
use millstream_tune::coefficient_of_variation;

use super::data::SYNTHETIC;
use crate::claim::Claim;
use crate::evidence::ClaimTolerance;
use crate::pipe_search::ranks::{rank_claim, ranks, shown};
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Divisions whose variation is printed a digit too low.
const CUT_OFF: [&[usize]; 2] = [&[4, 1, 1, 1], &[7, 4, 2]];

pub(super) fn section() -> Section {
    let mut table = Table::new([
        ("network", Align::Left),
        ("division", Align::Left),
        ("variation", Align::Right),
        ("paper's", Align::Right),
        ("rank", Align::Right),
        ("paper's", Align::Right),
    ]);

    let mut claims = Vec::new();
    for network in &SYNTHETIC {
        let seeds = network.seeds.iter().map(|seed| (*seed, 1, Some(network.seed_variation)));
        let optima = network.optima.iter().map(|optimum| (optimum.layers, optimum.rank, optimum.variation));
        for (layers, printed_rank, printed_variation) in seeds.chain(optima) {
            let variation = 100.0 * coefficient_of_variation(network.weights, layers);
            let ours = ranks(network.weights, layers);
            table.row([
                network.name.to_owned(),
                format!("{layers:?}"),
                format!("{variation:.1} %"),
                printed_variation.map_or("-".to_owned(), |printed| format!("{printed} %")),
                shown(ours),
                printed_rank.to_string(),
            ]);
            let of = format!("{layers:?}, {}", network.name);
            if let Some(printed) = printed_variation {
                let half = if printed.fract() == 0.0 { 0.5 } else { 0.05 };
                let what = format!("variation of {of}, per cent");
                claims.push(Claim::number(what, variation, printed).within(ClaimTolerance::Rounding(half)).because(
                    CUT_OFF.contains(&layers).then_some("the paper cuts digits off where it should round up"),
                ));
            }
            claims.push(rank_claim(&of, ours, printed_rank));
        }
    }

    Section {
        item: PaperItem::Table(7),
        about: "seeds and optima of the synthetic networks".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "Divisions that are equally even share their ranks: of these, the one nearest to the printed rank is compared.".to_owned(),
            "Both columns of the paper are measured optima; it prints only one governor setting's name.".to_owned(),
        ],
        claims,
    }
}
