//! Shisha: searches compared on simulated chiplet systems.

mod all_systems;
mod case;
mod convergence;
mod guided;
mod latency;
mod optimality;
mod searches;
mod seeds;
mod sensitivity;
mod systems;

use crate::paper::ReproduceError;
use crate::report::{LeftOut, Reproduction};
use crate::selection::Selection;

const LEFT_OUT: [LeftOut; 3] = [
    LeftOut {
        what: "Table 1 and table 2",
        reason: "list what is simulated and name heuristics; there is nothing to compute",
    },
    LeftOut { what: "Figures 1 and 2", reason: "a memory benchmark as measured on a Knights Landing" },
    LeftOut {
        what: "Figure 4, throughputs of annealing and climbing",
        reason: "the text prints 0.80 and 0.94 without saying which search reaches which",
    },
];

pub(crate) fn reproduce(selection: Selection) -> Result<Reproduction, ReproduceError> {
    let mut sections = Vec::new();
    let mut figures = Vec::new();
    let wanted = |number| selection.wants_figure(number);
    let mut add = |(section, figure)| {
        sections.push(section);
        figures.extend(figure);
    };

    if selection.wants_table(3) {
        add((all_systems::section()?, None));
    }
    if wanted(4) {
        add(convergence::section()?);
    }
    if wanted(5) {
        add(optimality::section()?);
    }
    if wanted(6) {
        add(seeds::seeds()?);
    }
    if wanted(7) {
        add(sensitivity::heuristics()?);
    }
    if wanted(8) {
        add(sensitivity::convergence_of_two()?);
    }
    if wanted(9) {
        add(latency::latency()?);
    }
    if selection.is_everything() {
        add((guided::guided()?, None));
    }

    Ok(Reproduction {
        paper: "Soomro et al., Shisha: Online scheduling of CNN pipelines on heterogeneous architectures (2022)"
            .to_owned(),
        sections,
        figures,
        slowdowns: Vec::new(),
        left_out: LEFT_OUT.to_vec(),
    })
}
