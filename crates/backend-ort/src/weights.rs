//! Weights that sessions share, kept as long as one has them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use millstream_onnx::{Model, Weight};
use ort::session::Session;
use ort::session::builder::{PrepackedWeights, SessionBuilder};
use ort::value::DynValue;

use crate::convert::{WeightValue, weight_value};
use crate::lock::lock;

/// Weights that are looked up before those that nobody has are forgotten for the first time.
const FIRST_SWEEP: usize = 64;

/// What a backend keeps beside the model for its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptWeights {
    /// Weights, and parts of weights, that segments have.
    pub weights: usize,
    /// Bytes of those that are not the model's own: copies, as of parts along an inner dimension.
    pub copied_bytes: u64,
    /// Schedules of which some segment is left, and with it the weights in the order that kernels want. ONNX Runtime
    /// does not tell their size.
    pub schedules: usize,
}

/// The weights of one model.
pub(crate) struct Weights {
    /// Where the model has its weights: addresses, in ascending order.
    of_model: Vec<Range<usize>>,
    shared: Mutex<Shared>,
}

struct Shared {
    weights: HashMap<Key, Weak<SharedWeight>>,
    /// The number of weights at which those that nobody has are forgotten.
    sweep_at: usize,
    /// Packed weights by schedule, the current one's last.
    packed: Vec<Weak<PrepackedWeights>>,
}

/// A weight of the model, or a part of one. The name of a part says which channels it has along which dimension, and
/// must not be taken for that of a weight.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    is_part: bool,
}

/// A weight that sessions have.
pub(crate) struct SharedWeight {
    value: Arc<DynValue>,
    /// What the value looks at.
    _viewed: Option<Weight>,
    copied_bytes: u64,
}

impl Weights {
    pub(crate) fn new(model: &Model) -> Self {
        let mut of_model: Vec<Range<usize>> = model.weights().values().map(addresses).collect();
        of_model.sort_unstable_by_key(|range| range.start);
        let shared = Shared { weights: HashMap::new(), sweep_at: FIRST_SWEEP, packed: Vec::new() };
        Self { of_model, shared: Mutex::new(shared) }
    }

    /// The weight that a sub-model calls `name`, made if no session has it.
    #[expect(unsafe_code, reason = "values that look at weights have to be kept together with them")]
    pub(crate) fn share(&self, model: &Model, name: &str, weight: &Weight) -> Result<Arc<SharedWeight>, String> {
        let is_part = model.weights().get(name).is_none_or(|whole| addresses(whole) != addresses(weight));
        let key = Key { name: name.to_owned(), is_part };
        let mut shared = self.shared();
        if let Some(kept) = shared.weights.get(&key).and_then(Weak::upgrade) {
            return Ok(kept);
        }
        let bytes = |is_own: bool| if is_own { 0 } else { weight.data.len() as u64 };
        // SAFETY: the value stays in this module: it goes to a session in `WeightedSession::commit` alone, which keeps
        // what the value looks at for longer than the session.
        let (value, viewed, copied_bytes) = match unsafe { weight_value(weight) }? {
            WeightValue::Viewed(value) => (value, Some(weight.clone()), bytes(self.is_own(weight))),
            WeightValue::Copied(value) => (value, None, bytes(false)),
        };
        let made = Arc::new(SharedWeight { value: Arc::new(value), _viewed: viewed, copied_bytes });
        shared.weights.insert(key, Arc::downgrade(&made));
        if shared.weights.len() >= shared.sweep_at {
            shared.sweep();
        }
        Ok(made)
    }

    /// Where kernels of the current schedule keep their arrangements of weights.
    pub(crate) fn packed(&self) -> Arc<PrepackedWeights> {
        let mut shared = self.shared();
        if let Some(current) = shared.packed.last().and_then(Weak::upgrade) {
            return current;
        }
        let made = Arc::new(PrepackedWeights::new());
        shared.packed.pop();
        shared.packed.push(Arc::downgrade(&made));
        made
    }

    /// Begins another schedule.
    pub(crate) fn begin_schedule(&self) {
        let mut shared = self.shared();
        shared.sweep();
        shared.packed.push(Weak::new());
    }

    pub(crate) fn kept(&self) -> KeptWeights {
        let shared = self.shared();
        let weights: Vec<_> = shared.weights.values().filter_map(Weak::upgrade).collect();
        KeptWeights {
            weights: weights.len(),
            copied_bytes: weights.iter().map(|weight| weight.copied_bytes).sum(),
            schedules: shared.packed.iter().filter(|packed| packed.strong_count() > 0).count(),
        }
    }

    /// Whether the elements are the model's.
    fn is_own(&self, weight: &Weight) -> bool {
        let addresses = addresses(weight);
        let after = self.of_model.partition_point(|range| range.start <= addresses.start);
        let before = after.checked_sub(1).and_then(|before| self.of_model.get(before));
        before.is_some_and(|range| addresses.end <= range.end)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

impl Shared {
    /// Forgets what nobody has.
    fn sweep(&mut self) {
        self.weights.retain(|_, weight| weight.strong_count() > 0);
        self.sweep_at = (2 * self.weights.len()).max(FIRST_SWEEP);
        self.packed.retain(|packed| packed.strong_count() > 0);
    }
}

fn addresses(weight: &Weight) -> Range<usize> {
    let start = weight.data.as_ptr() as usize;
    start..start + weight.data.len()
}

/// A session with the weights that it uses. Fields are dropped in their order: the session goes first.
pub(crate) struct WeightedSession {
    session: Session,
    _weights: Vec<Arc<SharedWeight>>,
    _packed: Arc<PrepackedWeights>,
}

impl WeightedSession {
    /// Makes the session of an encoded model with these weights by name.
    pub(crate) fn commit(
        mut builder: SessionBuilder,
        model: &[u8],
        weights: Vec<(&str, Arc<SharedWeight>)>,
        packed: Arc<PrepackedWeights>,
    ) -> Result<Self, String> {
        for (name, weight) in &weights {
            let given = builder.with_external_initializer(name, Arc::clone(&weight.value));
            builder = given.map_err(|error| error.to_string())?;
        }
        let session = builder.commit_from_memory(model).map_err(|error| error.to_string())?;
        Ok(Self { session, _weights: weights.into_iter().map(|(_, weight)| weight).collect(), _packed: packed })
    }

    /// A session that brings its weights along.
    pub(crate) fn with_own_weights(session: Session, packed: Arc<PrepackedWeights>) -> Self {
        Self { session, _weights: Vec::new(), _packed: packed }
    }

    /// The session, for a run.
    pub(crate) fn get(&mut self) -> &mut Session {
        &mut self.session
    }
}
