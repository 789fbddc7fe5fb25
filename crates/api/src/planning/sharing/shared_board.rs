//! Networks on a board that they share, as the problems that searches are given.

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_pipeline::{Problem, Sharing, TeamSpace, Tenant};
use millstream_schedule::{Schedule, ScheduleError, check_memory_together};

use super::network_share::NetworkShare;
use crate::error::Error;
use crate::network::Network;
use crate::plans::timed::with_what_has_times;

/// A board with the networks that share it.
pub(super) struct SharedBoard<'a> {
    pub(super) board: &'a Board,
    pub(super) networks: Vec<SharedNetwork<'a>>,
}

/// A network that shares a board, with what it costs there and what is wanted of it.
pub(super) struct SharedNetwork<'a> {
    pub(super) network: &'a Network,
    pub(super) table: &'a CostTable,
    pub(super) share: &'a NetworkShare,
}

/// Whether several processors may work on one frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum Teams {
    With,
    Without,
}

impl<'a> SharedBoard<'a> {
    /// The networks with costs and a share for each.
    pub(super) fn new(
        board: &'a Board,
        networks: &'a [Network],
        tables: &'a [CostTable],
        shares: &'a [NetworkShare],
    ) -> Self {
        let all = networks.iter().zip(tables).zip(shares);
        let networks = all.map(|((network, table), share)| SharedNetwork { network, table, share }).collect();
        Self { board, networks }
    }

    /// The search's problem of each network on the whole board.
    pub(super) fn problems(&self, teams: Teams) -> Result<Vec<Problem>, Error> {
        self.networks.iter().map(|shared| shared.problem(self.board, teams)).collect()
    }

    /// The same on a board for each, which differ only in what memory accelerators have.
    pub(super) fn problems_on(&self, boards: &[Board], teams: Teams) -> Result<Vec<Problem>, Error> {
        self.networks.iter().zip(boards).map(|(shared, board)| shared.problem(board, teams)).collect()
    }

    /// The networks as searches for ways to share see them.
    pub(super) fn tenants<'p>(&'p self, problems: &'p [Problem]) -> Vec<Tenant<'p>> {
        let tenant = |(shared, problem): (&SharedNetwork<'p>, &'p Problem)| Tenant {
            name: shared.network.name(),
            problem,
            weight: shared.share.weight,
            deadline: shared.share.planned_deadline().map(Nanoseconds::from),
        };
        self.networks.iter().zip(problems).map(tenant).collect()
    }

    /// Whether what all networks hold fits into the memories together.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn check_memory(&self, sharing: &Sharing) -> Result<(), ScheduleError> {
        let graphs = self.networks.iter().map(|shared| &**shared.network.graph());
        let schedules: Vec<(&Schedule, &Graph)> = sharing.schedules.iter().zip(graphs).collect();
        check_memory_together(&schedules, self.board)
    }
}

impl SharedNetwork<'_> {
    fn problem(&self, board: &Board, teams: Teams) -> Result<Problem, Error> {
        let (graph, chain) = (self.network.graph(), self.network.chain());
        let board = &with_what_has_times(board, self.table);
        let searched = self.table.within_memory_of(board, graph);
        let teams = match teams {
            Teams::With => TeamSpace::of(board).teams(board),
            Teams::Without => Vec::new(),
        };
        Ok(Problem::with_teams(graph, chain, board, &searched, &teams)?)
    }
}
