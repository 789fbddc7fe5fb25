//! Para-Pipe: subgraphs of its networks, mapping them, and its choices among stage configurations on two boards.

mod amlogic;
mod baselines;
mod bst;
mod choices;
mod chosen;
mod co_execution;
mod networks;
mod solving;
mod strategies;
mod structure;
mod table_2;
mod trade_offs;

use crate::paper::ReproduceError;
use crate::report::{LeftOut, Reproduction};
use crate::selection::Selection;

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
    let (mut sections, mut slowdowns) = (Vec::new(), Vec::new());
    if selection.wants_table(1) {
        sections.push(structure::section()?);
    }
    if selection.wants_table(3) {
        let (section, compared) = solving::section()?;
        sections.push(section);
        slowdowns = compared;
    }

    let mut figures = Vec::new();
    if selection.wants_table(2) || selection.wants_figure(11) {
        let (found, figure) = strategies::strategies()?;
        sections.extend(found);
        figures.push(figure);
    }

    if [2, 10, 12, 13].into_iter().any(|number| selection.wants_figure(number)) {
        let cases = choices::cases()?;
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
        slowdowns,
        left_out: LEFT_OUT.to_vec(),
    })
}
