use millstream_schedule::Prediction;

use crate::milliseconds;

/// What is proven of a schedule's period by the costs that it was made from, and of which schedules: all of them, and those whose stages
/// run on one processor each, or on replicas of it, whose shortest period in seconds is `single`.
pub fn bound_text(predicted: &Prediction, single: Option<f64>) -> String {
    let (period, bound) = (predicted.period_seconds, predicted.lower_bound_period_seconds);
    let gap = match period >= bound {
        true => format!("this one is at most {:.1} % above the best", 100.0 * (period / bound.max(1e-12) - 1.0)),
        // The bound holds by the costs, whatever a trial showed.
        false => format!("measured {:.1} % below it: the profile is out of date", 100.0 * (1.0 - period / bound)),
    };
    let single = single.map_or(String::new(), |best| {
        let best = milliseconds(best);
        format!("\n           {best} ms is the best of stages on one processor each, or replicas of it (exact).")
    });
    format!("no schedule by these costs has a period below {} ms; {gap}.{single}", milliseconds(bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_names_what_it_is_of_and_is_not_what_was_measured() {
        let predicted = Prediction {
            period_seconds: 0.0102,
            latency_seconds: 0.02,
            lower_bound_period_seconds: 0.01,
            replica_seconds: Vec::new(),
            joules_per_frame: None,
            watts: None,
        };
        let said = bound_text(&predicted, Some(0.0101));
        assert!(said.contains("below 10.0 ms; this one is at most 2.0 % above the best."), "{said}");
        assert!(said.contains("10.1 ms is the best of stages on one processor each"), "{said}");
        let said = bound_text(&Prediction { period_seconds: 0.0097, ..predicted }, None);
        assert!(said.contains("below 10.0 ms; measured 3.0 % below it: the profile is out of date."), "{said}");
        assert!(!said.contains("exact"), "{said}");
    }
}
