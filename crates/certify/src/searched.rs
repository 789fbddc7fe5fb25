//! What no pipeline of a searched space goes below.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::Graph;
use millstream_partition::{Chain, Subgraph, subgraphs};

use crate::single::{Reached, has_too_many_states, is_rounded_below, quick_sizes};
use crate::space::Space;
use crate::stage_rates::{StageRates, possible};
use crate::team_costs::{BILLION, TeamCosts, rounded_down};
use crate::teams::names;
use crate::windows::{Window, windows};
use crate::{CertifyError, SearchedProof, TeamWorths};

/// Follows all pipelines of a space whose stages may pass frames more often than a period, by what each way to run a stage takes at least, and
/// looks whether they come to the end: below the period that is said to be the least they must not.
///
/// A single processor takes what its operators take. A team takes, for each subgraph, the longest path through it, or what its operators are
/// worth by what the time of the team's processors is said to be worth.
///
/// # Errors
/// [`CertifyError::Searched`] if the space or the worths are not such, or if another period is the least.
pub fn check_searched(
    proof: &SearchedProof,
    (graph, chain): (&Graph, &Chain),
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let wrong = |detail: String| CertifyError::Searched { detail };
    let rates = StageRates::new(graph, chain, board, table)
        .filter(|rates| !has_too_many_states(rates))
        .ok_or_else(|| wrong("the costs are of another board, or it has more states than can be checked".to_owned()))?;
    let space = Space::of(&rates);
    let ways = TeamWays::new(proof, (graph, chain), board, (&rates, &space), table).map_err(wrong)?;
    let quick = |period: u64| {
        let (ways, space, rates, below) = (&ways, &space, &rates, Nanoseconds(period));
        move |senders: &[usize], start, end| ways.quick_sizes(space, rates, (senders, start, end), below)
    };
    if let Some(used) = Reached::new(&space, &rates, quick(proof.period_nanoseconds)).end() {
        return Err(wrong(format!("stages on {used:?} cores of the clusters may have a shorter period")));
    }
    match Reached::is_end(&space, &rates, quick(proof.period_nanoseconds.saturating_add(1))) {
        true => Ok(()),
        false => Err(wrong("nothing that is proven here keeps it from being longer".to_owned())),
    }
}

/// The teams of a space, and the least that each takes.
struct TeamWays {
    teams: Vec<TeamWay>,
    /// Of each number of blocks, how many subgraphs have the same operators, if that is a whole number.
    subgraphs_until: Vec<Option<usize>>,
    /// By the senders, the least that each team pays to take anything over.
    hand_overs: RefCell<HashMap<Vec<usize>, Rc<[u64]>>>,
}

struct TeamWay {
    /// The number of the cores of each unit.
    size: usize,
    /// The least of the first so many subgraphs, and how many of these have an operator that no processor of the team runs.
    least_until: Vec<u64>,
    gaps_until: Vec<usize>,
    processors: Vec<ProcessorIndex>,
}

impl TeamWays {
    fn new(
        proof: &SearchedProof,
        (graph, chain): (&Graph, &Chain),
        board: &Board,
        (rates, space): (&StageRates<'_>, &Space),
        table: &CostTable,
    ) -> Result<Self, String> {
        let teams = proof.teams.on(board, table).ok_or("its space has more teams than can be checked")?;
        let known: Vec<Vec<ProcessorClass>> =
            teams.into_iter().filter(|team| team.iter().all(|class| table.find(class).is_some())).collect();
        let said = proof.worths.iter().map(|own| &own.processors);
        if !known.iter().map(|team| names(team)).eq(said.cloned()) {
            return Err(format!(
                "it speaks of {} teams, which are not the {} of its space",
                proof.worths.len(),
                known.len()
            ));
        }

        let subgraphs = subgraphs(graph);
        let windows = windows(graph, &subgraphs);
        let way = |(team, worths): (&Vec<ProcessorClass>, &TeamWorths)| {
            TeamWay::new((team, worths), (&subgraphs, &windows), (rates, space), table)
        };
        let teams = known.iter().zip(&proof.worths).map(way).collect::<Result<_, _>>()?;
        let subgraphs_until = subgraphs_until(graph, chain, &subgraphs);
        Ok(Self { teams, subgraphs_until, hand_overs: RefCell::default() })
    }

    /// The least that each team pays to take anything over from these senders.
    fn hand_overs(&self, rates: &StageRates<'_>, senders: &[usize]) -> Rc<[u64]> {
        if let Some(known) = self.hand_overs.borrow().get(senders) {
            return Rc::clone(known);
        }
        let of_team = |team: &TeamWay| team.processors.iter().map(|&to| rates.least_hand_over(senders, to)).min();
        let own: Rc<[u64]> = self.teams.iter().map(|team| of_team(team).unwrap_or(0)).collect();
        self.hand_overs.borrow_mut().insert(senders.to_vec(), Rc::clone(&own));
        own
    }

    /// The numbers of cores on which a range of blocks may pass frames with a period that is rounded to less than a given one.
    fn quick_sizes(
        &self,
        space: &Space,
        rates: &StageRates<'_>,
        (senders, start, end): (&[usize], usize, usize),
        below: Nanoseconds,
    ) -> Vec<usize> {
        let hand_overs = self.hand_overs(rates, senders);
        let time = |(team, hand_over): (&TeamWay, &u64)| {
            let own = self.subgraphs_until[start]?..self.subgraphs_until[end]?;
            team.time(own, if start == 0 { 0 } else { *hand_over })
        };
        let all = self.teams.iter().zip(&*hand_overs);
        let teams = all.filter_map(|own| Some((own.0.size, time(own)?)));
        if rates.occupies_links(senders, start, end) {
            // Beside others, nobody knows what a team takes over a link.
            let mut sizes = quick_sizes(space, rates, (senders, start, end), below);
            sizes.extend(teams.filter(|&(_, time)| Nanoseconds(time) < below).map(|(size, _)| size));
            sizes.sort_unstable();
            sizes.dedup();
            return sizes;
        }

        let mut least: Vec<Option<u64>> = vec![None; space.sizes()];
        let single = |unit: usize, count: usize| {
            let mut cores = vec![0; rates.units.len()];
            cores[unit] = count;
            Some((space.encode(&cores), rates.least_time((unit, count), senders, start, end)?))
        };
        let counts =
            (0..rates.units.len()).flat_map(|unit| (1..=rates.units[unit].cores).map(move |count| (unit, count)));
        for (size, time) in counts.filter_map(|(unit, count)| single(unit, count)).chain(teams) {
            least[size] = Some(least[size].map_or(time, |known: u64| known.min(time)));
        }
        together(space, &least, below)
    }
}

/// The numbers of cores on which replicas pass frames often enough that each take so long on theirs.
fn together(space: &Space, least: &[Option<u64>], below: Nanoseconds) -> Vec<usize> {
    // Who is no quicker than somebody with fewer cores is of no use.
    let mut quickest: Vec<u64> = Vec::with_capacity(least.len());
    let mut ways: Vec<(usize, f64)> = Vec::new();
    for (size, own) in least.iter().enumerate() {
        let fewer = space.one_fewer(size).map(|fewer| quickest[fewer]).min().unwrap_or(u64::MAX);
        let own = own.unwrap_or(u64::MAX);
        if own < fewer {
            ways.push((size, 1.0 / own.max(1) as f64));
        }
        quickest.push(own.min(fewer));
    }
    let mut rate: Vec<f64> = vec![0.0; least.len()];
    for size in 1..least.len() {
        for &(own, more) in ways.iter().take_while(|(own, _)| *own <= size) {
            if own == size || space.contains(size, own) && rate[size - own] > 0.0 {
                let before = if own == size { 0.0 } else { rate[size - own] };
                rate[size] = rate[size].max(before + more);
            }
        }
    }
    let is_quick = |rate: f64| rate > 0.0 && is_rounded_below(1.0 / rate, below);
    (1..least.len()).filter(|&size| is_quick(rate[size])).collect()
}

impl TeamWay {
    fn new(
        (team, worths): (&[ProcessorClass], &TeamWorths),
        (subgraphs, windows): (&[Subgraph], &[Window]),
        (rates, space): (&StageRates<'_>, &Space),
        table: &CostTable,
    ) -> Result<Self, String> {
        let processors: Vec<ProcessorIndex> = team.iter().filter_map(|class| table.find(class)).collect();
        let label = || names(team).join("+");
        if worths.subgraphs.len() != windows.len() {
            return Err(format!("it knows {} subgraphs of {}, not {}", worths.subgraphs.len(), label(), windows.len()));
        }
        let all = worths.subgraphs.iter().chain([&worths.tiles]).filter(|parts| !parts.is_empty());
        for parts in all {
            let sum: u128 = parts.iter().map(|parts| u128::from(*parts)).sum();
            if parts.len() != team.len() || sum != u128::from(BILLION) {
                return Err(format!("what the time of {} is worth is no billion parts for its processors", label()));
            }
        }

        let costs = TeamCosts { table, processors: &processors };
        let makes_tiles =
            |own: &&ProcessorIndex| (0..table.operators()).any(|index| table.rows(**own, index).is_some());
        let has_tiles = processors.iter().filter(makes_tiles).count() > 1;
        let (mut least_until, mut gaps_until) = (vec![0_u64], vec![0]);
        for (subgraph, (window, parts)) in subgraphs.iter().zip(windows.iter().zip(&worths.subgraphs)) {
            let is_tiled = has_tiles && window.may_be_tiled;
            let worth = |parts: &[u64]| costs.worth(window.operators.iter(), parts) as f64;
            let least = match is_tiled {
                true => worth(&worths.tiles),
                false => costs.path(&window.operators).max(worth(parts)),
            };
            least_until
                .push(least_until[least_until.len() - 1].saturating_add(rounded_down(least, window.operators.len())));
            let runs = |operator: usize| processors.iter().any(|&own| table.time(own, operator).is_some());
            let is_gap = !subgraph.operators().all(|id| runs(id.index()));
            gaps_until.push(gaps_until[gaps_until.len() - 1] + usize::from(is_gap));
        }
        Ok(Self { size: space.encode(&rates.cores_of(team)), least_until, gaps_until, processors })
    }

    /// The least time of a stage of these subgraphs; `None` if the team can't run it.
    fn time(&self, own: Range<usize>, hand_over: u64) -> Option<u64> {
        if self.gaps_until[own.end] > self.gaps_until[own.start] {
            return None;
        }
        possible((self.least_until[own.end] - self.least_until[own.start]).saturating_add(hand_over))
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
