//! Searches by trials, on a network of nine layers and two kinds of places: how many configurations each has to run,
//! and what it finds.

use std::error::Error;
use std::io::Write;

use millstream_cost::Nanoseconds;
use millstream_tune::{
    Beliefs, Database, Exhaustive, HillClimbing, LayerTimes, ModelGuided, PipeSearch, PlaceKind, Shisha,
    SimulatedAnnealing, Space, Tuner, Uncertainty,
};

fn main() -> Result<(), Box<dyn Error>> {
    show(&mut std::io::stdout())
}

/// Writes a line for each search.
pub(crate) fn show(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let space = Space::new(vec![3, 9, 4, 7, 1, 8, 6, 2, 5], vec![PlaceKind::new("B", 1), PlaceKind::new("s", 2)])?;
    let time = |weight: u64, slowness: u64| Nanoseconds(1_000_000 * weight * slowness);
    let truth = LayerTimes::new(&space, |place, layer| {
        time(space.weights()[layer], if space.kind(place) == 0 { 1 } else { 3 })
    });
    // What a search on a model is told: not that two of the places are three times as slow.
    let prior = LayerTimes::new(&space, |_, layer| time(space.weights()[layer], 1));

    let searches: [(&str, &dyn Tuner); 5] = [
        ("exhaustive", &Exhaustive::default()),
        ("Pipe-Search", &PipeSearch::default()),
        ("Shisha", &Shisha::default()),
        ("hill climbing", &HillClimbing::default()),
        ("simulated annealing", &SimulatedAnnealing::default()),
    ];
    for (name, search) in searches {
        let found = search.tune(&space, &mut Database::new(truth.clone()))?;
        writeln!(output, "{name}: {} after {} trials", found.trial.period, found.trials)?;
    }
    let mut beliefs = Beliefs::new(&space, prior, Uncertainty::default())?;
    let found = ModelGuided::default().tune(&mut beliefs, &mut Database::new(truth))?;
    writeln!(output, "model-guided: {} after {} trials", found.trial.period, found.trials)?;
    Ok(())
}
