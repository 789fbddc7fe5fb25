use millstream_schedule::{ScheduleDocument, SearchedBound};

use crate::milliseconds;

/// A trial may come out so much below the bound by noise alone.
const NOISE: f64 = 0.01;

/// What is proven of a schedule's period by the costs that it was made from, and of which schedules: all of them; those that were searched
/// for; and those whose stages are contiguous and run on one processor each, or on replicas of it, whose shortest period in seconds is
/// `single` if nobody waits for memory. Each in a line.
pub fn bound_text(
    document: &ScheduleDocument,
    single: Option<f64>,
    searched: Option<&SearchedBound>,
    competes_for_memory: bool,
) -> String {
    let (period, bound) = (document.predicted.period_seconds, document.predicted.lower_bound_period_seconds);
    let ratio = period / bound.max(1e-12) - 1.0;
    let gap = match ratio {
        above if above >= 0.0 => format!("its own is at most {:.1} % above the least", 100.0 * above),
        below if below > -NOISE => "its own reaches that".to_owned(),
        // The bound holds by the costs, whatever a trial showed.
        below => format!("its trial was {:.1} % below that: the profile is out of date", -100.0 * below),
    };

    // A bound on fewer schedules is shown only if it is higher.
    let is_shown = |own: &&SearchedBound| own.period_seconds > bound * (1.0 + NOISE) && own.period_seconds <= period;
    let searched = searched.filter(is_shown).map_or(String::new(), |own| {
        let above = (100.0 * (period / own.period_seconds.max(1e-12) - 1.0)).max(0.0);
        let least = milliseconds(own.period_seconds);
        format!(
            "\nNo pipeline in the searched space ({}) has one below {least} ms. Its own is at most {above:.1} % above the least of them.",
            own.space
        )
    });

    let clocks = if document.clocks.is_empty() { "" } else { " at these clocks" };
    // Not shown where no schedule reaches it.
    let single = single.filter(|best| *best >= bound * (1.0 - NOISE)).map_or(String::new(), |best| {
        let best = milliseconds(best);
        let memory = if competes_for_memory { ", ignoring memory contention" } else { "" };
        format!(
            "\n{best} ms is the least of contiguous stages on one processor each, or replicas of it{memory} (exact)."
        )
    });
    format!(
        "no schedule by these costs{clocks} has a period below {} ms; {gap}.{searched}{single}",
        milliseconds(bound)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
    fn a_bound_names_what_it_is_of_and_is_not_what_was_measured() {
        let said = bound_text(&document(0.0102), Some(0.0101), None, false);
        assert!(said.contains("below 10.0 ms; its own is at most 2.0 % above the least."), "{said}");
        assert!(said.contains("10.1 ms is the least of contiguous stages on one processor each"), "{said}");
        let said = bound_text(&document(0.0097), None, None, false);
        assert!(said.contains("below 10.0 ms; its trial was 3.0 % below that: the profile is out of date."), "{said}");
        assert!(!said.contains("exact"), "{said}");
        let said = bound_text(&document(0.0102), Some(0.0101), None, true);
        assert!(said.contains("or replicas of it, ignoring memory contention (exact)."), "{said}");
        assert!(bound_text(&document(0.00995), None, None, false).contains("its own reaches that"));
        let searched = |period_seconds| SearchedBound { period_seconds, space: "stages and teams".to_owned() };
        let said = bound_text(&document(0.0102), None, Some(&searched(0.0102)), false);
        assert!(said.contains("searched space (stages and teams) has one below 10.2 ms."), "{said}");
        assert!(said.contains("Its own is at most 0.0 % above the least of them."), "{said}");
        // A bound that is no higher than the first, or that a trial went below, says nothing.
        for (own, least) in [(0.0102, 0.01), (0.0102, 0.0103)] {
            assert!(!bound_text(&document(own), None, Some(&searched(least)), false).contains("searched space"));
        }
        let clocked = ScheduleDocument { clocks: [("B".to_owned(), 1_000_000)].into(), ..document(0.02) };
        assert!(bound_text(&clocked, None, None, true).contains("at these clocks"));
    }
}
