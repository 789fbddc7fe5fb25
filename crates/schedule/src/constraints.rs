//! Constraints that a schedule was planned under, and whether it keeps them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ScheduleError;

/// The limits that a schedule was planned to keep to.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedConstraints {
    /// The longest time of a frame through the pipeline, waiting in queues left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latency_seconds: Option<f64>,
    /// The fewest frames per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_throughput_hertz: Option<f64>,
    /// The highest mean power of the schedule's processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_watts: Option<f64>,
    /// By what part the prediction had to be better than each of these: 0.1 for a tenth.
    #[serde(default)]
    pub margin: f64,
}

/// Numbers of a schedule that were seen at work, or predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Achieved {
    /// Time of a frame through the pipeline, waiting in queues left out.
    pub latency_seconds: f64,
    /// Time between two frames, where always another one was there.
    pub period_seconds: Option<f64>,
    /// Mean power of the schedule's processors, where it is known.
    pub watts: Option<f64>,
}

/// Quantities that constraints limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Constrained {
    /// [`StatedConstraints::max_latency_seconds`].
    Latency,
    /// [`StatedConstraints::max_latency_seconds`] beside the time of a frame with its waiting in queues: no limit to
    /// that, but a measure of it.
    LatencyWithQueues,
    /// The deadline of one of several networks: for a frame with its waiting for others where networks take turns,
    /// without its waiting in queues where each has processors of its own.
    Deadline,
    /// The deadline beside the time of a frame with its waiting in queues, where that is no miss.
    DeadlineWithQueues,
    /// [`StatedConstraints::min_throughput_hertz`].
    Throughput,
    /// [`StatedConstraints::max_watts`].
    Power,
}

/// A constraint that was missed. Values are in seconds, hertz or watts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissedConstraint {
    /// Which one.
    pub what: Constrained,
    /// The limit.
    pub limit: f64,
    /// What it was instead.
    pub achieved: f64,
}

impl MissedConstraint {
    /// Of a limit that something is over, by more than files can tell.
    pub fn over(what: Constrained, limit: f64, achieved: f64) -> Option<Self> {
        is_more(achieved, limit).then_some(Self { what, limit, achieved })
    }

    /// By what part of the limit it was missed.
    pub fn excess(&self) -> f64 {
        (self.achieved / self.limit - 1.0).abs()
    }
}

impl fmt::Display for MissedConstraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, achieved, percent) = (self.limit, self.achieved, 100.0 * self.excess());
        let [limit_ms, achieved_ms] = [1e3 * limit, 1e3 * achieved];

        match self.what {
            Constrained::LatencyWithQueues => {
                return write!(
                    formatter,
                    "a frame took up to {achieved_ms:.3} ms with its waiting, {percent:.1} % over the {limit_ms:.3} ms that were planned without"
                );
            }
            Constrained::Deadline => {
                return write!(
                    formatter,
                    "a frame took up to {achieved_ms:.3} ms, {percent:.1} % over its deadline of {limit_ms:.3} ms"
                );
            }
            Constrained::DeadlineWithQueues => {
                return write!(
                    formatter,
                    "a frame took up to {achieved_ms:.3} ms with its waiting, {percent:.1} % over the deadline of {limit_ms:.3} ms that was planned without"
                );
            }
            Constrained::Latency => {
                write!(formatter, "latency without queues {achieved_ms:.3} ms, {percent:.1} % over the {limit_ms:.3} ms")
            }
            Constrained::Throughput => {
                write!(formatter, "throughput {achieved:.2} frames/s, {percent:.1} % under the {limit:.2} frames/s")
            }
            Constrained::Power => write!(formatter, "power {achieved:.3} W, {percent:.1} % over the {limit:.3} W"),
        }
        .and_then(|()| write!(formatter, " that it was planned for"))
    }
}

impl StatedConstraints {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.max_latency_seconds.is_none() && self.min_throughput_hertz.is_none() && self.max_watts.is_none()
    }

    /// Whether the longest that a frame took from when it came, waiting in queues included, is beyond the limit on its
    /// latency. That limit leaves the waiting out, so this is no miss, but a remark for callers that mean the whole
    /// time.
    pub fn latency_beyond_with_queues(&self, longest_seconds: f64) -> Option<MissedConstraint> {
        MissedConstraint::over(Constrained::LatencyWithQueues, self.max_latency_seconds?, longest_seconds)
    }

    /// The limits that predictions had to keep to: these with their margin, to the nanosecond in which searches count.
    #[must_use]
    pub fn with_margin_taken(&self) -> Self {
        const NANOSECOND: f64 = 1e-9;
        let part = 1.0 + self.margin;
        Self {
            max_latency_seconds: self.max_latency_seconds.map(|most| most / part + NANOSECOND),
            min_throughput_hertz: self.min_throughput_hertz.map(|least| 1.0 / (1.0 / (least * part) + NANOSECOND)),
            max_watts: self.max_watts.map(|most| most / part),
            margin: 0.0,
        }
    }

    /// Which of them were missed.
    pub fn missed(&self, achieved: &Achieved) -> Vec<MissedConstraint> {
        let over = |what, limit: Option<f64>, achieved: Option<f64>| MissedConstraint::over(what, limit?, achieved?);
        let throughput = || {
            let (limit, achieved) = (self.min_throughput_hertz?, 1.0 / achieved.period_seconds?);
            is_more(limit, achieved).then_some(MissedConstraint { what: Constrained::Throughput, limit, achieved })
        };
        let latency = over(Constrained::Latency, self.max_latency_seconds, Some(achieved.latency_seconds));
        let power = over(Constrained::Power, self.max_watts, achieved.watts);
        [latency, throughput(), power].into_iter().flatten().collect()
    }

    /// Whether every number makes sense.
    ///
    /// # Errors
    /// [`ScheduleError::Constraint`] with the field that does not.
    pub(crate) fn check(&self) -> Result<(), ScheduleError> {
        let limits = [
            ("max_latency_seconds", self.max_latency_seconds),
            ("min_throughput_hertz", self.min_throughput_hertz),
            ("max_watts", self.max_watts),
        ];
        let wrong = limits.into_iter().find_map(|(field, value)| Some((field, value.filter(|value| *value <= 0.0)?)));
        let margin = Some(("margin", self.margin)).filter(|(_, margin)| *margin < 0.0);
        match wrong.or(margin) {
            Some((field, value)) => Err(ScheduleError::Constraint { field, value }),
            None => Ok(()),
        }
    }
}

/// What can't be told from the limit in a file is no more.
fn is_more(one: f64, other: f64) -> bool {
    one > other * (1.0 + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_is_said_with_by_how_much() {
        let stated = StatedConstraints {
            max_latency_seconds: Some(0.04),
            min_throughput_hertz: Some(30.0),
            max_watts: Some(2.0),
            margin: 0.1,
        };

        let good = Achieved { latency_seconds: 0.04, period_seconds: Some(1.0 / 30.0), watts: Some(2.0) };
        assert_eq!(stated.missed(&good), []);
        let unknown = Achieved { period_seconds: None, watts: None, ..good };
        assert_eq!(stated.missed(&unknown), []);

        let bad = Achieved { latency_seconds: 0.05, period_seconds: Some(0.04), watts: Some(2.2) };
        let said: Vec<String> = stated.missed(&bad).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "latency without queues 50.000 ms, 25.0 % over the 40.000 ms that it was planned for",
                "throughput 25.00 frames/s, 16.7 % under the 30.00 frames/s that it was planned for",
                "power 2.200 W, 10.0 % over the 2.000 W that it was planned for",
            ]
        );

        assert_eq!(StatedConstraints::default().missed(&bad), []);
        assert_eq!(stated.latency_beyond_with_queues(0.04), None);
        assert_eq!(
            stated.latency_beyond_with_queues(0.06).map(|missed| missed.to_string()).unwrap_or_default(),
            "a frame took up to 60.000 ms with its waiting, 50.0 % over the 40.000 ms that were planned without"
        );
        assert_eq!(StatedConstraints::default().latency_beyond_with_queues(1.0), None);

        let over = |achieved| MissedConstraint::over(Constrained::Deadline, 0.04, achieved);
        assert_eq!(over(0.04), None);
        assert_eq!(
            over(0.05).map(|missed| missed.to_string()).unwrap_or_default(),
            "a frame took up to 50.000 ms, 25.0 % over its deadline of 40.000 ms"
        );
        let with_queues = MissedConstraint::over(Constrained::DeadlineWithQueues, 0.04, 0.05);
        assert_eq!(
            with_queues.map(|missed| missed.to_string()).unwrap_or_default(),
            "a frame took up to 50.000 ms with its waiting, 25.0 % over the deadline of 40.000 ms that was planned without"
        );

        assert!(stated.check().is_ok());
        let said = |stated: StatedConstraints| stated.check().map_err(|error| error.to_string());
        let wrong = StatedConstraints { max_watts: Some(0.0), ..stated };
        assert_eq!(said(wrong), Err("constraints.max_watts: is 0, which is no limit above 0".to_owned()));
        assert!(StatedConstraints { margin: -0.1, ..stated }.check().is_err());
    }

    /// Plans keep limits that are rounded to nanoseconds.
    #[test]
    fn margins_are_taken_from_every_limit() {
        let stated = StatedConstraints {
            max_latency_seconds: Some(0.04),
            min_throughput_hertz: Some(30.0),
            max_watts: Some(2.0),
            margin: 0.07,
        };
        let within = stated.with_margin_taken();
        let rounded_up = |seconds: f64| (seconds * 1e9).ceil() * 1e-9;
        let planned = Achieved {
            latency_seconds: rounded_up(0.04 / 1.07),
            period_seconds: Some(rounded_up(1.0 / 30.0 / 1.07)),
            watts: Some(2.0 / 1.07),
        };
        assert_eq!(within.missed(&planned), []);

        let missed = |achieved: Achieved| within.missed(&achieved).iter().map(|missed| missed.what).collect::<Vec<_>>();
        let longer = 1.0 + 1e-6;
        assert_eq!(missed(Achieved { latency_seconds: 0.04 / 1.07 * longer, ..planned }), [Constrained::Latency]);
        let period_seconds = Some(1.0 / 30.0 / 1.07 * longer);
        assert_eq!(missed(Achieved { period_seconds, ..planned }), [Constrained::Throughput]);
        assert_eq!(missed(Achieved { watts: Some(2.0 / 1.07 * longer), ..planned }), [Constrained::Power]);
    }
}
