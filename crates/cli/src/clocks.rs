//! Clocks that a schedule wants clusters to have.

use std::path::Path;

use anyhow::Result;
use millstream_board::Board;
use millstream_cost::{Clocks, CostTable, clock_combinations};
use millstream_pipeline::{ClockedPlan, Objective, Plan, choose, clocked_front};

use crate::model::Network;
use crate::output;
use crate::planning::{Aim, ENERGY_TOLERANCE};

/// Operating points of a cluster that are looked at.
const MOST_POINTS: usize = 6;

/// Finds the clocks with which an objective is served best, together with the front over all clocks.
pub(crate) fn choose_clocks(
    network: &Network,
    board: &Board,
    table: &CostTable,
    objective: Objective,
    aim: Aim,
) -> Result<(Clocks, Vec<ClockedPlan>)> {
    let combinations = clock_combinations(board, MOST_POINTS);
    let graph: &millstream_graph::Graph = network.model.graph();
    let ground = (graph, &network.chain, board, table);
    let front = clocked_front(ground, &combinations, &aim.constraints, ENERGY_TOLERANCE)?;
    let plans: Vec<&Plan> = front.iter().map(|own| &own.plan).collect();
    let best = choose(&plans, objective).and_then(|index| front.get(index));
    Ok((best.map(|own| own.clocks.clone()).unwrap_or_default(), front))
}

/// Clocks for people, such as `B 1.40 GHz, s 1.80 GHz`.
pub(crate) fn text(clocks: &Clocks) -> String {
    let own = |(label, hertz): (&String, &u64)| format!("{label} {:.2} GHz", *hertz as f64 * 1e-9);
    clocks.iter().map(own).collect::<Vec<_>>().join(", ")
}

/// Says what to do where the machine's clocks are not as a schedule wants them; setting them needs rights that we may not have.
pub(crate) fn check(clocks: &Clocks, board: &Board) {
    for (label, &hertz) in clocks {
        let Ok(cluster) = board.cluster(label) else { continue };
        for core in &cluster.cores {
            let file = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_max_freq", core.id);
            let limit = std::fs::read_to_string(Path::new(&file)).ok().and_then(|text| text.trim().parse::<u64>().ok());
            let is_there = limit.is_some_and(|kilohertz| kilohertz.abs_diff(hertz / 1000) <= hertz / 100_000);
            if !is_there {
                output::remark(format!(
                    "the schedule is for cores of {label} at {:.2} GHz; as root: echo {} > {file}",
                    hertz as f64 * 1e-9,
                    hertz / 1000
                ));
            }
        }
    }
}
