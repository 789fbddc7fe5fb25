//! Plans as people read them.

use millstream::{Network, Plans, clocks_text};
use millstream_board::Board;
use millstream_pipeline::{ClockedPlan, Nanojoules};
use millstream_report::{
    Fact, FrontRow, counted, front_table, joules, milliseconds, rate, split_table, stage_rows, stage_table,
};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument};

use crate::commands::schedule::one_plan::bound;
use crate::output;

/// What a search found.
pub(super) fn print(
    network: &Network,
    board: &Board,
    front: &[FrontRow],
    schedule: &Schedule,
    document: &ScheduleDocument,
    plans: &Plans,
) {
    let graph = network.graph();
    output::line(network_line(network, board));

    let (table, left_out) = front_table(front);
    let numbers = if document.predicted.is_measured { "predicted; what was tried, as measured" } else { "predicted" };
    output::line(format!("\nLatency/throughput front ({numbers}):\n"));
    output::table(&table);
    if left_out > 0 {
        output::line(format!("and {left_out} points between them (all with --json)"));
    }

    let predicted = &document.predicted;
    output::line(format!("\nChosen for {}: {}\n", document.objective, document.configuration));
    if !document.clocks.is_empty() {
        output::line(format!("Clocks: {}\n", clocks_text(&document.clocks)));
    }
    output::table(&stage_table(&stage_rows(schedule, document, network.graph())));
    if let Some(table) = split_table(schedule, graph, &plans.table) {
        output::line("\nOperators that processors share, because that lets the stage finish earlier:\n");
        output::table(&table);
    }

    output::line("");
    output::facts(&prediction_facts(predicted, &bound(document, plans)));
    if predicted.joules_per_frame.and(predicted.watts).is_some() {
        let unknown = plans.without_idle_power(schedule);
        if !unknown.is_empty() {
            let labels = unknown.join(", ");
            output::fact(&Fact::new("", format!("The idle power of {labels} is not known: it counts as nothing.")));
        }
    }
}

/// What a network is, and where.
pub(super) fn network_line(network: &Network, board: &Board) -> String {
    let graph = network.graph();
    format!(
        "{} on {}: {} in {}, {:.2} giga-MACs",
        network.name(),
        board.name(),
        counted(graph.operators().len() as u64, "operator", "operators"),
        counted(network.chain().blocks().len() as u64, "block", "blocks"),
        graph.macs() as f64 / 1e9
    )
}

/// What a schedule should achieve, what is proven of it, and what it costs in energy.
pub(super) fn prediction_facts(predicted: &Prediction, bound: &str) -> Vec<Fact> {
    let rates = format!(
        "{} frames/s (period {} ms), latency {} ms.",
        rate(predicted.period_seconds),
        milliseconds(predicted.period_seconds),
        milliseconds(predicted.latency_seconds),
    );
    let mut facts = vec![Fact::new("Predicted", rates), Fact::new("Bound", bound)];
    if let (Some(own), Some(watts)) = (predicted.joules_per_frame, predicted.watts) {
        let text = format!(
            "{} J per frame, {:.2} frames/J, {watts:.2} W on average, by the power of the board's processors.",
            joules(own),
            1.0 / own
        );
        facts.push(Fact::new("Energy", text));
    }
    facts
}

/// The front over all clocks.
pub(super) fn print_clocks(network: &Network, board: &Board, front: &[ClockedPlan]) {
    output::line(format!("{} on {}: energy, period and latency over all clocks\n", network.name(), board.name()));
    let row = |own: &ClockedPlan| FrontRow {
        configuration: format!("{} at {}", own.plan.configuration(), clocks_text(&own.clocks)),
        period_seconds: own.plan.period.seconds(),
        latency_seconds: own.plan.latency.seconds(),
        joules_per_frame: own.plan.energy.map(Nanojoules::joules),
        chosen_for: Vec::new(),
    };
    let (table, left_out) = front_table(&front.iter().map(row).collect::<Vec<_>>());
    output::table(&table);
    output::line(format!("and {left_out} points between them\n"));
}
