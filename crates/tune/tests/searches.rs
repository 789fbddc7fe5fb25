//! Every search returns what can run; none beats the exact optimum, and none is worse than the worst there is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_cost::Nanoseconds;
use millstream_tune::{
    Beliefs, Configuration, Database, Exhaustive, Heuristic, HillClimbing, LayerTimes, ModelGuided, Oracle, PipeSearch,
    PlaceKind, RandomWalk, Shisha, SimulatedAnnealing, Space, Start, Trial, TuneError, Tuner, Uncertainty,
};
use proptest::prelude::*;

/// Checks what is measured, and keeps the extremes.
struct Watched {
    space: Space,
    database: Database,
    longest: Nanoseconds,
    measured: usize,
}

impl Oracle<Configuration> for Watched {
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
        let parts = (configuration.layers().to_vec(), configuration.places().to_vec());
        assert_eq!(Configuration::new(&self.space, parts.0, parts.1).as_ref(), Some(configuration));
        let trial = self.database.measure(configuration)?;
        self.longest = self.longest.max(trial.period);
        self.measured += 1;
        Ok(trial)
    }
}

fn tuners(seed: u64) -> Vec<Box<dyn Tuner>> {
    let mut tuners: Vec<Box<dyn Tuner>> = vec![
        Box::new(PipeSearch::default()),
        Box::new(RandomWalk { trials: 20, seed }),
        Box::new(HillClimbing { trials: 40, seed, ..HillClimbing::default() }),
        Box::new(HillClimbing { trials: 40, seed, start: Start::ShishaSeed }),
        Box::new(SimulatedAnnealing { trials: 40, seed, ..SimulatedAnnealing::default() }),
        Box::new(SimulatedAnnealing { trials: 40, seed, start: Start::ShishaSeed, ..SimulatedAnnealing::default() }),
    ];
    tuners.extend(Heuristic::ALL.map(|heuristic| Box::new(Shisha { heuristic, alpha: 5, seed }) as Box<dyn Tuner>));
    tuners
}

/// One to four clusters, up to seven layers.
fn cases() -> impl Strategy<Value = (Space, LayerTimes, u64)> {
    (prop::collection::vec(1_usize..3, 1..=4), prop::collection::vec(1_u64..30, 1..8), any::<u64>()).prop_map(
        |(counts, weights, seed)| {
            let kinds = counts.iter().enumerate().map(|(kind, &count)| PlaceKind::new(format!("c{kind}"), count));
            let space = Space::new(weights, kinds.collect()).unwrap();
            let times = LayerTimes::new(&space, |place, layer| {
                // Kinds differ in speed, and layers in how much they care.
                let slowness = 2 + space.kind(place) as u64 * (1 + (layer as u64 + seed) % 3);
                Nanoseconds(1000 * space.weights()[layer] * slowness)
            });
            (space, times, seed)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn searches_stay_between_the_extremes((space, times, seed) in cases()) {
        let mut watched =
            Watched { space: space.clone(), database: Database::new(times.clone()), longest: Nanoseconds::ZERO, measured: 0 };
        let all = Exhaustive::default().tune(&space, &mut watched).unwrap();
        let counted: u128 = (1..=space.most_stages()).map(|stages| space.configurations(stages)).sum();
        prop_assert_eq!(watched.measured as u128, counted);
        prop_assert_eq!(all.trials, watched.measured);
        let (shortest, longest) = (all.trial.period, watched.longest);
        for tuner in tuners(seed) {
            let before = watched.measured;
            let found = tuner.tune(&space, &mut watched).unwrap();
            prop_assert!(found.trial.period >= shortest && found.trial.period <= longest, "{}", tuner.name());
            prop_assert_eq!(found.trial.period, times.period(&found.best), "{}", tuner.name());
            prop_assert_eq!(found.trials, watched.measured - before);
            prop_assert!(found.improvements.windows(2).all(|pair| pair[1].period < pair[0].period));
            prop_assert_eq!(found.improvements.last().map(|last| last.period), Some(found.trial.period));
            let again = tuner.tune(&space, &mut watched).unwrap();
            prop_assert_eq!(again, found, "{} is not deterministic", tuner.name());
        }
        // With the truth as its prior, the model-guided search is the exact one.
        let mut beliefs = Beliefs::new(&space, times.clone(), Uncertainty::default()).unwrap();
        let guided = ModelGuided::default().tune(&mut beliefs, &mut watched).unwrap();
        prop_assert_eq!(guided.trial.period, shortest);
        prop_assert_eq!(guided.trials, 1);
    }

    #[test]
    fn names_of_kinds_change_nothing((space, times, seed) in cases()) {
        let renamed: Vec<PlaceKind> =
            space.kinds().iter().rev().zip(space.kinds()).map(|(other, kind)| PlaceKind::new(other.name.clone(), kind.count)).collect();
        let renamed = Space::new(space.weights().to_vec(), renamed).unwrap();
        for tuner in tuners(seed) {
            let one = tuner.tune(&space, &mut Database::new(times.clone())).unwrap();
            let other = tuner.tune(&renamed, &mut Database::new(times.clone())).unwrap();
            prop_assert_eq!(one, other);
        }
    }
}

#[test]
fn an_exhaustive_search_refuses_what_would_never_end() {
    let space = Space::new(vec![1; 50], vec![PlaceKind::new("F", 4), PlaceKind::new("S", 4)]).unwrap();
    let times = LayerTimes::new(&space, |_, _| Nanoseconds(1));
    let refused = Exhaustive::default().tune(&space, &mut Database::new(times)).unwrap_err();
    assert!(
        matches!(refused, TuneError::TooMany { configurations, .. } if configurations > 6_000_000_000),
        "{refused}"
    );
}

#[test]
fn a_prior_of_another_space_is_refused() {
    let one = Space::new(vec![1; 3], vec![PlaceKind::new("F", 1)]).unwrap();
    let other = Space::new(vec![1; 4], vec![PlaceKind::new("F", 2)]).unwrap();
    let times = LayerTimes::new(&one, |_, _| Nanoseconds(1));
    let refused = Beliefs::new(&other, times, Uncertainty::default()).unwrap_err();
    assert_eq!(refused.to_string(), "the database has times of 3 layers on 1 places; the space has 4 and 2");
}

#[test]
fn failures_of_the_oracle_end_the_search() {
    struct Broken;
    impl Oracle<Configuration> for Broken {
        fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
            Err(TuneError::Oracle { configuration: configuration.to_string(), source: "no such board".into() })
        }
    }
    let space = Space::new(vec![1; 3], vec![PlaceKind::new("F", 2)]).unwrap();
    for tuner in tuners(0) {
        let failure = tuner.tune(&space, &mut Broken).unwrap_err();
        assert!(failure.to_string().ends_with("no such board"), "{}: {failure}", tuner.name());
    }
}
