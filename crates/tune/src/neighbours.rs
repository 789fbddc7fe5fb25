//! Small changes of a configuration, and random ones.

use rand::RngExt;
use rand::seq::{SliceRandom, index};
use rand_chacha::ChaCha8Rng;

use crate::configuration::Configuration;
use crate::space::{PlaceId, Space};

/// Every configuration that differs by one layer moved to the next stage, two stages' places exchanged, one stage on a
/// free place, two stages joined, or one divided in the middle.
pub(crate) fn neighbours(space: &Space, configuration: &Configuration) -> Vec<Configuration> {
    let stages = configuration.stages();
    let mut found = Vec::new();
    for stage in 0..stages.saturating_sub(1) {
        found.extend(configuration.moved(stage, stage + 1));
        found.extend(configuration.moved(stage + 1, stage));
        found.extend([true, false].map(|keeps_first| configuration.joined(stage, keeps_first)));
    }
    let kind = |stage: usize| space.kind(configuration.places()[stage]);
    for one in 0..stages {
        let others = (one + 1..stages).filter(|&other| kind(other) != kind(one));
        found.extend(others.map(|other| configuration.swapped(one, other)));
    }
    let mut free: Vec<PlaceId> = space.places().filter(|place| !configuration.places().contains(place)).collect();
    free.dedup_by_key(|place| space.kind(*place));
    for place in free {
        for stage in 0..stages {
            if kind(stage) != space.kind(place) {
                found.push(configuration.replaced(stage, place));
            }
            let layers = configuration.layers()[stage];
            if layers > 1 {
                found.push(configuration.divided(stage, layers / 2, place));
            }
        }
    }
    found
}

/// Any number of stages, any cuts, any places, each equally likely.
pub fn random_configuration(space: &Space, random: &mut ChaCha8Rng) -> Configuration {
    let stages = random.random_range(1..=space.most_stages());
    let mut cuts: Vec<usize> =
        index::sample(random, space.layers() - 1, stages - 1).into_iter().map(|cut| cut + 1).collect();
    cuts.sort_unstable();
    cuts.push(space.layers());
    let mut start = 0;
    let layers = cuts.into_iter().map(|cut| {
        let count = cut - start;
        start = cut;
        count
    });
    let layers = layers.collect();
    let mut places: Vec<PlaceId> = space.places().collect();
    places.shuffle(random);
    places.truncate(stages);
    Configuration::assembled(layers, places)
}
