//! Bounds that random numbers prove.

use millstream_board::{Board, ProcessorClass};
use millstream_certify::{
    CertifyError, PartsPerBillion, SearchedProof, SearchedTeams, TeamProof, ThroughputProof, check_searched,
    check_throughput,
};
use millstream_partition::subgraphs;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::claims::blocks;
use crate::problem::processors;
use crate::random_problem::Instance;

const BILLION: u64 = 1_000_000_000;

/// Random parts that add up to a billion.
fn parts(count: usize, random: &mut ChaCha8Rng) -> Vec<u64> {
    let mut cuts: Vec<u64> = (1..count).map(|_| random.random_range(0..=BILLION)).collect();
    cuts.extend([0, BILLION]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The bound that random shares prove.
pub(crate) fn throughput_proof(instance: &Instance, random: &mut ChaCha8Rng) -> ThroughputProof {
    let labels: Vec<String> = processors(&instance.board).into_iter().map(|processor| processor.cluster).collect();
    let parts = parts(labels.len(), random);
    let shares = labels.into_iter().zip(parts).map(|(label, parts)| PartsPerBillion { label, parts }).collect();
    let proof = ThroughputProof { period_nanoseconds: u64::MAX, shares };
    match check_throughput(&proof, &instance.graph, &instance.board, &instance.table) {
        Err(CertifyError::Number { found, .. }) => ThroughputProof { period_nanoseconds: found as u64, ..proof },
        other => panic!("{other:?}"),
    }
}

/// A space of teams, the smallest or a wider one.
fn random_space(random: &mut ChaCha8Rng) -> SearchedTeams {
    SearchedTeams {
        most_processors: random.random_range(2..=3),
        spans_clusters: random.random_bool(0.5),
        has_all_counts: random.random_bool(0.5),
    }
}

/// All teams of a space, in the order of certificates: each has no more cores together than there are.
pub(crate) fn teams_in(space: SearchedTeams, board: &Board) -> Vec<Vec<String>> {
    let cores = |label: &str| {
        board.clusters().iter().find(|cluster| cluster.label == label).map_or(1, |cluster| cluster.cores.len())
    };
    let is_wanted = |class: &ProcessorClass| {
        space.has_all_counts || class.count.is_power_of_two() || class.count == cores(&class.cluster)
    };
    let classes: Vec<ProcessorClass> = board.processor_classes().filter(is_wanted).collect();
    let is_in_space = |team: &[ProcessorClass]| {
        let counts_of = |label: &str| -> Vec<usize> {
            team.iter().filter(|own| own.cluster == label).map(|own| own.count).collect()
        };
        let is_spread = team.iter().all(|own| counts_of(&own.cluster).len() == 1);
        let fits = |own: &ProcessorClass| counts_of(&own.cluster).iter().sum::<usize>() <= cores(&own.cluster);
        team.iter().all(fits) && (team.len() <= space.most_processors || space.spans_clusters && is_spread)
    };

    // Every set is made once: from each team on, with its last class or those after it.
    let mut teams: Vec<(usize, Vec<ProcessorClass>)> = vec![(0, Vec::new())];
    let mut next = 0;
    while let Some((first, team)) = teams.get(next).cloned() {
        next += 1;
        for (place, class) in classes.iter().enumerate().skip(first) {
            let larger = [team.as_slice(), std::slice::from_ref(class)].concat();
            if is_in_space(&larger) {
                teams.push((place, larger));
            }
        }
    }
    let names = |team: Vec<ProcessorClass>| {
        let mut names: Vec<String> = team.iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    let mut all: Vec<Vec<String>> =
        teams.into_iter().filter(|(_, team)| team.len() > 1).map(|(_, team)| names(team)).collect();
    all.sort();
    all
}

/// The longest period that random prices prove of all pipelines of a random space; `None` if nothing there runs the
/// network.
pub(crate) fn searched_proof(instance: &Instance, random: &mut ChaCha8Rng) -> Option<SearchedProof> {
    let teams = random_space(random);
    let count = subgraphs(&instance.graph).len();
    let proof = |processors: Vec<String>| TeamProof {
        subgraphs: (0..count).map(|_| parts(processors.len(), random)).collect(),
        tiles: parts(processors.len(), random),
        processors,
    };
    let dual_prices: Vec<TeamProof> = teams_in(teams, &instance.board).into_iter().map(proof).collect();
    let (mut low, mut high) = (0, 1 << 20);
    while low < high {
        let period_nanoseconds = (low + high) / 2;
        let proof = SearchedProof { period_nanoseconds, teams, dual_prices: dual_prices.clone() };
        match check_searched(&proof, blocks(instance), &instance.board, &instance.table) {
            Ok(()) => return Some(proof),
            Err(error) if error.to_string().contains("may have a shorter period") => high = period_nanoseconds,
            Err(error) if error.to_string().contains("keeps it from being longer") => low = period_nanoseconds + 1,
            Err(error) => panic!("{error}"),
        }
    }
    None
}
