//! What was simulated as a trace for Perfetto.

use std::collections::BTreeMap;

use millstream_board::Processor;
use millstream_graph::Graph;
use millstream_schedule::{Schedule, StageId};
use millstream_sim::{OperatorSpan, Simulation};
use serde_json::Value;

use crate::core_tracks::CoreTracks;
use crate::counts::QueueCounts;
use crate::trace::{FlowStep, TraceEvent, chrome_trace};

/// What was simulated of each network on a board, as a trace for Perfetto: a track for each core with the frames and in
/// them their operators, arrows from stage to stage with each frame, and how many frames wait, how fast clusters are
/// and what processors draw. The simulations must have kept their spans.
pub fn simulation_trace(networks: &[(&Schedule, &Graph, &Simulation)]) -> String {
    let tracks = CoreTracks::of(networks.iter().map(|network| network.0));
    let mut events = Vec::new();
    // Networks that take turns on a core run operators of theirs within each other's frames.
    let each: usize = networks.iter().map(|network| CoreTracks::of([network.0]).tracks().len()).sum();
    let has_own_cores = each == tracks.tracks().len();
    for (index, &(schedule, graph, simulation)) in networks.iter().enumerate() {
        let prefix = if networks.len() > 1 { format!("{} ", graph.name()) } else { String::new() };
        let trace =
            NetworkTrace { index: index as u64, prefix, has_own_cores, schedule, graph, simulation, tracks: &tracks };
        trace.add_to(&mut events);
    }
    // Whatever slows one network's clusters slows all.
    if let Some((_, _, simulation)) = networks.first() {
        events.extend(simulation.speeds.iter().map(|change| TraceEvent::Counter {
            name: format!("speed of {}, %", change.label),
            at: change.at.seconds() * 1e6,
            value: 100.0 * change.factor,
        }));
    }
    chrome_trace(&tracks.tracks(), &events)
}

struct NetworkTrace<'a> {
    index: u64,
    prefix: String,
    has_own_cores: bool,
    schedule: &'a Schedule,
    graph: &'a Graph,
    simulation: &'a Simulation,
    tracks: &'a CoreTracks,
}

/// Operators of a frame that a processor runs one after the other.
struct Visit<'a> {
    spans: Vec<&'a OperatorSpan>,
    start: f64,
    end: f64,
}

impl NetworkTrace<'_> {
    fn add_to(&self, events: &mut Vec<TraceEvent>) {
        let visits = self.visits();
        for visit in &visits {
            self.add_visit(visit, events);
        }
        self.add_frames(&visits, events);
        self.add_power(&visits, events);
    }

    /// In the order of their starts. A fallback has other stages: its spans belong to no track.
    fn visits(&self) -> Vec<Visit<'_>> {
        let is_of_schedule = |span: &&OperatorSpan| self.simulation.fell_back.is_none_or(|at| span.start < at);
        let mut spans: Vec<&OperatorSpan> = self.simulation.spans.iter().filter(is_of_schedule).collect();
        spans.sort_by_key(|span| (span.stage, span.replica, span.processor, span.start));
        let mut visits: Vec<Visit<'_>> = Vec::new();
        for span in spans {
            let (start, end) = (span.start.seconds() * 1e6, span.end.seconds() * 1e6);
            let is_same = |visit: &&mut Visit<'_>| {
                let place = |span: &OperatorSpan| (span.stage, span.replica, span.processor, span.frame);
                visit.spans.first().is_some_and(|first| place(first) == place(span))
            };
            match visits.last_mut().filter(is_same) {
                Some(visit) => {
                    visit.spans.push(span);
                    visit.end = visit.end.max(end);
                }
                None => visits.push(Visit { spans: vec![span], start, end }),
            }
        }
        visits.sort_by(|one, other| one.start.total_cmp(&other.start));
        visits
    }

    fn processor(&self, span: &OperatorSpan) -> Option<&Processor> {
        let replica = self.schedule.replica(span.stage, span.replica)?;
        Some(&replica.assignments.get(span.processor)?.processor)
    }

    fn add_visit(&self, visit: &Visit<'_>, events: &mut Vec<TraceEvent>) {
        let Some((first, processor)) = visit.spans.first().and_then(|span| Some((span, self.processor(span)?))) else {
            return;
        };

        let frame = format!("{}frame {}", self.prefix, first.frame);
        for track in self.tracks.of_processor(processor) {
            let of_frame = || TraceEvent::Slice {
                name: frame.clone(),
                track,
                start: visit.start,
                duration: visit.end - visit.start,
                arguments: vec![
                    ("frame", Value::from(first.frame)),
                    ("stage", Value::from(first.stage.number())),
                    ("processor", Value::from(processor.to_string())),
                    ("operators", Value::from(visit.spans.len())),
                ],
            };
            events.extend(self.has_own_cores.then(of_frame));

            for span in &visit.spans {
                let operator = self.graph.operator(span.operator);
                let prefix = if self.has_own_cores { String::new() } else { format!("{frame}, ") };
                events.push(TraceEvent::Slice {
                    name: format!("{prefix}{}", operator.name),
                    track,
                    start: span.start.seconds() * 1e6,
                    duration: (span.end - span.start).seconds() * 1e6,
                    arguments: vec![
                        ("frame", Value::from(span.frame)),
                        ("type", Value::from(operator.op_type.clone())),
                    ],
                });
            }
        }
    }

    /// Arrows from stage to stage, and how many frames wait before each.
    fn add_frames(&self, visits: &[Visit<'_>], events: &mut Vec<TraceEvent>) {
        // Of each frame, stage by stage: when it was there, and the track where that began.
        let mut stays: BTreeMap<usize, BTreeMap<StageId, (f64, f64, usize)>> = BTreeMap::new();
        for visit in visits {
            let Some(first) = visit.spans.first() else { continue };
            let tracks = self.processor(first).map(|processor| self.tracks.of_processor(processor));
            let Some(track) = tracks.and_then(|tracks| tracks.first().copied()) else { continue };
            let stay =
                stays.entry(first.frame).or_default().entry(first.stage).or_insert((visit.start, visit.end, track));
            stay.1 = stay.1.max(visit.end);
        }
        let mut counts = QueueCounts::default();
        for (frame, stay) in &stays {
            let mut free = self.simulation.frames.get(*frame).map(|times| times.start.seconds() * 1e6);
            for (place, (stage, (start, end, track))) in stay.iter().enumerate() {
                free.into_iter().for_each(|free| counts.waited(*stage, free, *start));
                free = Some(*end);
                let step = match place {
                    _ if stay.len() < 2 => continue,
                    0 => FlowStep::Start,
                    last if last + 1 == stay.len() => FlowStep::End,
                    _ => FlowStep::Through,
                };
                let id = self.index << 48 | *frame as u64;
                events.push(TraceEvent::Flow { id, track: *track, at: *start, step });
            }
        }
        events.extend(counts.until(f64::INFINITY, &self.prefix));
    }

    /// What processors draw beyond their idle power, if that is known: on average while they work.
    fn add_power(&self, visits: &[Visit<'_>], events: &mut Vec<TraceEvent>) {
        let watts = |span: &OperatorSpan| -> Option<f64> {
            let of = |values: &[Vec<Vec<f64>>]| {
                values.get(span.stage.index())?.get(span.replica)?.get(span.processor).copied()
            };
            let busy = self.simulation.busy.get(span.stage.index())?.get(span.replica)?.get(span.processor)?.seconds();
            of(&self.simulation.active_joules).filter(|_| busy > 0.0).map(|joules| joules / busy)
        };
        let mut changes: Vec<(f64, f64)> = Vec::new();
        for visit in visits {
            let drawn_watts = visit.spans.first().and_then(|span| watts(span)).filter(|watts| *watts > 0.0);
            changes.extend(drawn_watts.into_iter().flat_map(|watts| [(visit.start, watts), (visit.end, -watts)]));
        }
        changes.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut sum = 0.0;
        for (at, change) in changes {
            sum += change;
            let name = format!("{}power beyond idle, W", self.prefix);
            events.push(TraceEvent::Counter { name, at, value: f64::max(sum, 0.0) });
        }
    }
}
