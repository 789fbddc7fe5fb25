//! States that a search has met, so that none is searched that is no better than one before it.

use std::collections::HashMap;

use millstream_cost::Nanoseconds;

/// What matters of a state for the rest of the search.
pub(super) struct State {
    pub(super) key: StateKey,
    /// When processors are free, when values are made, and the last start: none is better later. States of the same key
    /// have the same number of them, in the same order.
    pub(super) moments: Vec<Nanoseconds>,
}

/// What two states must have in common to be compared.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct StateKey {
    /// The nodes that have been started, a bit for each.
    pub(super) placed: u128,
    /// Where values are that others still wait for.
    pub(super) homes: Vec<u8>,
}

/// States that were met, as far as there is room for them.
pub(super) struct MetStates {
    moments: HashMap<StateKey, Vec<Vec<Nanoseconds>>>,
    count: usize,
    most: usize,
}

impl MetStates {
    /// None yet, with room for so many.
    pub(super) fn new(most: usize) -> Self {
        Self { moments: HashMap::new(), count: 0, most }
    }

    /// Whether a state of the same key was at least as good; remembers this one otherwise, in place of those that it is
    /// at least as good as.
    pub(super) fn is_dominated(&mut self, State { key, moments }: State) -> bool {
        let met = self.moments.entry(key).or_default();
        if met.iter().any(|old| is_at_least_as_good(old, &moments)) {
            return true;
        }
        if self.count < self.most {
            let before = met.len();
            met.retain(|old| !is_at_least_as_good(&moments, old));
            self.count -= before - met.len();
            met.push(moments);
            self.count += 1;
        }
        false
    }
}

/// Whether none of a state's moments is later than another's.
fn is_at_least_as_good(moments: &[Nanoseconds], others: &[Nanoseconds]) -> bool {
    moments.iter().zip(others).all(|(moment, other)| moment <= other)
}
