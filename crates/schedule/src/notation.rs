//! The notation of schedules, such as `B4-(s2|s2)`.

use std::fmt;

use crate::schedule::{Assignment, Replica, Schedule, Stage};

/// Stages joined by `-`, such as `B4-s2-s2`.
impl fmt::Display for Schedule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(formatter, &self.stages, "-")
    }
}

/// Replicas in brackets if there are several: `(s2|s2)`.
impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.replicas.len() == 1 {
            return join(formatter, &self.replicas, "|");
        }
        formatter.write_str("(")?;
        join(formatter, &self.replicas, "|")?;
        formatter.write_str(")")
    }
}

/// Processors that work on one frame together are joined by `+`.
impl fmt::Display for Replica {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processors: Vec<_> = self.assignments.iter().map(|assignment| &assignment.processor).collect();
        join(formatter, &processors, "+")
    }
}

fn join<T: fmt::Display>(formatter: &mut fmt::Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            formatter.write_str(separator)?;
        }
        item.fmt(formatter)?;
    }
    Ok(())
}

impl Replica {
    /// Its processors with their cores, such as `B2 (cores 0 1) + G1`.
    pub fn with_cores(&self) -> String {
        let processors = self.assignments.iter().map(Assignment::with_cores);
        processors.collect::<Vec<_>>().join(" + ")
    }
}

impl Assignment {
    /// Its processor with its cores, such as `B2 (cores 0 1)`.
    pub fn with_cores(&self) -> String {
        let processor = &self.processor;
        let cores: Vec<String> = processor.cores.iter().map(ToString::to_string).collect();
        match cores.as_slice() {
            [] => processor.to_string(),
            [core] => format!("{processor} (core {core})"),
            cores => format!("{processor} (cores {})", cores.join(" ")),
        }
    }
}
