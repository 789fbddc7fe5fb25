//! From a segment to its session: out of the model, or out of the cache.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use millstream_backend::Segment;
use millstream_board::Processor;
use millstream_onnx::{SubModel, WeightStorage};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights, SessionBuilder};

use crate::backend::{OrtBackend, Spinning, ThreadUse};
use crate::lock::lock;
use crate::session_cache::{Lookup, WEIGHTS};
use crate::session_key::SessionKey;
use crate::weights::WeightedSession;

/// Where a session came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Model,
    Stored,
    Cache,
}

impl OrtBackend {
    pub(crate) fn sub_model(&self, segment: &Segment) -> Result<SubModel, String> {
        let sub_model = self.model.sub_model(&segment.operators, segment.portion.as_ref(), WeightStorage::External);
        sub_model.map_err(|error| error.to_string())
    }

    /// A session for the segment, from the cache if it has it.
    pub(crate) fn session(&self, segment: &Segment, processor: &Processor) -> Result<WeightedSession, String> {
        let start = Instant::now();
        let (session, origin) = self.session_and_origin(segment, processor)?;
        let mut preparation = lock(&self.preparation);
        preparation.sessions += 1;
        preparation.from_cache += usize::from(origin == Origin::Cache);
        preparation.stored += usize::from(origin == Origin::Stored);
        preparation.time += start.elapsed();
        Ok(session)
    }

    fn session_and_origin(
        &self,
        segment: &Segment,
        processor: &Processor,
    ) -> Result<(WeightedSession, Origin), String> {
        let sub_model = self.sub_model(segment)?;
        let threads = self.session_threads(segment, processor);
        let packed = self.weights.packed();
        let builder = || self.builder(processor, threads, &packed);
        let commit = |builder| self.commit(builder, &sub_model, &packed);
        if self.place.provider().is_some() {
            return Ok((self.provided(processor, &sub_model, &packed, builder)?, Origin::Model));
        }

        let bytes = sub_model.external_weights.iter().map(|(_, weight)| weight.data.len() as u64).sum();
        let cache = self.cache.as_ref().filter(|cache| self.settings.optimised && cache.has_room_for(bytes));
        if let Some(cache) = cache {
            let key = SessionKey::new(&self.environment.build, &self.model, segment, &sub_model, threads);
            match cache.load(&key, |path| open_optimised(builder()?, path)) {
                Lookup::Found(session) => {
                    return Ok((WeightedSession::with_own_weights(session, packed), Origin::Cache));
                }
                Lookup::Refused => {}
                Lookup::Absent if !self.stores.load(Ordering::Relaxed) => {}
                Lookup::Absent => {
                    let make = |path: &Path| commit(write_optimised(builder()?, path)?);
                    if let Some((session, is_kept)) = cache.store(&key, make) {
                        return Ok((session, if is_kept { Origin::Stored } else { Origin::Model }));
                    }
                }
            }
        }
        Ok((commit(builder()?)?, Origin::Model))
    }

    /// A session for the segment, which writes a profile into `folder`.
    pub(crate) fn profiled_session(
        &self,
        segment: &Segment,
        processor: &Processor,
        folder: &Path,
    ) -> Result<WeightedSession, String> {
        let sub_model = self.sub_model(segment)?;
        let packed = self.weights.packed();
        let threads = self.session_threads(segment, processor);
        self.provided(processor, &sub_model, &packed, || {
            let builder = self.builder(processor, threads, &packed)?;
            builder.with_profiling(folder.join("trace")).map_err(text)
        })
    }

    /// A session wherever the backend computes. A device may refuse a segment only because of results that the segment
    /// needs itself as well; they are handed out apart then.
    fn provided(
        &self,
        processor: &Processor,
        sub_model: &SubModel,
        packed: &Arc<PrepackedWeights>,
        builder: impl Fn() -> Result<SessionBuilder, String>,
    ) -> Result<WeightedSession, String> {
        let make = |sub_model: &SubModel| self.place.make(processor, || self.commit(builder()?, sub_model, packed));
        let refusal = match (make(sub_model), self.place.device()) {
            (Err(refusal), Some(_)) => refusal,
            (made, _) => return made,
        };
        let apart = sub_model.with_outputs_apart().ok_or_else(|| refusal.clone())?;
        make(&apart).map_err(|_| refusal)
    }

    /// Threads of a session; an accelerator has one, which waits for it.
    fn session_threads(&self, segment: &Segment, processor: &Processor) -> usize {
        self.threads.threads(self.model.graph(), segment, processor).max(1)
    }

    /// The settings of a session.
    fn builder(
        &self,
        processor: &Processor,
        threads: usize,
        packed: &PrepackedWeights,
    ) -> Result<SessionBuilder, String> {
        let mut builder = self.environment.session_builder()?;
        let level = if self.settings.optimised { GraphOptimizationLevel::All } else { GraphOptimizationLevel::Disable };
        builder = builder.with_optimization_level(level).map_err(text)?;
        let pool = if self.settings.threads == ThreadUse::Default { 0 } else { threads };
        builder = builder.with_intra_threads(pool).map_err(text)?;
        builder = builder.with_inter_threads(1).map_err(text)?;
        builder = builder.with_prepacked_weights(packed).map_err(text)?;
        let waiting = match self.settings.spinning {
            Spinning::WhileRunning => Some(("session.force_spinning_stop", "1")),
            Spinning::Always => None,
            Spinning::Never => Some(("session.intra_op.allow_spinning", "0")),
        };
        if let Some((key, value)) = waiting {
            builder = builder.with_config_entry(key, value).map_err(text)?;
        }
        if self.settings.exact_integers {
            builder = builder.with_config_entry("session.x64quantprecision", "1").map_err(text)?;
        }
        if let Some(affinities) = self.affinities(processor, threads) {
            builder = builder.with_config_entry("session.intra_op_thread_affinities", affinities).map_err(text)?;
        }
        self.place.add_to(builder, threads)
    }

    /// The session of a sub-model and the model's weights.
    pub(crate) fn commit(
        &self,
        builder: SessionBuilder,
        sub_model: &SubModel,
        packed: &Arc<PrepackedWeights>,
    ) -> Result<WeightedSession, String> {
        let share = |(name, weight)| Ok((name, self.weights.share(&self.model, name, weight)?));
        let weights: Result<_, String> =
            sub_model.external_weights.iter().map(|(name, weight)| share((name.as_str(), weight))).collect();
        WeightedSession::commit(builder, &sub_model.bytes, weights?, Arc::clone(packed))
    }

    /// One entry per pool thread, CPUs counted from 1; the calling thread is not among them.
    fn affinities(&self, processor: &Processor, threads: usize) -> Option<String> {
        let is_pinned = self.settings.threads == ThreadUse::Pinned;
        let pool = processor.cores.get(1..threads).filter(|pool| is_pinned && !pool.is_empty())?;
        Some(pool.iter().map(|core| (core.0 + 1).to_string()).collect::<Vec<_>>().join(";"))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
fn text(error: ort::Error<SessionBuilder>) -> String {
    error.to_string()
}

/// Has the session's graph written to `path` as it is after optimising, with all but the smallest weights beside it.
fn write_optimised(builder: SessionBuilder, path: &Path) -> Result<SessionBuilder, String> {
    let builder = builder.with_optimized_model_path(path).map_err(text)?;
    let file = "session.optimized_model_external_initializers_file_name";
    let builder = builder.with_config_entry(file, WEIGHTS).map_err(text)?;
    let least = "session.optimized_model_external_initializers_min_size_in_bytes";
    builder.with_config_entry(least, "1024").map_err(text)
}

/// The session of a graph that is optimised already.
fn open_optimised(builder: SessionBuilder, path: &Path) -> Result<Session, String> {
    let mut builder = builder.with_optimization_level(GraphOptimizationLevel::Disable).map_err(text)?;
    builder.commit_from_file(path).map_err(|error| error.to_string())
}
