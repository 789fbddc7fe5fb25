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
    let above = |bound: f64| period / bound.max(1e-12) - 1.0;
    let gap_of_all = gap(above(bound), "");

    // A bound on fewer schedules is shown only if it is higher.
    let is_higher = |own: &&SearchedBound| own.period_seconds > bound * (1.0 + NOISE);
    let is_measured = document.predicted.is_measured;
    let searched = searched.filter(is_higher).map_or(String::new(), |own| {
        let least = milliseconds(own.period_seconds);
        let above = above(own.period_seconds);
        // It is none of these pipelines.
        if above < 0.0 && !is_measured {
            return String::new();
        }
        let gap = gap(above, " of them");
        format!("\nNo pipeline in the searched space ({}) has one below {least} ms. Its {gap}.", own.space)
    });

    let clocks = if document.clocks.is_empty() { "" } else { " at these clocks" };
    // Not shown where no schedule reaches it.
    let single = single.filter(|best| *best >= bound * (1.0 - NOISE)).map_or(String::new(), |own| {
        let best = milliseconds(own);
        let memory = if competes_for_memory { ", ignoring memory contention" } else { "" };
        let is_below = above(own) <= -NOISE && is_measured && is_of_single_processors(document);
        let measured = if is_below { format!(" Its {}.", gap(above(own), "")) } else { String::new() };
        format!(
            "\n{best} ms is the least of contiguous stages on one processor each, or replicas of it{memory} (exact).{measured}"
        )
    });
    format!(
        "no schedule by these costs{clocks} has a period below {} ms; its {gap_of_all}.{searched}{single}",
        milliseconds(bound)
    )
}

/// How a schedule's period stands to a bound that it is above by this part, or below if negative: what a trial showed does not change a bound by
/// costs.
fn gap(above: f64, of: &str) -> String {
    match above {
        above if above >= 0.0 => format!("own is at most {:.1} % above the least{of}", 100.0 * above),
        below if below > -NOISE => "own reaches that".to_owned(),
        below => format!("trial was {:.1} % below that: the profile is out of date", -100.0 * below),
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
        // A bound that is no higher than the first says nothing, nor does one on pipelines of which this is none.
        for (own, least) in [(0.0102, 0.01), (0.0102, 0.0105)] {
            assert!(!bound_text(&document(own), None, Some(&searched(least)), false).contains("searched space"));
        }
        let mut tried = document(0.0102);
        tried.predicted.is_measured = true;
        let said = bound_text(&tried, Some(0.0106), Some(&searched(0.0105)), false);
        let below = |percent| format!("trial was {percent} % below that: the profile is out of date.");
        assert!(said.contains(&format!("has one below 10.5 ms. Its {}", below(2.9))), "{said}");
        assert!(said.ends_with(&format!("(exact). Its {}", below(3.8))), "{said}");
        let clocked = ScheduleDocument { clocks: [("B".to_owned(), 1_000_000)].into(), ..document(0.02) };
        assert!(bound_text(&clocked, None, None, true).contains("at these clocks"));
    }
}
