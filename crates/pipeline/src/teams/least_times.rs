//! The least that several processors together need for each subgraph, whichever way they share it.

use millstream_cost::{ClassId, CostTable, Nanoseconds};

use crate::teams::longest_path::ROUNDING;
use crate::teams::team_costs::TeamCosts;
use crate::teams::windows::{Window, WindowOperator, Windows};

/// Lower bounds on a team's time for each subgraph, and the dual prices that prove them.
#[derive(Debug)]
pub(crate) struct LeastTimes {
    /// Per subgraph.
    pub(crate) subgraphs: Vec<LeastTime>,
    /// The dual prices for all subgraphs that may be divided into tiles, in billionths; empty if there are none.
    pub(crate) tile_prices: Vec<u64>,
}

/// A lower bound on a team's time for a subgraph.
#[derive(Debug)]
pub(crate) struct LeastTime {
    pub(crate) time: Nanoseconds,
    /// The dual price of each processor's time, in billionths of the price of all; empty where the longest path is a
    /// bound that is no lower, and where the prices for all subgraphs that may be divided into tiles prove it.
    pub(crate) dual_prices: Vec<u64>,
}

impl Windows {
    /// The least time that these processors need for each subgraph's window.
    pub(crate) fn least_times(&self, table: &CostTable, class_ids: &[ClassId]) -> LeastTimes {
        let team = TeamCosts { table, class_ids };
        let have_tiles = team.have_tiles();
        let is_tiled = |window: &&Window| window.may_be_tiled && have_tiles;
        // Tiles of several subgraphs run on without waiting for each other, so that all of them count with the same
        // prices.
        let tiled: Vec<&WindowOperator> = self.0.iter().filter(is_tiled).flat_map(|window| &window.operators).collect();
        let tile_prices = if tiled.is_empty() { Vec::new() } else { team.dual_prices(&tiled) };
        let least = |window: &Window| {
            if is_tiled(&window) { team.least_tiled_time(window, &tile_prices) } else { team.least_time(window) }
        };
        LeastTimes { subgraphs: self.0.iter().map(least).collect(), tile_prices }
    }
}

impl TeamCosts<'_> {
    /// The larger of the bounds by the longest path and by load.
    fn least_time(&self, window: &Window) -> LeastTime {
        let operators: Vec<&WindowOperator> = window.operators.iter().collect();
        let (path, dual_prices) = (self.longest_path(&window.operators), self.dual_prices(&operators));
        let load = self.load(&operators, &dual_prices).0 as f64;
        if load > path {
            LeastTime { time: rounded_down(load, window), dual_prices }
        } else {
            LeastTime { time: rounded_down(path, window), dual_prices: Vec::new() }
        }
    }

    /// The bound by load of a window that may be divided into tiles, with prices that hold for all of these.
    fn least_tiled_time(&self, window: &Window, tile_prices: &[u64]) -> LeastTime {
        let operators: Vec<&WindowOperator> = window.operators.iter().collect();
        let load = self.load(&operators, tile_prices).0 as f64;
        LeastTime { time: rounded_down(load, window), dual_prices: Vec::new() }
    }
}

/// A bound in whole nanoseconds, lower by what sums and the times of each operator's parts may be rounded up by.
fn rounded_down(least: f64, window: &Window) -> Nanoseconds {
    Nanoseconds((least * (1.0 - 1e-9) - ROUNDING * window.operators.len() as f64).max(0.0) as u64)
}
