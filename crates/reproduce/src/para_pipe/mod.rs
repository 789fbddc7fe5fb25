//! Para-Pipe: subgraphs of its networks, mapping them, and its choices among stage configurations on two boards.

mod amlogic;
mod baselines;
mod bst;
mod co_execution;
mod solving;
mod strategies;
mod structure;
mod table_2;
mod trade_offs;

use crate::{LeftOut, ReproduceError, Reproduction, Selection};

/// A network of tables I and III: name, ours, subgraphs, parallelism, operators, and what solving took.
struct Network {
    name: &'static str,
    model: &'static str,
    subgraphs: usize,
    parallelism: usize,
    operators: usize,
    minutes: &'static str,
    /// Whether ours was built so that it has these sizes: the paper does not describe its transformers operator by operator.
    is_made_to_size: bool,
}

const NETWORKS: [Network; 6] = [
    network("GoogLeNet", "googlenet", [11, 4, 141], "< 1"),
    network("Inception-v3", "inception-v3", [13, 6, 220], "4"),
    network("Inception-v4", "inception-v4", [21, 6, 343], "4"),
    network("Inception-ResNet-v2", "inception-resnet-v2", [45, 4, 576], "< 1"),
    made_to_size("PETR-based", "petr-like", [24, 16, 337], "361"),
    made_to_size("BEVFormer-based", "bevformer-like", [25, 4, 257], "< 1"),
];

const fn network(name: &'static str, model: &'static str, counts: [usize; 3], minutes: &'static str) -> Network {
    let [subgraphs, parallelism, operators] = counts;
    Network { name, model, subgraphs, parallelism, operators, minutes, is_made_to_size: false }
}

const fn made_to_size(name: &'static str, model: &'static str, counts: [usize; 3], minutes: &'static str) -> Network {
    Network { is_made_to_size: true, ..network(name, model, counts, minutes) }
}

const LEFT_OUT: [LeftOut; 5] = [
    LeftOut {
        what: "Table III, minutes",
        reason: "of another machine and another solver; the fine-grained program as published is run by the benchmarks of `mapping`, since large \
                 subgraphs take it longer than a table should",
    },
    LeftOut { what: "Table IV", reason: "compares frameworks in words" },
    LeftOut { what: "Figures 1, 3, 4 and 6 to 9", reason: "sketches, photographs and a scatter without numbers" },
    LeftOut {
        what: "Figure 5, and the errors of section V-B",
        reason: "errors of the paper's estimates, whose times of operators are not printed",
    },
    LeftOut {
        what: "Figure 13, synchronisation and overhead of the program",
        reason: "of the paper's runtime, measured; no cost here has them",
    },
];

pub(crate) fn reproduce(selection: Selection) -> Result<Reproduction, ReproduceError> {
    let mut sections = Vec::new();
    if selection.wants_table(1) {
        sections.push(structure::section()?);
    }
    if selection.wants_table(3) {
        sections.push(solving::section()?);
    }

    let mut figures = Vec::new();
    if selection.wants_table(2) || selection.wants_figure(11) {
        let (found, figure) = strategies::strategies()?;
        sections.extend(found);
        figures.push(figure);
    }

    if [2, 10, 12, 13].into_iter().any(|number| selection.wants_figure(number)) {
        let cases = amlogic::cases()?;
        if selection.wants_figure(2) || selection.wants_figure(10) {
            let (found, figure) = amlogic::strategies(&cases)?;
            sections.extend(found);
            figures.push(figure);
        }
        if selection.wants_figure(12) {
            let (section, figure) = co_execution::together(&cases)?;
            sections.push(section);
            figures.push(figure);
        }
        if selection.wants_figure(13) {
            sections.push(co_execution::granularities(&cases)?);
        }
    }

    Ok(Reproduction {
        paper:
            "Zhang et al., Para-Pipe: Exploiting Hierarchical Operator Parallelism of ML Computational Graphs on SoCs"
                .to_owned(),
        sections,
        figures,
        left_out: LEFT_OUT.to_vec(),
    })
}
