//! Searches that choose at random: what they may do is worked by hand on cases with six configurations or two, and
//! every step of theirs is held against it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use std::collections::{BTreeMap, BTreeSet};

use millstream_tune::{HillClimbing, RandomWalk, SimulatedAnnealing, Start, Tuner};
use trace::{Case, case, expected};

/// Three layers that take 10, 20 and 30 on F and 40, 30 and 35 on S. There are six configurations; F[1-2] S[3-3] is the
/// best, and S[1-1] F[2-3] is better than all its neighbours, so that climbs end there as well.
fn three_layers() -> Case {
    case(&[1; 3], &[("F", &[10, 20, 30]), ("S", &[40, 30, 35])])
}

/// The period of each configuration of [`three_layers`] and its neighbours: stages joined on either place, the two
/// places exchanged, a layer moved from the stage of two to the other one; a single stage goes to the other place, or
/// gives its last layer to it.
fn by_hand() -> BTreeMap<&'static str, (u64, BTreeSet<&'static str>)> {
    let [single_f, single_s] = ["F[1-3]", "S[1-3]"];
    let [f2_s1, f1_s2, s2_f1, s1_f2] = ["F[1-2] S[3-3]", "F[1-1] S[2-3]", "S[1-2] F[3-3]", "S[1-1] F[2-3]"];
    BTreeMap::from([
        (single_f, (60, BTreeSet::from([single_s, f2_s1]))),
        (single_s, (105, BTreeSet::from([single_f, s2_f1]))),
        (f2_s1, (35, BTreeSet::from([f1_s2, single_f, single_s, s2_f1]))),
        (f1_s2, (65, BTreeSet::from([f2_s1, single_f, single_s, s1_f2]))),
        (s2_f1, (70, BTreeSet::from([s1_f2, single_f, single_s, f2_s1]))),
        (s1_f2, (50, BTreeSet::from([s2_f1, single_f, single_s, f1_s2]))),
    ])
}

/// Both starts with many seeds.
fn starts() -> impl Iterator<Item = (Start, u64)> {
    (0..40).flat_map(|seed| [Start::Random, Start::ShishaSeed].map(|start| (start, seed)))
}

/// The configurations that are tried, each with the period that the table says.
fn tried(case: &Case, tuner: &dyn Tuner) -> Vec<String> {
    let known = by_hand();
    let (trace, _) = case.trace(tuner);
    let is_known = |(name, period): &(String, u64)| known.get(name.as_str()).is_some_and(|(own, _)| own == period);
    assert!(trace.iter().all(is_known), "{trace:?}");
    trace.into_iter().map(|(name, _)| name).collect()
}

/// Every trial is a neighbour of the best of this climb that was not tried since that was found; whatever is better
/// takes its place at once, and nothing else does; a new climb begins only when no neighbour helps.
#[test]
fn hill_climbing_steps_up_and_never_down() {
    let (case, known) = (three_layers(), by_hand());
    let mut ends = BTreeSet::new();
    for (start, seed) in starts() {
        let trace = tried(&case, &HillClimbing { start, trials: 60, seed });
        assert_eq!(trace.len(), 60);
        let mut current = trace[0].as_str();
        let mut open = known[current].1.clone();
        for next in &trace[1..] {
            if open.is_empty() {
                ends.insert(current.to_owned());
                (current, open) = (next, known[next.as_str()].1.clone());
                continue;
            }
            assert!(open.remove(next.as_str()), "{next} is no open neighbour of {current}: {trace:?}");
            if known[next.as_str()].0 < known[current].0 {
                (current, open) = (next, known[next.as_str()].1.clone());
            }
        }
    }
    assert_eq!(ends, BTreeSet::from(["F[1-2] S[3-3]", "S[1-1] F[2-3]"].map(str::to_owned)));
}

/// From S[1-2] F[3-3], with 70, it is S[1-3] that is drawn first, which is worse, and then S[1-1] F[2-3], which is a
/// step up. All four neighbours of that are worse, so the climb is over. The next one begins where the first did and
/// finds F[1-2] S[3-3] at once.
#[test]
fn hill_climbing_trial_by_trial() {
    let (trace, tuning) = three_layers().trace(&HillClimbing { start: Start::Random, trials: 14, seed: 0 });
    let written = [
        ("S[1-2] F[3-3]", 70),
        ("S[1-3]", 105),
        ("S[1-1] F[2-3]", 50),
        // Its neighbours.
        ("S[1-3]", 105),
        ("S[1-2] F[3-3]", 70),
        ("F[1-1] S[2-3]", 65),
        ("F[1-3]", 60),
        // The second climb.
        ("S[1-2] F[3-3]", 70),
        ("F[1-2] S[3-3]", 35),
        // Its neighbours.
        ("S[1-3]", 105),
        ("F[1-1] S[2-3]", 65),
        ("S[1-2] F[3-3]", 70),
        ("F[1-3]", 60),
        // The third climb, of which there is time for the beginning.
        ("S[1-2] F[3-3]", 70),
    ];
    assert_eq!(trace, expected(&written));
    let found: Vec<(usize, u64)> = tuning.improvements.iter().map(|one| (one.trials, one.period.0)).collect();
    assert_eq!(found, [(1, 70), (3, 50), (9, 35)]);
}

/// Of two places that are equally fast none is better than the other: a climb stays where it is, and is at its end
/// after one trial.
#[test]
fn hill_climbing_does_not_walk_along_a_plain() {
    let plain = case(&[1], &[("F", &[10]), ("S", &[10])]);
    for (start, seed) in starts() {
        let (trace, tuning) = plain.trace(&HillClimbing { start, trials: 40, seed });
        // Climbs are pairs of a beginning and its only neighbour.
        assert!(trace.chunks(2).all(|climb| climb[0] != climb[1]), "{trace:?}");
        let beginnings: Vec<&String> = trace.iter().step_by(2).map(|(name, _)| name).collect();
        let same = beginnings.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((4..16).contains(&same), "half of {} beginnings are the one before: {same}", beginnings.len());
        assert_eq!(tuning.improvements.len(), 1);
    }
}

/// Every trial is a neighbour of where the search may be: what is no worse than the one before is accepted always, what
/// is worse perhaps.
#[test]
fn annealing_goes_to_neighbours_and_takes_every_improvement() {
    let (case, known) = (three_layers(), by_hand());
    for (start, seed) in starts() {
        let tuner = SimulatedAnnealing { start, trials: 60, seed, ..SimulatedAnnealing::default() };
        let trace = tried(&case, &tuner);
        assert_eq!(trace.len(), 60);
        let mut places = BTreeSet::from([trace[0].as_str()]);
        for next in &trace[1..] {
            let from = places.iter().copied().filter(|place| known[place].1.contains(next.as_str()));
            let mut reached = BTreeSet::from([next.as_str()]);
            reached.extend(from.clone().filter(|place| known[place].0 < known[next.as_str()].0));
            assert!(from.count() > 0, "{next} is a neighbour of none of {places:?}: {trace:?}");
            places = reached;
        }
    }
}

/// Nine trials from the seed F[1-2] S[3-3] on, at temperatures of 1, 0.77, 0.60, 0.46, 0.36, 0.28, 0.22 and 0.17: each
/// 0.1 to the power of 1/9 of the one before. A loss is accepted where the number that is drawn is below
/// e^(-loss/temperature).
#[test]
fn annealing_trial_by_trial() {
    let tuner =
        SimulatedAnnealing { start: Start::ShishaSeed, trials: 9, temperature: 1.0, final_temperature: 0.1, seed: 3 };
    let written = [
        ("F[1-2] S[3-3]", 35),
        // 65 / 35 - 1 = 0.86: e^-0.86 = 0.42, and 0.64 is drawn: refused.
        ("F[1-1] S[2-3]", 65),
        // The same neighbour again: e^(-0.86 / 0.77) = 0.33, and 0.32 is drawn: accepted.
        ("F[1-1] S[2-3]", 65),
        // Better: accepted without a draw.
        ("S[1-1] F[2-3]", 50),
        // 70 / 50 - 1 = 0.4: e^(-0.4 / 0.46) = 0.42, and 0.60 is drawn: refused.
        ("S[1-2] F[3-3]", 70),
        // 105 / 50 - 1 = 1.1: e^(-1.1 / 0.36) = 0.05, and 0.31 is drawn: refused.
        ("S[1-3]", 105),
        // e^(-0.4 / 0.28) = 0.24, and 0.22 is drawn: accepted.
        ("S[1-2] F[3-3]", 70),
        // Better.
        ("F[1-3]", 60),
        // The last trial, of one of the two neighbours that F[1-3] has.
        ("S[1-3]", 105),
    ];
    assert_eq!(three_layers().trace(&tuner).0, expected(&written));
}

/// One layer, which takes 100 on F and 130 on S. Each place has only the other one as its neighbour, so that a trace
/// tells whether the loss of 0.3 was accepted: F S F is a step to S and back, F S S is a refusal and another try. A
/// search begins on F.
fn two_places() -> Case {
    case(&[1], &[("F", &[100]), ("S", &[130])])
}

fn letters(tuner: SimulatedAnnealing) -> String {
    let (trace, _) = two_places().trace(&tuner);
    trace.iter().map(|(name, _)| &name[..1]).collect()
}

fn annealing(temperature: f64, final_temperature: f64, trials: usize) -> SimulatedAnnealing {
    SimulatedAnnealing { start: Start::ShishaSeed, trials, temperature, final_temperature, seed: 0 }
}

/// Whether each loss was accepted; the last trial tells nothing.
fn acceptances(trace: &str) -> Vec<bool> {
    let mut found = Vec::new();
    let mut rest = &trace[1..];
    while rest.len() > 1 {
        let is_accepted = rest.starts_with("SF");
        found.push(is_accepted);
        rest = &rest[if is_accepted { 2 } else { 1 }..];
    }
    found
}

#[test]
fn annealing_accepts_every_loss_when_hot_and_none_when_cold() {
    assert_eq!(letters(annealing(1e9, 1e9, 9)), "FSFSFSFSF");
    assert_eq!(letters(annealing(1e-9, 1e-9, 9)), "FSSSSSSSS");
}

/// At a temperature of 0.3, one loss of 0.3 in e = 2.718; at 0.15, one in e squared = 7.389.
#[test]
fn annealing_accepts_a_loss_as_often_as_the_temperature_says() {
    for (temperature, probability) in [(0.3, 0.3679), (0.15, 0.1353)] {
        let found = acceptances(&letters(annealing(temperature, temperature, 20_000)));
        let share = found.iter().filter(|&&is_accepted| is_accepted).count() as f64 / found.len() as f64;
        assert!((share - probability).abs() < 0.02, "{share} at {temperature}");
    }
}

/// From 3 down to 0.003, by the same factor each trial: half-way the temperature is 0.095, where a loss is accepted
/// once in 24; after a tenth it is 1.5 (four in five), and after nine tenths 0.006, where it never is.
#[test]
fn annealing_cools_down_evenly() {
    let trace = letters(annealing(3.0, 0.003, 10_000));
    let share = |from: usize, to: usize| {
        let found = acceptances(&trace[trace[..from].rfind('F').unwrap()..to]);
        found.iter().filter(|&&is_accepted| is_accepted).count() as f64 / found.len() as f64
    };
    let (early, middle, late) = (share(900, 1100), share(4800, 5200), share(9000, 10_000));
    assert!((early - 0.819).abs() < 0.1 && (middle - 0.042).abs() < 0.03 && late == 0.0, "{early} {middle} {late}");
}

/// One or two stages, cut after the first or the second layer, on F and S or S and F, each half of the time: a quarter
/// for each configuration of one stage and an eighth for each of two.
#[test]
fn a_random_walk_goes_everywhere_evenly() {
    let (case, known) = (three_layers(), by_hand());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let trace = tried(&case, &RandomWalk { trials: 8000, seed: 1 });
    assert_eq!(trace.len(), 8000);
    trace.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    assert_eq!(counts.len(), known.len());
    for (name, count) in counts {
        let expected: usize = if name.contains(' ') { 1000 } else { 2000 };
        assert!(count.abs_diff(expected) < 160, "{name}: {count}");
    }
    assert_eq!(tried(&case, &RandomWalk { trials: 0, seed: 1 }).len(), 1, "a search has a result");
}

/// Each trial is drawn anew: whether one stage or two, where the cut is, and which place is first.
#[test]
fn a_random_walk_trial_by_trial() {
    let (trace, tuning) = three_layers().trace(&RandomWalk { trials: 8, seed: 0 });
    let written = [
        ("S[1-2] F[3-3]", 70),
        ("F[1-3]", 60),
        ("S[1-2] F[3-3]", 70),
        ("S[1-3]", 105),
        ("S[1-2] F[3-3]", 70),
        ("F[1-2] S[3-3]", 35),
        ("S[1-3]", 105),
        ("S[1-1] F[2-3]", 50),
    ];
    assert_eq!(trace, expected(&written));
    assert_eq!((tuning.trials, tuning.trial.period.0, tuning.improvements.len()), (8, 35, 3));
}

#[test]
fn names_say_where_a_search_begins() {
    let climbing = |start| HillClimbing { start, ..HillClimbing::default() }.name();
    let annealing = |start| SimulatedAnnealing { start, ..SimulatedAnnealing::default() }.name();
    assert_eq!([Start::Random, Start::ShishaSeed].map(climbing), ["hill climbing", "hill climbing, seeded"]);
    assert_eq!(
        [Start::Random, Start::ShishaSeed].map(annealing),
        ["simulated annealing", "simulated annealing, seeded"]
    );
    assert_eq!(RandomWalk::default().name(), "random walk");
}
