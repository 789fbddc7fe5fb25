//! What no pipeline of a searched space goes below.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{ClassId, CostTable};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{Chain, Subgraph, subgraphs};

use crate::certificate::{SearchedProof, TeamProof};
use crate::error::CertifyError;
use crate::network::NetworkBlocks;
use crate::reached::{Beginning, Reached, Ways};
use crate::single::{SingleWays, has_too_many_states};
use crate::space::Space;
use crate::stage_rates::{StageRates, possible};
use crate::team_costs::{BILLION, TeamCosts, rounded_down};
use crate::teams::names;
use crate::windows::{Window, windows};

/// Follows all pipelines of a space whose stages may pass frames more often than a period, by what each way to run a
/// stage takes at least, and looks whether they come to the end: below the period that is said to be the least they
/// must not.
///
/// A single processor takes what its operators take. A team takes, for each subgraph, at least the longest path through
/// it, and at least the work of its operators by the dual prices of the team's processors, each operator where it is
/// cheapest.
///
/// # Errors
/// [`CertifyError::Searched`] if the space or the dual prices are not valid, or if another period is the least.
pub fn check_searched(
    proof: &SearchedProof,
    network: NetworkBlocks<'_>,
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let wrong = |detail: String| CertifyError::Searched { detail };
    let rates = StageRates::new(network, board, table)
        .filter(|rates| !has_too_many_states(rates))
        .ok_or_else(|| wrong("the costs are of another board, or it has more states than can be checked".to_owned()))?;
    let space = Space::of(&rates);
    let mut ways = TeamWays::new(proof, network, board, (&rates, &space), table).map_err(wrong)?;
    let reached = Reached::by(&space, rates.blocks, &mut ways, proof.period_nanoseconds);
    if let Some(used) = reached.end() {
        return Err(wrong(format!("stages on {used:?} cores of the clusters may have a shorter period")));
    }
    if reached.is_end_possible() {
        Ok(())
    } else {
        Err(wrong("nothing that is proven here keeps it from being longer".to_owned()))
    }
}

/// The teams of a space and single processors, and the least that each takes.
struct TeamWays<'a> {
    space: &'a Space,
    rates: &'a StageRates<'a>,
    singles: SingleWays<'a>,
    teams: Vec<TeamWay>,
    /// Of each number of blocks, how many subgraphs have the same operators, if that is a whole number.
    subgraphs_until: Vec<Option<usize>>,
    /// By the senders, teams that there is room for beside them, and the least that each pays to take anything over.
    beside: HashMap<Vec<usize>, Rc<[(usize, u64)]>>,
    replicas: Replicas,
}

struct TeamWay {
    /// The number of the cores of each unit.
    size: usize,
    /// The least of the first so many subgraphs, and how many of these have an operator that no processor of the team
    /// runs.
    least_until: Vec<u64>,
    gaps_until: Vec<usize>,
    processors: Vec<ClassId>,
}

impl<'a> TeamWays<'a> {
    fn new(
        proof: &SearchedProof,
        NetworkBlocks { graph, chain }: NetworkBlocks<'_>,
        board: &Board,
        (rates, space): (&'a StageRates<'a>, &'a Space),
        table: &CostTable,
    ) -> Result<Self, String> {
        let teams = proof.teams.on(board, table).ok_or("its space has more teams than can be checked")?;
        let teams: Vec<Vec<ProcessorClass>> =
            teams.into_iter().filter(|team| team.iter().all(|class| table.find(class).is_some())).collect();
        let said = proof.dual_prices.iter().map(|team| &team.processors);
        if !teams.iter().map(|team| names(team)).eq(said.cloned()) {
            return Err(format!(
                "it speaks of {} teams, which are not the {} of its space, or not in alphabetical order",
                proof.dual_prices.len(),
                teams.len()
            ));
        }

        let subgraphs = subgraphs(graph);
        let windows = windows(graph, &subgraphs);
        let way = |(team, proof): (&Vec<ProcessorClass>, &TeamProof)| {
            TeamWay::new((team, proof), (&subgraphs, &windows), (rates, space), table)
        };
        let teams = teams.iter().zip(&proof.dual_prices).map(way).collect::<Result<_, _>>()?;
        let subgraphs_until = subgraphs_until(graph, chain, &subgraphs);
        let (singles, replicas) = (SingleWays::new(space, rates), Replicas::default());
        Ok(Self { space, rates, singles, teams, subgraphs_until, beside: HashMap::new(), replicas })
    }

    /// The teams that there is room for beside these senders, and the least that each pays to take anything over from
    /// them.
    fn beside(&mut self, Beginning { senders, sizes, .. }: Beginning<'_>) -> Rc<[(usize, u64)]> {
        if let Some(beside) = self.beside.get(senders) {
            return Rc::clone(beside);
        }
        let have_room = |(_, team): &(usize, &TeamWay)| sizes.binary_search(&team.size).is_ok();
        let hand_over = |(index, team): (usize, &TeamWay)| {
            let each = team.processors.iter().map(|&to| self.rates.least_hand_over(senders, to));
            (index, each.min().unwrap_or(0))
        };
        let beside: Rc<[(usize, u64)]> = self.teams.iter().enumerate().filter(have_room).map(hand_over).collect();
        self.beside.insert(senders.to_vec(), Rc::clone(&beside));
        beside
    }
}

impl Ways for TeamWays<'_> {
    fn periods(&mut self, beginning: Beginning<'_>, end: usize, periods: &mut [f64]) {
        let Beginning { start, sizes, .. } = beginning;
        let all = self.beside(beginning);
        let subgraphs = self.subgraphs_until[start].zip(self.subgraphs_until[end]);
        let time = |&(team, hand_over): &(usize, u64)| {
            let (team, (first, past)) = (&self.teams[team], subgraphs?);
            Some((team.size, team.time(first..past, if start == 0 { 0 } else { hand_over })?))
        };
        let teams = all.iter().filter_map(time);
        let least = &mut self.replicas.least;
        least.resize(self.space.sizes(), NEVER);
        sizes.iter().for_each(|&size| least[size] = NEVER);

        let occupied = self.rates.occupied_links(beginning.until(end));
        if !occupied.is_empty() {
            // Beside others, nobody knows what a team takes over a link.
            let is_alone = |size: usize| occupied.iter().any(|&unit| self.space.decode(size)[unit] > 0);
            let (alone, others): (Vec<_>, Vec<_>) = teams.partition(|(size, _)| is_alone(*size));
            self.singles.periods(beginning, end, periods);
            if !others.is_empty() {
                others.into_iter().for_each(|(size, time)| least[size] = least[size].min(time));
                self.replicas.periods_beside(self.space, sizes, periods);
            }
            alone.into_iter().for_each(|(size, time)| periods[size] = periods[size].min(time as f64));
            return;
        }

        let most = sizes.last().map_or(&[][..], |&all| self.space.decode(all));
        for (unit, &cores) in most.iter().enumerate() {
            for count in 1..=cores {
                let time = self.rates.least_time((unit, count), beginning.until(end));
                least[self.space.encode_one(unit, count)] = time.unwrap_or(NEVER);
            }
        }
        teams.for_each(|(size, time)| least[size] = least[size].min(time));
        self.replicas.periods(self.space, sizes, periods);
    }
}

/// No time at all.
const NEVER: u64 = u64::MAX;

/// Replicas of one stage, by the numbers of their cores.
#[derive(Default)]
struct Replicas {
    /// The least time on just these cores.
    least: Vec<u64>,
    /// The least time on these cores or some of them.
    quickest: Vec<u64>,
    /// Frames per nanosecond of all replicas together.
    rate: Vec<f64>,
    /// Cores and frames per nanosecond of those that are of use.
    ways: Vec<(usize, f64)>,
}

impl Replicas {
    /// The periods of replicas that each take so long on theirs.
    fn periods(&mut self, space: &Space, sizes: &[usize], periods: &mut [f64]) {
        // Who is no quicker than somebody with fewer cores is of no use.
        self.quickest.resize(space.sizes(), NEVER);
        self.quickest[0] = NEVER;
        self.ways.clear();
        for &size in sizes {
            let (quickest, fewer) = (self.least[size], space.one_fewer(size).map(|fewer| self.quickest[fewer]));
            let fewer = fewer.min().unwrap_or(NEVER);
            if quickest < fewer {
                self.ways.push((size, 1.0 / quickest.max(1) as f64));
            }
            self.quickest[size] = quickest.min(fewer);
        }

        self.rate.resize(space.sizes(), 0.0);
        for &size in sizes {
            let among = self.ways.iter().take_while(|(used, _)| *used <= size);
            let with = |&(used, more): &(usize, f64)| match size - used {
                0 => Some(more),
                others => {
                    Some(self.rate[others] + more).filter(|_| space.contains(size, used) && self.rate[others] > 0.0)
                }
            };
            let rate = among.filter_map(with).fold(0.0, f64::max);
            self.rate[size] = rate;
            periods[size] = if rate > 0.0 { 1.0 / rate } else { f64::INFINITY };
        }
    }

    /// As [`Replicas::periods`], where single processors may have some of the cores: `periods` has theirs, and gets
    /// those of both together.
    fn periods_beside(&mut self, space: &Space, sizes: &[usize], periods: &mut [f64]) {
        let others: Vec<f64> = periods.iter().map(|period| 1.0 / period).collect();
        self.periods(space, sizes, periods);
        let able: Vec<usize> = sizes.iter().copied().filter(|&size| self.rate[size] > 0.0).collect();
        for &size in sizes {
            let among = able.iter().take_while(|used| **used < size).filter(|&&used| space.contains(size, used));
            let beside = among.map(|&used| self.rate[used] + others[size - used]);
            let most = beside.fold(self.rate[size].max(others[size]), f64::max);
            periods[size] = if most > 0.0 { 1.0 / most } else { f64::INFINITY };
        }
    }
}

impl TeamWay {
    fn new(
        (team, proof): (&[ProcessorClass], &TeamProof),
        (subgraphs, windows): (&[Subgraph], &[Window]),
        (rates, space): (&StageRates<'_>, &Space),
        table: &CostTable,
    ) -> Result<Self, String> {
        let processors: Vec<ClassId> = team.iter().filter_map(|class| table.find(class)).collect();
        let label = || names(team).join("+");
        if proof.subgraphs.len() != windows.len() {
            return Err(format!("it knows {} subgraphs of {}, not {}", proof.subgraphs.len(), label(), windows.len()));
        }
        let all = proof.subgraphs.iter().chain([&proof.tiles]).filter(|parts| !parts.is_empty());
        for parts in all {
            let sum: u128 = parts.iter().map(|parts| u128::from(*parts)).sum();
            if parts.len() != team.len() || sum != u128::from(BILLION) {
                return Err(format!("what the time of {} is worth is no billion parts for its processors", label()));
            }
        }

        let costs = TeamCosts { table, processors: &processors };
        let makes_tiles = |processor: &&ClassId| table.operator_ids().any(|id| table.rows(**processor, id).is_some());
        let has_tiles = processors.iter().filter(makes_tiles).count() > 1;

        let (mut least_until, mut gaps_until) = (vec![0_u64], vec![0]);
        for (subgraph, (window, parts)) in subgraphs.iter().zip(windows.iter().zip(&proof.subgraphs)) {
            let is_tiled = has_tiles && window.may_be_tiled;
            let priced_work = |parts: &[u64]| costs.priced_work(window.operators.iter(), parts) as f64;
            let least = if is_tiled {
                priced_work(&proof.tiles)
            } else {
                costs.path(&window.operators).max(priced_work(parts))
            };
            least_until
                .push(least_until[least_until.len() - 1].saturating_add(rounded_down(least, window.operators.len())));

            let runs = |id: OperatorId| processors.iter().any(|&processor| table.time(processor, id).is_some());
            let is_gap = !subgraph.operators().all(runs);
            gaps_until.push(gaps_until[gaps_until.len() - 1] + usize::from(is_gap));
        }
        Ok(Self { size: space.encode(&rates.cores_of(team)), least_until, gaps_until, processors })
    }

    /// The least time of a stage of these subgraphs; `None` if the team can't run it.
    fn time(&self, subgraphs: Range<usize>, hand_over: u64) -> Option<u64> {
        if self.gaps_until[subgraphs.end] > self.gaps_until[subgraphs.start] {
            return None;
        }
        possible((self.least_until[subgraphs.end] - self.least_until[subgraphs.start]).saturating_add(hand_over))
    }
}

/// Of each number of blocks, how many subgraphs have the same operators, if that is a whole number.
fn subgraphs_until(graph: &Graph, chain: &Chain, subgraphs: &[Subgraph]) -> Vec<Option<usize>> {
    let mut subgraph_of = vec![0; graph.operators().len()];
    let mut sizes = vec![0_usize];
    for (index, subgraph) in subgraphs.iter().enumerate() {
        subgraph.operators().for_each(|id| subgraph_of[id.index()] = index);
        sizes.push(sizes[index] + subgraph.operators().count());
    }
    let (mut operators, mut past) = (0, 0);
    let after = chain.blocks().iter().map(|block| {
        operators += block.operators.len();
        past = block.operators.iter().map(|id| subgraph_of[id.index()] + 1).fold(past, usize::max);
        (sizes.get(past) == Some(&operators)).then_some(past)
    });
    std::iter::once(Some(0)).chain(after).collect()
}
