//! The front: beside whoever has frames.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use millstream_api::schedule::StageId;
use millstream_api::{CheckedFrames, LatencySummary, Machine};
use millstream_distributed::{
    FrameValue, Front, FrontAction, FrontEvent, HostId, HostSpan, Message, Peer, PlanId, StageFigures, received,
};

use crate::deployment::{LoadedDeployment, value_ids};
use crate::report::{EventReport, HostStageReport, Report};
use crate::trace::write_trace;
use crate::transport::{Incoming, Outlet, Transport};

/// How often the front looks what there is to do.
const TICK: Duration = Duration::from_millis(5);
/// What a report says of frames that somebody wanted no answers of any more.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// How long the figures of hosts are waited for in the end.
const FIGURES: Duration = Duration::from_secs(2);

/// Frames of a network, by number, and what is to be made of them.
pub struct Frames {
    checked: CheckedFrames,
    ids: BTreeMap<u32, millstream_api::graph::ValueId>,
}

impl Frames {
    /// Frames of a deployment's network, with results of sequential inference on this computer.
    ///
    /// # Errors
    /// Whatever keeps the network from running here.
    pub fn new(loaded: &LoadedDeployment) -> Result<Self> {
        let (machine, network) = (Machine::detect()?, &loaded.network);
        let mut checked = CheckedFrames::new(network, &machine)?;
        for plan in &loaded.plans {
            checked = checked.sending((network, &loaded.hosts, &plan.parts), &machine, &received)?;
        }
        if let Some(expected) = &loaded.deployment.expected {
            checked = checked.expecting(network, expected, loaded.deployment.tolerance)?;
        }
        let values: Vec<_> = loaded.network.graph().value_ids().collect();
        let ids = value_ids(&values).into_iter().zip(values).collect();
        Ok(Self { checked, ids })
    }

    fn values(&self, number: u64) -> Vec<FrameValue> {
        let (values, tensors): (Vec<_>, Vec<_>) = self.checked.frame(number).into_iter().unzip();
        value_ids(&values).into_iter().zip(tensors).map(|(id, tensor)| FrameValue { id, tensor }).collect()
    }

    /// How much results differ from sequential inference, or what is wrong with them.
    fn check(&self, number: u64, results: Vec<FrameValue>) -> Result<f64, String> {
        let known = |value: FrameValue| Some((*self.ids.get(&value.id)?, value.tensor));
        let results: Vec<_> = results.into_iter().filter_map(known).collect();
        self.checked.check(number, &results).map_err(|error| error.to_string())
    }
}

/// Streams frames through the hosts and returns what came of it. If `is_over` is set meanwhile, frames that have no
/// answer get none.
///
/// # Errors
/// If nothing can be sent.
pub fn run(loaded: &LoadedDeployment, frames: &Frames, transport: Transport, is_over: &AtomicBool) -> Result<Report> {
    let front = Front::new(loaded.routes(), loaded.identities.clone(), loaded.front_options())?;
    let Transport { outlet, inlet } = transport;
    let mut streaming = Streaming {
        loaded,
        frames,
        front,
        outlet,
        begin: Instant::now(),
        submitted: Vec::new(),
        answered: Vec::new(),
        latencies: Vec::new(),
        report: Report::default(),
        figures: BTreeMap::new(),
        spans: Vec::new(),
    };

    let count = loaded.deployment.frames;
    while (streaming.answered.len() as u64) < count {
        if is_over.load(Ordering::Relaxed) {
            streaming.report.error = Some(INTERRUPTED.to_owned());
            break;
        }
        // First what has come: whoever has answered meanwhile is not silent.
        match inlet.recv_timeout(TICK) {
            Ok(first) => {
                for incoming in std::iter::once(first).chain(inlet.try_iter()) {
                    streaming.receive(&incoming)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                streaming.report.error = Some("the engine of the system has ended".to_owned());
                break;
            }
        }
        let now = streaming.now();
        let actions = streaming.front.tick(now);
        streaming.perform(actions)?;
        if let Some(error) = streaming.front.failure() {
            streaming.report.error = Some(error.to_string());
            break;
        }
        streaming.submit(count)?;
    }
    streaming.gather(&inlet)?;
    if let Some(path) = &loaded.deployment.trace {
        // What the frames came to is worth more.
        if let Err(error) = write_trace(path, loaded, &streaming.spans) {
            tracing::warn!("{error:#}");
        }
    }
    Ok(streaming.finish())
}

struct Streaming<'a> {
    loaded: &'a LoadedDeployment,
    frames: &'a Frames,
    front: Front,
    outlet: Box<dyn Outlet>,
    begin: Instant,
    /// When each frame was submitted.
    submitted: Vec<Duration>,
    /// When each frame was answered.
    answered: Vec<Duration>,
    /// Of those with results.
    latencies: Vec<f64>,
    report: Report,
    figures: BTreeMap<HostId, Vec<StageFigures>>,
    /// What single stages did, if there is to be a trace.
    spans: Vec<HostSpan>,
}

impl Streaming<'_> {
    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    fn receive(&mut self, incoming: &Incoming) -> Result<()> {
        match (incoming.from, Message::decode(&incoming.bytes)) {
            (Peer::Host(host), Ok(message)) => {
                let now = self.now();
                let actions = self.front.receive(host, message, now);
                self.perform(actions)
            }
            (Peer::Front, _) => {
                let now = self.now();
                let actions = self.front.lost_messages("the way to the hosts began anew", now);
                self.perform(actions)
            }
            (from, Err(error)) => {
                tracing::warn!("from {from}: {error}");
                Ok(())
            }
        }
    }

    fn submit(&mut self, count: u64) -> Result<()> {
        while (self.submitted.len() as u64) < count && self.front.has_room() {
            let values = self.frames.values(self.submitted.len() as u64);
            let now = self.now();
            self.submitted.push(now);
            let (_, actions) = self.front.submit(values, now);
            self.perform(actions)?;
        }
        Ok(())
    }

    fn perform(&mut self, actions: Vec<FrontAction>) -> Result<()> {
        for action in actions {
            match action {
                FrontAction::Send { to, message } => self.outlet.send(Peer::Host(to), &message.encode()?)?,
                FrontAction::Answer { sequence, outcome } => {
                    let outcome = outcome.map_err(|failure| failure.to_string());
                    self.take(sequence, outcome.and_then(|results| self.frames.check(sequence, results)));
                }
                FrontAction::Event(event) => self.note(&event),
                FrontAction::Figures { host, figures, spans } => {
                    self.figures.insert(host, figures);
                    self.spans.extend(spans);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, sequence: u64, outcome: Result<f64, String>) {
        let now = self.now();
        // Answers come in order, each once; whoever reads the report need not believe it.
        self.report.is_in_order &= sequence == self.answered.len() as u64;
        self.answered.push(now);
        match outcome {
            Ok(difference) => {
                self.report.checked += 1;
                self.report.largest_difference = self.report.largest_difference.max(difference);
                let submitted = self.submitted.get(self.answered.len() - 1).copied().unwrap_or_default();
                self.latencies.push(now.saturating_sub(submitted).as_secs_f64());
            }
            Err(detail) => self.report.failures.push((sequence, detail)),
        }
    }

    fn note(&mut self, event: &FrontEvent) {
        let name = |host: &HostId| self.loaded.identities.get(host.0).map_or("", |identity| identity.host.as_str());
        let text = match event {
            FrontEvent::Came(host) => format!("host '{}' is there", name(host)),
            FrontEvent::Restarted(host) => format!("host '{}' was started again", name(host)),
            FrontEvent::Lost(host) => format!("host '{}' is lost", name(host)),
            FrontEvent::Streams(PlanId(plan)) => {
                let plan = self.loaded.plans.get(*plan).map_or("", |plan| plan.document.configuration.as_str());
                format!("frames go by {plan}")
            }
            FrontEvent::SendsAgain { frames, detail } => format!("{frames} frames are sent again: {detail}"),
            _ => return,
        };
        tracing::info!("{text}");
        self.report.events.push(EventReport { seconds: self.now().as_secs_f64(), text });
    }

    /// Asks hosts what their stages did, and says that this was all.
    fn gather(&mut self, inlet: &Receiver<Incoming>) -> Result<()> {
        let asking = self.front.ask_figures();
        self.perform(asking)?;
        let until = Instant::now() + FIGURES;
        while self.figures.len() < self.loaded.identities.len()
            && let Ok(incoming) = inlet.recv_deadline(until)
        {
            self.receive(&incoming)?;
        }
        for (place, identity) in self.loaded.identities.iter().enumerate() {
            if !self.figures.contains_key(&HostId(place)) {
                tracing::warn!("host '{}' does not say what its stages did", identity.host);
            }
        }
        let ending = self.front.say_end();
        self.perform(ending)
    }

    fn finish(self) -> Report {
        let Self { loaded, mut report, answered, latencies, figures, frames, .. } = self;
        report.frames = loaded.deployment.frames;
        report.different_frames = frames.checked.different();
        report.sending_changes = frames.checked.sending_changes();
        report.measured_period_seconds = period(&answered);
        report.longest_pause_seconds =
            answered.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).as_secs_f64()).fold(0.0, f64::max);
        report.latency = LatencySummary::of(latencies);
        if let Some(plan) = loaded.plans.first() {
            report.predicted_period_seconds = plan.document.predicted.period_seconds;
            report.configuration.clone_from(&plan.document.configuration);
        }
        report.stages = figures
            .iter()
            .flat_map(|(host, figures)| figures.iter().map(|figures| (*host, figures)))
            .filter_map(|(host, figures)| stage_report(loaded, host, figures))
            .collect();
        report.stages.sort_by_key(|stage| (stage.plan, stage.stage, stage.replica));
        report
    }
}

fn stage_report(loaded: &LoadedDeployment, host: HostId, figures: &StageFigures) -> Option<HostStageReport> {
    let plan = loaded.plans.get(figures.plan.0)?;
    let stage = StageId::new(figures.stage);
    let replica = plan.schedule.replica(stage, figures.replica)?;
    let processors: Vec<String> =
        replica.assignments.iter().map(|assignment| assignment.processor.to_string()).collect();
    Some(HostStageReport {
        host: loaded.identities.get(host.0)?.host.clone(),
        plan: figures.plan.0 + 1,
        stage,
        replica: figures.replica + 1,
        processors: processors.join(" "),
        frames: figures.frames,
        measured_seconds: figures.mean_seconds,
        predicted_seconds: plan.document.predicted.replica(stage, figures.replica).unwrap_or_default(),
    })
}

/// Time between two answers, without the first quarter of the frames, in which the pipeline fills.
fn period(answered: &[Duration]) -> Option<f64> {
    let steady = answered.get(answered.len() / 4..)?;
    let (first, last) = (steady.first()?, steady.last()?);
    let count = steady.len().checked_sub(1).filter(|&count| count > 0)?;
    Some(last.saturating_sub(*first).as_secs_f64() / count as f64)
}
