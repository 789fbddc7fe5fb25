//! Plans as people read them.

use std::collections::BTreeSet;

use millstream::{Network, Plans, clocks_text};
use millstream_board::Board;
use millstream_pipeline::{ClockedPlan, Nanojoules};
use millstream_report::{
    Fact, FrontRow, counted, expectation, front_table, joules, milliseconds, rate, split_table, stage_rows, stage_table,
};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument};

use crate::commands::schedule::one_plan::bound;
use crate::output;

/// The front, with what its table leaves unsaid.
pub(super) fn print_front(front: &[FrontRow], numbers: &str) {
    let (table, left_out) = front_table(front);
    output::line(format!("\nLatency/throughput front ({numbers}):\n"));
    output::table(&table);
    if left_out > 0 {
        output::line(format!("and {left_out} points between them (all with --json)"));
    }
    let names: BTreeSet<&str> = front.iter().map(|row| row.configuration.as_str()).collect();
    if names.len() < front.len() {
        output::line("Rows with the same stages differ in the operators at which these end.");
    }
}

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

    let numbers =
        if document.predicted.is_measured { "predicted; plans that were tried, as measured" } else { "predicted" };
    print_front(front, numbers);

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
            output::fact(&Fact::new("", format!("The idle power of {labels} is not known and counted as 0 W.")));
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
    let (label, source) = expectation(predicted);
    let rates = format!(
        "{} frames/s (period {} ms), latency {} ms{source}.",
        rate(predicted.period_seconds),
        milliseconds(predicted.period_seconds),
        milliseconds(predicted.latency_seconds),
    );
    let mut facts = vec![Fact::new(label, rates), Fact::new("Bound", bound)];
    if let (Some(joules_per_frame), Some(watts)) = (predicted.joules_per_frame, predicted.watts) {
        let text = format!(
            "{} J per frame, {:.2} frames/J, {watts:.2} W on average, by the power of the board's processors.",
            joules(joules_per_frame),
            1.0 / joules_per_frame
        );
        facts.push(Fact::new("Energy", text));
    }
    facts
}

/// The front over clocks.
pub(super) fn print_clocks(network: &Network, board: &Board, front: &[ClockedPlan]) {
    output::prose(format!(
        "{} on {}: energy, period and latency at up to six operating points of each cluster, of stages on single processors and replicas; energies are within 1 % of the least without memory contention, and some rows as simulated with it\n",
        network.name(),
        board.name()
    ));
    let row = |found: &ClockedPlan| FrontRow {
        configuration: format!("{} at {}", found.plan.configuration(), clocks_text(&found.clocks)),
        period_seconds: found.plan.period.seconds(),
        latency_seconds: found.plan.latency.seconds(),
        joules_per_frame: found.plan.energy.map(Nanojoules::joules),
        is_measured: false,
        chosen_for: Vec::new(),
    };
    let (table, left_out) = front_table(&front.iter().map(row).collect::<Vec<_>>());
    output::table(&table);
    if left_out > 0 {
        output::line(format!("and {left_out} points between them"));
    }
    output::line("");
}
