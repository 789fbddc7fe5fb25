//! The stages of a visit at work.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use millstream_api::{EngineOptions, HostPart, Stream, Tensor};
use millstream_distributed::{FrameTag, FrameValue, HostSpan, PlanId, StageFigures};

use crate::deployment::{LoadedDeployment, LoadedPlan, value_ids};

/// Frames whose times are kept for a trace, the last ones.
const MOST_TRACED: usize = 10_000;

/// When stages worked on frames, by the numbers of these in the stream.
type Traced = Mutex<VecDeque<(u64, Vec<millstream_api::runtime::StageSpan>)>>;

/// Frames that wait for the threads of a visit. Credits bound how many there are.
type Job = (FrameTag, Vec<FrameValue>);

/// What the stages made of a frame.
pub struct Computed {
    /// Which frame.
    pub tag: FrameTag,
    /// What is still needed of it, or why there is nothing.
    pub outcome: Result<Vec<FrameValue>, String>,
}

/// A visit's stages, at work until this is dropped.
pub struct VisitStages {
    jobs: Sender<Job>,
    stream: Arc<Stream<'static>>,
    plan: PlanId,
    /// The place of its first stage in the whole plan.
    first_stage: usize,
    /// If there is to be a trace.
    traced: Option<Arc<Traced>>,
}

/// A frame in the stages, and what of it goes past them.
struct Inside {
    tag: FrameTag,
    past: Vec<FrameValue>,
}

/// What a visit takes and makes.
struct Border {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    needed_after: Vec<u32>,
}

impl VisitStages {
    /// Starts the stages of a visit. What they make of frames goes to `computed`.
    ///
    /// # Errors
    /// If they can't be started here.
    pub fn start(
        loaded: &LoadedDeployment,
        (id, plan): (PlanId, &LoadedPlan),
        part: &HostPart,
        computed: &Sender<Computed>,
    ) -> Result<Self> {
        let loaded_part = part.load(&loaded.hosts, &loaded.network, &plan.document)?;
        let border = Arc::new(Border {
            inputs: value_ids(&loaded_part.inputs),
            outputs: value_ids(&loaded_part.outputs),
            needed_after: value_ids(part.needed_after()),
        });
        let options = EngineOptions::default();
        let stream = Arc::new(Stream::start_shared(&loaded_part.machine, Arc::new(loaded_part.scheduled), &options)?);
        let (jobs, to_submit) = unbounded::<Job>();
        // As many as may be outstanding in any engine.
        let (entered, inside) = bounded::<Inside>(EngineOptions::MOST_IN_FLIGHT);
        let (submitting, taking) = (Arc::clone(&stream), Arc::clone(&stream));
        let (given, made, failed) = (Arc::clone(&border), computed.clone(), computed.clone());
        let submit = move || submit_all(&submitting, &given, &to_submit, &entered, &failed);
        let traced = loaded.deployment.trace.is_some().then(Arc::<Traced>::default);
        let tracing = traced.clone();
        let take = move || take_all(&taking, &border, &inside, &made, tracing.as_deref());
        thread::Builder::new().name("submitting".to_owned()).spawn(submit).context("cannot start a thread")?;
        thread::Builder::new().name("taking".to_owned()).spawn(take).context("cannot start a thread")?;
        Ok(Self { jobs, stream, plan: id, first_stage: part.first_stage().index(), traced })
    }

    /// Hands a frame to the stages.
    pub fn compute(&self, tag: FrameTag, values: Vec<FrameValue>) {
        // The thread lives as long as this does.
        let _ = self.jobs.send((tag, values));
    }

    /// When the stages worked on the last frames, as time since a moment; nothing if there is to be no trace.
    pub fn spans(&self, begin: Instant) -> Vec<HostSpan> {
        let Some(traced) = &self.traced else { return Vec::new() };
        let traced = traced.lock().unwrap_or_else(PoisonError::into_inner);
        let of_frame = |(sequence, spans): &(u64, Vec<millstream_api::runtime::StageSpan>)| {
            let sequence = *sequence;
            let span = move |span: &millstream_api::runtime::StageSpan| HostSpan {
                plan: self.plan,
                stage: self.first_stage + span.stage.index(),
                replica: span.replica,
                sequence,
                begin: span.start.saturating_duration_since(begin),
                end: span.end.saturating_duration_since(begin),
            };
            spans.iter().map(span).collect::<Vec<_>>()
        };
        traced.iter().flat_map(of_frame).collect()
    }

    /// What the stages did so far.
    pub fn figures(&self) -> Vec<StageFigures> {
        let metrics = self.stream.metrics();
        let stages = metrics.iter().enumerate();
        let replicas = stages.flat_map(|(stage, stage_metrics)| {
            stage_metrics.replicas.iter().enumerate().map(move |replica| (stage, replica))
        });
        replicas
            .map(|(stage, (replica, replica_metrics))| StageFigures {
                plan: self.plan,
                stage: self.first_stage + stage,
                replica,
                frames: replica_metrics.frames,
                mean_seconds: replica_metrics.mean().as_secs_f64(),
            })
            .collect()
    }
}

fn submit_all(
    stream: &Stream<'_>,
    border: &Border,
    jobs: &Receiver<Job>,
    entered: &Sender<Inside>,
    failed: &Sender<Computed>,
) {
    for (tag, values) in jobs {
        let refuse = |reason: String| drop(failed.send(Computed { tag, outcome: Err(reason) }));
        let mut known: HashMap<u32, Tensor> = values.into_iter().map(|value| (value.id, value.tensor)).collect();
        let inputs: Option<Vec<Tensor>> = border.inputs.iter().map(|id| known.get(id).cloned()).collect();
        let Some(inputs) = inputs else {
            refuse("values of the frame did not come along".to_owned());
            continue;
        };
        known.retain(|id, _| border.needed_after.contains(id));
        let past = known.into_iter().map(|(id, tensor)| FrameValue { id, tensor }).collect();
        match stream.submit(inputs) {
            Ok(_) => drop(entered.send(Inside { tag, past })),
            Err(error) => refuse(error.to_string()),
        }
    }
}

fn take_all(
    stream: &Stream<'_>,
    border: &Border,
    inside: &Receiver<Inside>,
    computed: &Sender<Computed>,
    traced: Option<&Traced>,
) {
    for Inside { tag, past } in inside {
        let Some(result) = stream.recv() else { continue };
        if let Some(traced) = traced {
            let mut traced = traced.lock().unwrap_or_else(PoisonError::into_inner);
            if traced.len() == MOST_TRACED {
                traced.pop_front();
            }
            traced.push_back((tag.sequence, result.spans));
        }
        let outcome = result.outcome.map_err(|error| error.to_string()).map(|outputs| {
            let made = border.outputs.iter().zip(outputs).map(|(&id, tensor)| FrameValue { id, tensor });
            let is_needed = |value: &FrameValue| border.needed_after.contains(&value.id);
            made.filter(is_needed).chain(past).collect()
        });
        if computed.send(Computed { tag, outcome }).is_err() {
            return;
        }
    }
}
