//! The model-guided search against the optimum, with priors that are wrong and trials that are noisy.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_cost::Nanoseconds;
use millstream_pipeline::best_placement;
use millstream_tune::{
    Beliefs, Configuration, Database, LayerTimes, ModelGuided, Oracle, PlaceKind, Shisha, Space, Tuner, Tuning,
    Uncertainty,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};

const SEEDS: u64 = 50;

/// Layers of widely different weights, as in ResNet50.
fn space(layers: usize, fast: usize, slow: usize, random: &mut ChaCha8Rng) -> Space {
    let weights = (0..layers).map(|_| [51, 103, 103, 115, 231, 118][random.random_range(0..6)]).collect();
    Space::new(weights, vec![PlaceKind::new("F", fast), PlaceKind::new("S", slow)]).unwrap()
}

struct Case {
    space: Space,
    truth: LayerTimes,
    prior: LayerTimes,
    optimum: Nanoseconds,
}

fn case(layers: usize, fast: usize, slow: usize, seed: u64) -> Case {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let space = space(layers, fast, slow, &mut random);
    let truth = LayerTimes::new(&space, |place, layer| {
        Nanoseconds(space.weights()[layer] * [10_000, 33_000][space.kind(place)])
    });
    let wrong_layer: Vec<f64> = (0..layers).map(|_| LogNormal::new(0.0, 0.3).unwrap().sample(&mut random)).collect();
    let wrong_place: Vec<f64> = space.places().map(|_| if random.random::<bool>() { 2.0 } else { 0.5 }).collect();
    let prior = LayerTimes::new(&space, |place, layer| {
        let wrong = wrong_layer[layer] * wrong_place[place.index()];
        Nanoseconds::from_seconds(truth.time(place, layer).seconds() * wrong)
    });
    let places: Vec<_> = space.places().collect();
    let time = |kind: usize, range: std::ops::Range<usize>| {
        range.map(|layer| truth.time(places[if kind == 0 { 0 } else { fast }], layer)).sum()
    };
    let optimum = best_placement(layers, &[fast, slow], time).unwrap().1;
    Case { space, truth, prior, optimum }
}

/// Mean trials and mean loss over all seeds.
fn mean(fast: usize, slow: usize, tune: impl Fn(&Case, Database) -> Tuning<Configuration>) -> (f64, f64) {
    let (mut trials, mut loss) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let case = case(50, fast, slow, seed);
        let found = tune(&case, Database::new(case.truth.clone()).with_noise(0.02, seed));
        trials += found.trials as f64;
        loss += case.truth.period(&found.best).seconds() / case.optimum.seconds() - 1.0;
    }
    (trials / SEEDS as f64, loss / SEEDS as f64)
}

fn guided(case: &Case, oracle: &mut dyn Oracle<Configuration>) -> Tuning<Configuration> {
    let mut beliefs = Beliefs::new(&case.space, case.prior.clone(), Uncertainty::default()).unwrap();
    ModelGuided::default().tune(&mut beliefs, oracle).unwrap()
}

#[test]
fn times_of_layers_lead_to_the_optimum_in_a_few_trials() {
    for (fast, slow) in [(2, 2), (4, 4)] {
        let (trials, loss) = mean(fast, slow, |case, oracle| guided(case, &mut oracle.reporting_layers()));
        assert!(trials <= 5.0 && loss <= 0.01, "{fast} + {slow}: {trials} trials, {loss} above the optimum");
        let (shisha_trials, shisha_loss) =
            mean(fast, slow, |case, mut oracle| Shisha::default().tune(&case.space, &mut oracle).unwrap());
        assert!(trials < shisha_trials && loss < shisha_loss, "{shisha_trials} trials, {shisha_loss}");
    }
}

#[test]
fn times_of_stages_alone_take_some_trials_more() {
    for (fast, slow) in [(2, 2), (4, 4)] {
        let (trials, loss) = mean(fast, slow, |case, mut oracle| guided(case, &mut oracle));
        assert!(trials <= 8.0 && loss <= 0.015, "{fast} + {slow}: {trials} trials, {loss} above the optimum");
    }
}
