//! What was planned for a network, as a part of a page.

use millstream::Network;
use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_predict::LeftOutEngine;
use millstream_report::{
    Fact, FrontRow, Number, Part, ReportChapter, ReportSection, Tone, chosen_row, decision_facts, front_drawing,
    front_table, gantt_drawing, joules, milliseconds, network_drawing, processor_lanes, rate, simulated_bars,
    split_table, stage_rows, stage_table,
};
use millstream_schedule::{Schedule, ScheduleDocument};
use millstream_sim::{Conditions, SimulatedNetwork, simulate_streams};

use super::printing::network_line;
use crate::html::drawn_frames;

/// What the page for browsers shows of a plan.
pub(super) struct PlanPage<'a> {
    pub(super) network: &'a Network,
    pub(super) board: &'a Board,
    pub(super) schedule: &'a Schedule,
    pub(super) document: &'a ScheduleDocument,
    /// Empty where there is none.
    pub(super) front: &'a [FrontRow],
    /// The costs that it was made from, where they are known.
    pub(super) costs: Option<&'a CostTable>,
    /// What is proven of its period.
    pub(super) bound: &'a str,
    /// Engines that no schedule of the network uses.
    pub(super) left_out_engines: &'a [LeftOutEngine],
}

impl PlanPage<'_> {
    /// Its chapter, with more sections at the end.
    pub(super) fn chapter(&self, more: Vec<ReportSection>) -> ReportChapter {
        let graph = self.network.graph();
        let mut stages = vec![Part::Table(stage_table(&stage_rows(self.schedule, self.document, graph)))];
        if let Some(table) = self.costs.and_then(|costs| split_table(self.schedule, graph, costs)) {
            let text = "Operators that processors share, because that lets the stage finish earlier:";
            stages.extend([Part::Text(text.to_owned()), Part::Table(table)]);
        }
        let mut decision = decision_facts(self.document, self.bound, self.front);
        let left_out = self.left_out_engines.iter();
        decision
            .extend(left_out.map(|engine| Fact::new("Left out", format!("{engine}, so it was measured no further."))));
        let mut sections = vec![
            ReportSection::new("What is expected", vec![Part::Numbers(self.numbers())]),
            ReportSection::new("What was decided, and why", vec![Part::Facts(decision)]),
            ReportSection::new("The front", self.front_parts()),
            ReportSection::new("Stages", stages),
            ReportSection::new("Frames on their processors", self.gantt().into_iter().collect()),
        ];
        sections.extend(more);
        let drawing = Part::Drawing(network_drawing(graph, self.schedule));
        sections.push(ReportSection::new("The network and its stages", vec![drawing]));
        ReportChapter { title: network_line(self.network, self.board), sections }
    }

    fn numbers(&self) -> Vec<Number> {
        let predicted = &self.document.predicted;
        let number = |label: &str, value: String, remark: String| Number {
            label: label.to_owned(),
            value,
            remark,
            tone: Tone::Plain,
        };

        let best = predicted.lower_bound_period_seconds;
        let mut numbers = vec![
            number(
                "frames per second",
                rate(predicted.period_seconds),
                if self.document.clocks.is_empty() {
                    format!("by costs at most {}", rate(best))
                } else {
                    format!("by costs at most {} at these clocks", rate(best))
                },
            ),
            number("a frame every", format!("{} ms", milliseconds(predicted.period_seconds)), String::new()),
            number(
                "latency",
                format!("{} ms", milliseconds(predicted.latency_seconds)),
                "through all stages".to_owned(),
            ),
        ];

        if let Some(joules_per_frame) = predicted.joules_per_frame {
            numbers.push(number(
                "energy of a frame",
                format!("{} J", joules(joules_per_frame)),
                format!("{:.2} frames/J", 1.0 / joules_per_frame),
            ));
        }
        if let Some(watts) = predicted.watts {
            numbers.push(number("power", format!("{watts:.2} W"), "of the processors, on average".to_owned()));
        }
        numbers
    }

    fn front_parts(&self) -> Vec<Part> {
        let chosen = chosen_row(self.front, self.document);
        let bound = self.document.predicted.lower_bound_period_seconds;
        let Some(drawing) = front_drawing(self.front, chosen, bound) else { return Vec::new() };
        let (table, left_out) = front_table(self.front);
        let mut parts = vec![Part::Drawing(drawing), Part::Table(table)];
        if left_out > 0 {
            parts.push(Part::Text(format!("In the table, {left_out} points between these are left out.")));
        }
        parts
    }

    /// The first frames, as the simulator has them flow with the costs that the schedule was made from.
    fn gantt(&self) -> Option<Part> {
        let frames = drawn_frames(self.schedule);
        let stream = SimulatedNetwork::new(self.schedule, self.network.graph(), self.costs?, frames);
        let conditions = Conditions {
            keeps_spans: true,
            memory_bytes_per_second: self.board.memory_bytes_per_second(),
            ..Conditions::default()
        };
        let drawing = simulate_streams(&[stream], &conditions).map(|simulations| {
            let bars =
                simulations.first().map(|simulation| simulated_bars(self.schedule, simulation)).unwrap_or_default();
            gantt_drawing(&processor_lanes(self.schedule), &bars, &gantt_caption(frames))
        });
        match drawing {
            Ok(drawing) => drawing.map(Part::Drawing),
            Err(error) => Some(Part::Facts(vec![Fact::warning("Not drawn", error.to_string())])),
        }
    }
}

fn gantt_caption(frames: usize) -> String {
    format!(
        "The first {frames} frames as they should flow, simulated with the costs that the schedule was made from: each in a colour of its own \
         with its number. Where several processors work on one frame, gaps are where they wait for each other."
    )
}
