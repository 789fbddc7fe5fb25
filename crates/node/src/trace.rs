//! What the stages of all hosts did, as one trace for Perfetto.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use millstream_api::board::Processor;
use millstream_api::schedule::{Schedule, StageId};
use millstream_distributed::HostSpan;
use millstream_report::{CoreTracks, FlowStep, TraceEvent, chrome_trace};
use serde_json::Value;

use crate::deployment::{LoadedDeployment, LoadedPlan};

/// Writes what stages did, in the time of the front: a track for every core and accelerator of every host, with the
/// frames that it worked on, and an arrow for each frame from stage to stage.
///
/// # Errors
/// If the file can't be written.
pub fn write_trace(path: &Path, loaded: &LoadedDeployment, spans: &[HostSpan]) -> Result<()> {
    Ok(millstream_api::files::write(path, &trace(loaded, spans))?)
}

fn trace(loaded: &LoadedDeployment, spans: &[HostSpan]) -> String {
    let schedules: Vec<Schedule> = loaded.plans.iter().map(|plan| with_own_cores(loaded, plan)).collect();
    let tracks = CoreTracks::of(&schedules);
    let mut of_frames: BTreeMap<u64, Vec<(HostSpan, Vec<usize>)>> = BTreeMap::new();
    for &span in spans {
        let schedule = schedules.get(span.plan.0);
        let replica = schedule.and_then(|schedule| schedule.replica(StageId::new(span.stage), span.replica));
        let Some(replica) = replica else { continue };
        let own = replica.assignments.iter().flat_map(|assignment| tracks.of_processor(&assignment.processor));
        of_frames.entry(span.sequence).or_default().push((span, own.collect()));
    }

    let mut events = Vec::new();
    for (sequence, mut visits) in of_frames {
        visits.sort_by_key(|(span, _)| (span.begin, span.stage));
        for (place, (span, own)) in visits.iter().enumerate() {
            events.extend(own.iter().map(|&track| slice(loaded, span, track)));
            let step = match place {
                _ if visits.len() < 2 => continue,
                0 => FlowStep::Start,
                last if last + 1 == visits.len() => FlowStep::End,
                _ => FlowStep::Through,
            };
            let at = microseconds(span.begin);
            events.extend(own.first().map(|&track| TraceEvent::Flow { id: sequence, track, at, step }));
        }
    }
    chrome_trace(&tracks.tracks(), &events)
}

/// A frame on a core.
fn slice(loaded: &LoadedDeployment, span: &HostSpan, track: usize) -> TraceEvent {
    let plan = loaded.plans.get(span.plan.0).map_or("", |plan| plan.document.configuration.as_str());
    let arguments = vec![
        ("frame", Value::from(span.sequence)),
        ("stage", Value::from(span.stage + 1)),
        ("replica", Value::from(span.replica + 1)),
        ("schedule", Value::from(plan)),
    ];
    let (start, duration) = (microseconds(span.begin), microseconds(span.end.saturating_sub(span.begin)));
    TraceEvent::Slice { name: format!("frame {}", span.sequence), track, start, duration, arguments }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A plan's schedule with the numbers that the hosts themselves give their cores.
fn with_own_cores(loaded: &LoadedDeployment, plan: &LoadedPlan) -> Schedule {
    plan.schedule.with_processors(|processor| {
        let own = loaded.hosts.system().hosts().iter().find_map(|host| host.own(processor));
        Processor { cores: own.map_or_else(Vec::new, |own| own.cores), ..processor.clone() }
    })
}
