//! What a run showed, put together.

use std::time::Duration;

use millstream_runtime::{StageMetrics, TuningEvent, TuningEventKind};
use millstream_schedule::{Achieved, Schedule, ScheduleDocument};

use crate::run::report::{AdaptationReport, ExpectedReport, NetworkRun, StageReport};
use crate::run::sink::Sink;
use crate::run::surroundings::HeldUp;
use crate::run::{Camera, RunOptions};
use crate::schedules::Scheduled;

/// What was seen of a network.
pub(super) struct Seen<'a> {
    pub(super) scheduled: &'a Scheduled,
    pub(super) options: &'a RunOptions,
    /// Of the schedule that was at work at the end.
    pub(super) document: &'a ScheduleDocument,
    pub(super) at_work: &'a Schedule,
    pub(super) sink: &'a Sink,
    pub(super) metrics: &'a [StageMetrics],
    pub(super) events: &'a [TuningEvent],
    pub(super) warnings: Vec<String>,
    pub(super) watts: Option<f64>,
    pub(super) held_up: HeldUp,
    pub(super) start_up: Option<Duration>,
}

impl Seen<'_> {
    pub(super) fn report(self) -> NetworkRun {
        let Self { scheduled, options, document, at_work, sink, .. } = self;
        let network = &scheduled.network;
        let statistics = &sink.statistics;
        let period = statistics.period(at_work.processors().count());
        let measured_period_seconds = period.map(|time| time.as_secs_f64());
        let frames = statistics.frames as usize;
        let is_adapted = *at_work != scheduled.schedule;
        let expected_period = scheduled.expected_period_seconds;

        let deadline_seconds = statistics.deadline_seconds();
        // What was dropped or failed never came.
        let missed_deadlines = deadline_seconds.map(|_| statistics.late + statistics.failed + sink.dropped);

        let measured_latency_seconds = self.metrics.iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum();
        let achieved = Achieved {
            latency_seconds: measured_latency_seconds,
            // A camera's rate says nothing of what the pipeline could do.
            period_seconds: measured_period_seconds.filter(|_| options.camera.is_none()),
            watts: self.watts,
        };

        NetworkRun {
            beyond_with_queues: scheduled.beyond_with_queues(statistics.latencies.summary().max_seconds),
            missed_constraints: document.constraints.missed(&achieved),
            network: network.name().to_owned(),
            dimensions: network.reference().dimensions,
            configuration: document.configuration.clone(),
            frames,
            different_frames: sink.different_frames(),
            has_own_frames: network.has_own_frames(),
            frames_per_second_offered: options.camera.map(|Camera { hertz, .. }| hertz),
            dropped_frames: sink.dropped,
            failed_frames: statistics.failed,
            predicted_period_seconds: if is_adapted { document.predicted.period_seconds } else { expected_period },
            measured_period_seconds,
            predicted_latency_seconds: document.predicted.latency_seconds,
            measured_latency_seconds,
            deadline_seconds,
            missed_deadlines,
            measured_joules_per_frame: self.watts.zip(measured_period_seconds).map(|(watts, period)| watts * period),
            predicted_joules_per_frame: document.predicted.joules_per_frame,
            largest_difference: sink.largest_difference,
            checked_frames: frames,
            reference_engine: sink.reference_engine(),
            expected: expected(sink),
            stages: stages(at_work, document, self.metrics),
            operators: Vec::new(),
            others_cores: self.held_up.others_cores,
            heat_throttled: self.held_up.heat_throttled,
            throttling: self.held_up.throttling,
            adaptations: self.events.iter().map(adaptation).collect(),
            start_up_seconds: self.start_up.map(|time| time.as_secs_f64()),
            latency: statistics.latencies.summary(),
            warnings: self.warnings,
        }
    }
}

fn expected(sink: &Sink) -> Option<ExpectedReport> {
    let golden = sink.golden()?;
    Some(ExpectedReport {
        path: golden.path().display().to_string(),
        checked_frames: sink.statistics.frames as usize,
        wrong_frames: sink.wrong_frames,
        largest_difference: sink.golden_difference,
    })
}

/// One entry per replica.
pub(crate) fn stages(schedule: &Schedule, document: &ScheduleDocument, metrics: &[StageMetrics]) -> Vec<StageReport> {
    let mut reports = Vec::new();
    for ((id, stage), metrics) in schedule.numbered_stages().zip(metrics) {
        for (position, (replica, metrics)) in stage.replicas.iter().zip(&metrics.replicas).enumerate() {
            reports.push(StageReport {
                stage: id,
                processor: replica.with_cores(),
                predicted_seconds: document.predicted.replica(id, position).unwrap_or(f64::NAN),
                measured_seconds: metrics.mean().as_secs_f64(),
                frames: metrics.frames,
                restarts: metrics.restarts,
                queue_wait_seconds: metrics.mean_queue_wait().as_secs_f64(),
                utilisation: metrics.utilisation(),
            });
        }
    }
    reports
}

fn adaptation(event: &TuningEvent) -> AdaptationReport {
    let (what, configuration, period) = match &event.kind {
        TuningEventKind::Drift { period, .. } => ("drift", None, Some(period)),
        TuningEventKind::Trial { configuration, period } => ("trial", Some(configuration), Some(period)),
        TuningEventKind::Settled { configuration, period } => ("settled", Some(configuration), Some(period)),
        TuningEventKind::Refused { configuration, .. } => ("refused", Some(configuration), None),
        _ => ("other", None, None),
    };
    AdaptationReport {
        seconds: event.at.as_secs_f64(),
        what: what.to_owned(),
        configuration: configuration.cloned(),
        period_seconds: period.map(Duration::as_secs_f64),
        text: event.to_string(),
    }
}
