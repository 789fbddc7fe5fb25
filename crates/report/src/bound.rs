//! The lines that say how near to a bound a schedule is, and of what the bound is.

use millstream_schedule::{Objective, ScheduleDocument, SearchedBound};

use crate::duration::milliseconds;

/// A trial may come out so much below the bound by noise alone.
const NOISE: f64 = 0.01;

/// What is proven of a schedule's period by the costs that it was made from, and of which schedules: all of them; those
/// in the space that was `searched`, if this schedule is one of them; and those whose stages are contiguous and run on
/// one processor each, or on replicas of it, whose shortest period in seconds is `single` without memory contention.
/// Each in a line.
pub fn bound_text(
    document: &ScheduleDocument,
    single: Option<f64>,
    searched: Option<&SearchedBound>,
    competes_for_memory: bool,
) -> String {
    let (period, bound) = (document.predicted.period_seconds, document.predicted.lower_bound_period_seconds);
    let above = |bound: f64| period / bound.max(1e-12) - 1.0;
    let is_measured = document.predicted.is_measured;
    // A trial may have been below what costs say.
    let by_costs = if is_measured { " by these costs" } else { "" };
    let clocks = if document.clocks.is_empty() { "" } else { " at these clocks" };
    let gap_of_all = match above(bound) {
        // Where a trial was below what no schedule can be below, the costs are wrong.
        below if below <= -NOISE && is_measured => format!("{}: the costs are too high", beneath(below, is_measured)),
        above => gap(above, "the shortest", is_measured),
    };

    // A bound on fewer schedules is shown only if it is higher.
    let is_higher = |searched: &&SearchedBound| searched.period_seconds > bound * (1.0 + NOISE);
    let searched = searched.filter(is_higher).map_or(String::new(), |higher| {
        let least = milliseconds(higher.period_seconds);
        let above = above(higher.period_seconds);
        // A period by costs that is below it is of none of these pipelines.
        if above < 0.0 && !is_measured {
            return String::new();
        }
        let gap = gap(above, "the shortest of them", is_measured);
        format!("\nSearched were {}. None of these has one below {least} ms{by_costs}{clocks}; {gap}.", higher.space)
    });

    // Not shown where no schedule reaches it.
    let single = single.filter(|best| *best >= bound * (1.0 - NOISE)).map_or(String::new(), |seconds| {
        let best = milliseconds(seconds);
        let is_below = above(seconds) < 0.0 && is_measured && is_of_single_processors(document);
        let measured = if is_below { format!("; {}", beneath(above(seconds), is_measured)) } else { String::new() };
        let stages = "contiguous stages of whole blocks, each on one processor or with replicas on one each";
        if competes_for_memory {
                format!("\nNo pipeline of {stages}, has one below {best} ms{by_costs}{clocks} even without memory contention{measured}.")
            } else { format!("\nThe shortest predicted period of {stages}, is {best} ms{clocks} (exact){measured}.") }
    });
    format!(
        "no schedule by these costs{clocks} has a period below {} ms; {gap_of_all}.{searched}{single}{}",
        milliseconds(bound),
        of_period_only(document.objective)
    )
}

/// Where something else than the period was to be small, that nothing is proven of it.
fn of_period_only(objective: Objective) -> &'static str {
    match objective {
        Objective::Throughput => "",
        Objective::Latency | Objective::Balanced => "\nThis bound is on the period; none is known for the latency.",
        Objective::Energy => "\nThis bound is on the period; none is known for the energy.",
    }
}

/// How a schedule's period stands to a bound that it is above by this part, or below if negative: a trial's period does
/// not change a bound by costs, and may be below it.
fn gap(above: f64, shortest: &str, is_measured: bool) -> String {
    match above {
        // Costs say nothing of how near a trial is to the shortest on the machine.
        above if above >= 0.0 && is_measured => format!("its trial took {:.1} % more than that", 100.0 * above),
        above if above >= 0.0 => format!("this schedule's is at most {:.1} % above {shortest}", 100.0 * above),
        below => beneath(below, is_measured),
    }
}

/// How a period that is below a bound by this part, a negative number, stands to it.
fn beneath(below: f64, is_measured: bool) -> String {
    let percent = -100.0 * below;
    match (below > -NOISE, is_measured) {
        (true, true) => "its trial took about as long".to_owned(),
        (true, false) => "this schedule's reaches that".to_owned(),
        (false, true) => format!("its trial took {percent:.1} % less"),
        (false, false) => format!("this schedule's is {percent:.1} % below that"),
    }
}

/// Whether no frame is worked on by several processors at once within a stage.
fn is_of_single_processors(document: &ScheduleDocument) -> bool {
    let replicas = document.stages.iter().flat_map(|stage| &stage.replicas);
    replicas.into_iter().all(|replica| replica.assignments.len() == 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_schedule::{Prediction, SearchedSpace};

    use super::*;

    fn document(period_seconds: f64) -> ScheduleDocument {
        let text = format!(
            r#"{{"format": "millstream-schedule", "version": 1, "provenance": {{"tool_version": "0", "created": "2026-01-01T00:00:00Z"}},
            "model": {{"name": "m", "source": "m", "digest": "0", "batch": 1}}, "board": {{"name": "b", "fingerprint": "0"}},
            "algorithm": "exact", "objective": "throughput", "configuration": "B1", "stages": [],
            "predicted": {{"period_seconds": {period_seconds}, "latency_seconds": 0.02, "lower_bound_period_seconds": 0.01,
            "replica_seconds": []}}}}"#
        );
        ScheduleDocument::from_json(&text).unwrap()
    }

    #[test]
    fn a_bound_of_the_period_is_none_of_what_else_was_wanted() {
        let said = |objective| bound_text(&ScheduleDocument { objective, ..document(0.0102) }, None, None, false);
        assert!(!said(Objective::Throughput).contains("none is known"));
        for (objective, of) in
            [(Objective::Latency, "latency"), (Objective::Balanced, "latency"), (Objective::Energy, "energy")]
        {
            assert!(said(objective).ends_with(&format!("none is known for the {of}.")), "{objective}");
        }
    }

    #[test]
    fn a_bound_names_what_it_is_of_and_is_not_what_was_measured() {
        let said = bound_text(&document(0.0102), Some(0.0101), None, false);
        assert!(said.contains("below 10.0 ms; this schedule's is at most 2.0 % above the shortest."), "{said}");
        assert!(said.ends_with("with replicas on one each, is 10.1 ms (exact)."), "{said}");
        let said = bound_text(&document(0.0097), None, None, false);
        assert!(said.contains("below 10.0 ms; this schedule's is 3.0 % below that."), "{said}");
        assert!(!said.contains("exact"), "{said}");
        let said = bound_text(&document(0.0102), Some(0.0101), None, true);
        assert!(said.ends_with("has one below 10.1 ms even without memory contention."), "{said}");
        assert!(!said.contains("exact"), "{said}");
        assert!(bound_text(&document(0.00995), None, None, false).contains("this schedule's reaches that"));

        let searched = |period_seconds| SearchedBound { period_seconds, space: SearchedSpace::SingleProcessors };
        let said = bound_text(&document(0.0102), None, Some(&searched(0.0102)), false);
        assert!(said.contains("None of these has one below 10.2 ms;"), "{said}");
        assert!(said.contains("this schedule's is at most 0.0 % above the shortest of them."), "{said}");
        // A bound that is no higher than the first says nothing, nor does one on pipelines of which this is none.
        for (period, least) in [(0.0102, 0.01), (0.0102, 0.0105)] {
            assert!(!bound_text(&document(period), None, Some(&searched(least)), false).contains("Searched were"));
        }
        let mut tried = document(0.0102);
        tried.predicted.is_measured = true;
        let said = bound_text(&tried, None, Some(&searched(0.0102)), false);
        assert!(said.contains("below 10.0 ms; its trial took 2.0 % more than that."), "{said}");
        assert!(said.contains("by these costs; its trial took 0.0 % more than that."), "{said}");
        let said = bound_text(&tried, Some(0.0106), Some(&searched(0.0105)), false);
        let below = |percent| format!("; its trial took {percent} % less.");
        assert!(said.contains(&format!("has one below 10.5 ms by these costs{}", below("2.9"))), "{said}");
        assert!(said.ends_with(&format!("is 10.6 ms (exact){}", below("3.8"))), "{said}");
        let said = bound_text(
            &ScheduleDocument { predicted: Prediction { period_seconds: 0.0097, ..tried.predicted }, ..tried },
            None,
            None,
            false,
        );
        assert!(said.contains("its trial took 3.0 % less: the costs are too high."), "{said}");
        let clocked = ScheduleDocument { clocks: [("B".to_owned(), 1_000_000)].into(), ..document(0.02) };
        let said = bound_text(&clocked, Some(0.0101), Some(&searched(0.0105)), true);
        assert_eq!(said.matches("at these clocks").count(), 3, "{said}");
    }
}
