//! Searches that choose nothing at random, trial by trial, on cases that are worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use millstream_cost::Nanoseconds;
use millstream_tune::{Balancing, Heuristic, Improvement, PipeSearch, SeedAssignment, Shisha, Tuner};
use trace::{Case, Noting, case, expected};

fn shisha(balancing: Balancing, alpha: usize) -> Shisha {
    Shisha { heuristic: Heuristic { assignment: SeedAssignment::Weight, balancing }, alpha, seed: 0 }
}

/// What Shisha tries from a configuration on.
fn trace_from(shisha: Shisha, case: &Case, layers: &[usize], places: &[usize]) -> Vec<(String, u64)> {
    let mut oracle = Noting::new(case);
    shisha.tune_from(&case.space, case.configuration(layers, places), &mut oracle).unwrap();
    oracle.tried
}

/// A fast, a medium and a slow place; layers are alike.
fn three_speeds() -> Case {
    case(&[1; 6], &[("F", &[15; 6]), ("M", &[20; 6]), ("S", &[25; 6])])
}

/// The stages take 25, 60 and 30. The medium one gives a layer to the faster place, although the slow place has less to
/// do: 25, 40 and 45. The fast place is now the slowest and none is faster, so a layer goes back: 25, 60 and 30, the
/// first failure; and to the fast place again, which is no better than the best: the second one, and the end.
#[test]
fn shisha_moves_layers_to_faster_places_not_to_idle_ones() {
    let tried = trace_from(shisha(Balancing::NearestLightest, 2), &three_speeds(), &[1, 3, 2], &[2, 1, 0]);
    let written = [
        ("S[1-1] M[2-4] F[5-6]", 60),
        ("S[1-1] M[2-3] F[4-6]", 45),
        ("S[1-1] M[2-4] F[5-6]", 60),
        ("S[1-1] M[2-3] F[4-6]", 45),
    ];
    assert_eq!(tried, expected(&written));
}

/// Two fast places, on both sides of the slow ones; stages are F0, S0, S1, F1 with times per layer of 10 and 30.
fn fast_at_both_ends() -> Case {
    case(&[1; 9], &[("F", &[10; 9]), ("F", &[10; 9]), ("S", &[30; 9]), ("S", &[30; 9])])
}

/// The stages take 10, 30, 90 and 40. The third one can give to the last one next to it, or past its neighbour to the
/// first one. The lightest is the first (10 against 40): 20, 30, 60, 40, then 30, 30, 30, 40. Now the last is the
/// slowest and on a fast place: it gives to the only other fast one, 40, 30, 30, 30, and back, which makes two
/// failures.
#[test]
fn shisha_h3_moves_layers_to_the_lightest_faster_place() {
    let tried = trace_from(shisha(Balancing::NearestLightest, 2), &fast_at_both_ends(), &[1, 1, 3, 4], &[0, 2, 3, 1]);
    let written = [
        ("F[1-1] S[2-2] S[3-5] F[6-9]", 90),
        ("F[1-2] S[3-3] S[4-5] F[6-9]", 60),
        ("F[1-3] S[4-4] S[5-5] F[6-9]", 40),
        ("F[1-4] S[5-5] S[6-6] F[7-9]", 40),
        ("F[1-3] S[4-4] S[5-5] F[6-9]", 40),
    ];
    assert_eq!(tried, expected(&written));
}

/// The same start: the last stage is the nearest, whatever it has to do: 10, 30, 60, 50, then 10, 30, 30, 60. Then the
/// last one is the slowest and gives to the other fast one: 20, 30, 30, 50, then 30, 30, 30, 40, then 40, 30, 30, 30
/// and so on.
#[test]
fn shisha_h4_moves_layers_to_the_nearest_faster_place() {
    let tried = trace_from(shisha(Balancing::Nearest, 1), &fast_at_both_ends(), &[1, 1, 3, 4], &[0, 2, 3, 1]);
    let written =
        [("F[1-1] S[2-2] S[3-5] F[6-9]", 90), ("F[1-1] S[2-2] S[3-4] F[5-9]", 60), ("F[1-1] S[2-2] S[3-3] F[4-9]", 60)];
    assert_eq!(tried, expected(&written), "60 is no improvement on 60: the first failure, and with alpha 1 the end");
    let tried = trace_from(shisha(Balancing::Nearest, 2), &fast_at_both_ends(), &[1, 1, 3, 4], &[0, 2, 3, 1]);
    let more = [
        ("F[1-2] S[3-3] S[4-4] F[5-9]", 50),
        ("F[1-3] S[4-4] S[5-5] F[6-9]", 40),
        ("F[1-4] S[5-5] S[6-6] F[7-9]", 40),
        ("F[1-3] S[4-4] S[5-5] F[6-9]", 40),
    ];
    assert_eq!(tried, expected(&[&written[..], &more].concat()));
}

/// Fast places take 40 and 10, the slow one between them nothing to speak of. The slowest stage's place has an equal,
/// which is two stages away: it gets the layer, not the slow neighbour that is nearer.
#[test]
fn shisha_moves_layers_between_equal_places_where_none_is_faster() {
    let case = case(&[1; 6], &[("F", &[10; 6]), ("F", &[10; 6]), ("S", &[12; 6])]);
    let tried = trace_from(shisha(Balancing::Nearest, 1), &case, &[4, 1, 1], &[0, 2, 1]);
    let written = [("F[1-4] S[5-5] F[6-6]", 40), ("F[1-3] S[4-4] F[5-6]", 30), ("F[1-2] S[3-3] F[4-6]", 30)];
    assert_eq!(tried, expected(&written));
}

/// A single layer takes 30 on the slow place and goes to the fast one, which then has 20 in all. Nothing is left to
/// give it to.
#[test]
fn shisha_leaves_a_place_idle_that_has_nothing_left() {
    let case = case(&[1, 1], &[("F", &[10, 10]), ("S", &[30, 30])]);
    let tried = trace_from(shisha(Balancing::Nearest, 5), &case, &[1, 1], &[0, 1]);
    assert_eq!(tried, expected(&[("F[1-1] S[2-2]", 30), ("F[1-2]", 20)]));
}

/// Weights 5 2 4 9 3 on two places: 2 is the lightest and joins 4, the lighter of its neighbours; of 5, 6, 9 and 3, 3
/// is the lightest and joins 9; of 5, 6 and 12, 5 joins 6. The heavier of 11 and 12 gets the fast place: 22 and 12. The
/// slow one gives a layer of 4 to the fast one: 14 and 16. Now the fast one is the slowest and gives it back, the first
/// failure.
#[test]
fn shisha_begins_with_its_seed() {
    let case = case(&[5, 2, 4, 9, 3], &[("F", &[5, 2, 4, 9, 3]), ("S", &[10, 4, 8, 18, 6])]);
    let shisha = Shisha { alpha: 1, ..Shisha::default() };
    let (tried, tuning) = case.trace(&shisha);
    assert_eq!(tried, expected(&[("S[1-3] F[4-5]", 22), ("S[1-2] F[3-5]", 16), ("S[1-3] F[4-5]", 22)]));
    assert_eq!((tuning.best, tuning.trial.period), (case.configuration(&[2, 3], &[1, 0]), Nanoseconds(16)));
    assert_eq!((shisha.name(), PipeSearch::default().name()), ("Shisha H3".to_owned(), "Pipe-Search".to_owned()));
}

/// Four layers of weights 5, 1, 2 and 4 on places A, B and C, whose speeds the search does not know. With two stages,
/// 2 + 2 layers are the most even (6 and 6), then 1 + 3 (5 and 7), then 3 + 1 (8 and 4); with three, 1 + 2 + 1 (5, 3, 4),
/// then 2 + 1 + 1 (6, 2, 4), then 1 + 1 + 2 (5, 1, 6).
fn four_layers() -> Case {
    case(&[5, 1, 2, 4], &[("A", &[6, 2, 5, 4]), ("B", &[9, 3, 4, 6]), ("C", &[9, 9, 3, 2])])
}

/// The seeds of two and of three stages are first: A 8, B 10; A 6, B 7, C 2. Then it goes on with two stages: 13 is a
/// failure, and with alpha 1 the end of two stages. With three: 8 is a failure. The best so far has three stages, so
/// that these get another chance, which finds 6. The division 3 + 1 is never tried.
#[test]
fn pipe_search_goes_from_even_to_uneven_and_returns_to_the_best_depth() {
    let (tried, tuning) =
        four_layers().trace(&PipeSearch { alpha: 1, preparation: Nanoseconds(100), ..PipeSearch::default() });
    let written = [
        ("A[1-2] B[3-4]", 10),
        ("A[1-1] B[2-3] C[4-4]", 7),
        ("A[1-1] B[2-4]", 13),
        ("A[1-2] B[3-3] C[4-4]", 8),
        ("A[1-1] B[2-2] C[3-4]", 6),
    ];
    assert_eq!(tried, expected(&written));
    // Six divisions were listed for 100 each, and a trial takes 1000.
    assert_eq!(tuning.spent, Nanoseconds(5600));
    let improvement =
        |trials, spent, period| Improvement { trials, spent: Nanoseconds(spent), period: Nanoseconds(period) };
    assert_eq!(tuning.improvements, [improvement(1, 1600, 10), improvement(2, 2600, 7), improvement(5, 5600, 6)]);
}

/// With patience, everything is tried once, depth by depth after the seeds.
#[test]
fn pipe_search_tries_nothing_twice() {
    let (tried, _) = four_layers().trace(&PipeSearch::default());
    let written = [
        ("A[1-2] B[3-4]", 10),
        ("A[1-1] B[2-3] C[4-4]", 7),
        ("A[1-1] B[2-4]", 13),
        ("A[1-3] B[4-4]", 13),
        ("A[1-2] B[3-3] C[4-4]", 8),
        ("A[1-1] B[2-2] C[3-4]", 6),
    ];
    assert_eq!(tried, expected(&written));
    let (two_stages, _) = four_layers().trace(&PipeSearch { most_stages: 2, ..PipeSearch::default() });
    assert_eq!(two_stages, expected(&[("A[1-2] B[3-4]", 10), ("A[1-1] B[2-4]", 13), ("A[1-3] B[4-4]", 13)]));
    let (one_stage, _) = four_layers().trace(&PipeSearch { most_stages: 1, ..PipeSearch::default() });
    assert_eq!(one_stage, expected(&[("A[1-4]", 17)]));
}

/// 3163 layers can be divided into three stages in 3162 * 3161 / 2 = 4,997,541 ways, which are listed; with one layer
/// more there are more than five millions, which are not. Two stages are tried in any case.
#[test]
fn pipe_search_leaves_out_what_it_can_not_list() {
    for (layers, most) in [(3163, 3), (3164, 2)] {
        let (weights, times) = (vec![1; layers], vec![10; layers]);
        let case = case(&weights, &[("F", &times), ("F", &times), ("F", &times)]);
        let (tried, _) = case.trace(&PipeSearch { alpha: 1, ..PipeSearch::default() });
        assert_eq!(tried.iter().map(|(stages, _)| stages.split(' ').count()).max(), Some(most), "{layers}");
        assert!(tried.iter().any(|(stages, _)| stages.split(' ').count() == 2));
    }
}
