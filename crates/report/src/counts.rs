//! How many there are over time, from when one more came and one went.

use millstream_schedule::StageId;

use crate::trace::TraceEvent;

/// How many frames wait before each stage, as events of a trace. They may be told of in any order, as long as it is
/// said from when on nothing more can come.
#[derive(Debug, Clone, Default)]
pub struct QueueCounts {
    /// When, before which stage, and by how much; what is not yet told.
    changes: Vec<(f64, StageId, i64)>,
    /// How many wait before each stage, as far as it was told.
    waiting: Vec<i64>,
}

impl QueueCounts {
    /// A frame waited before a stage from one moment to another, in microseconds.
    pub fn waited(&mut self, stage: StageId, from: f64, to: f64) {
        if to > from {
            self.changes.extend([(from, stage, 1), (to, stage, -1)]);
        }
    }

    /// The counts until a moment before which nothing more comes. `name` says what stands before the stage's number.
    pub fn until(&mut self, moment: f64, name: &str) -> Vec<TraceEvent> {
        let (mut over, later): (Vec<_>, Vec<_>) = self.changes.drain(..).partition(|change| change.0 < moment);
        self.changes = later;
        over.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut events = Vec::new();
        for (position, &(at, stage, change)) in over.iter().enumerate() {
            let place = stage.index();
            if self.waiting.len() <= place {
                self.waiting.resize(place + 1, 0);
            }
            self.waiting[place] += change;
            // Of changes at one moment, the last says what holds.
            let is_last = over.get(position + 1).is_none_or(|next| (next.0, next.1) != (at, stage));
            let name = format!("{name}waiting before stage {stage}");
            events.extend(is_last.then(|| TraceEvent::Counter { name, at, value: self.waiting[place] as f64 }));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_counted_in_the_order_of_time() {
        let mut counts = QueueCounts::default();
        counts.waited(StageId::FIRST, 0.0, 10.0);
        counts.waited(StageId::FIRST, 5.0, 20.0);
        counts.waited(StageId::new(1), 12.0, 12.0);
        let told = |events: Vec<TraceEvent>| -> Vec<(String, f64, f64)> {
            let counter = |event| match event {
                TraceEvent::Counter { name, at, value } => (name, at, value),
                other => (format!("{other:?}"), 0.0, 0.0),
            };
            events.into_iter().map(counter).collect()
        };
        let name = "waiting before stage 1".to_owned();
        assert_eq!(told(counts.until(6.0, "")), [(name.clone(), 0.0, 1.0), (name.clone(), 5.0, 2.0)]);
        counts.waited(StageId::FIRST, 10.0, 30.0);
        let rest = told(counts.until(f64::INFINITY, ""));
        // One goes and another one comes at 10: two wait still.
        assert_eq!(rest, [(name.clone(), 10.0, 2.0), (name.clone(), 20.0, 1.0), (name, 30.0, 0.0)]);
    }
}
