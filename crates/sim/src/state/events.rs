//! The events of a simulation, and the queue that orders them by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use millstream_cost::Nanoseconds;
use millstream_schedule::StageId;
use millstream_schedule::execution::ProcessorId;

use crate::state::ids::{DisturbanceId, FrameId, ReplicaIndex, StreamId};

/// Something that happens at a certain time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A step of a replica. It is void if the replica was stopped since it was scheduled: its epoch has changed then.
    Replica { replica_index: ReplicaIndex, epoch: u32, step: ReplicaStep },
    /// A link between hosts, or between one and outside, is free again.
    LinkFree,
    /// A frame has come over such a link.
    Crossed(CrossedFrame),
    /// A replica of a stream's first stage may begin from now on.
    MayBegin { stream: StreamId },
    /// The next frame of a stream has arrived from its source.
    FrameArrived { stream: StreamId },
    /// A disturbance begins.
    Disturbance(DisturbanceId),
    /// Temperatures are updated.
    TemperatureTick,
}

/// What a replica is through with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReplicaStep {
    /// It has taken its frame over.
    TakenOver,
    /// The inputs that a processor waits for have arrived.
    InputsArrived(ProcessorId),
    /// A processor has ended its task, unless its speed has changed since: `version` is then no longer that of the
    /// processor.
    TaskEnded { processor: ProcessorId, version: u32 },
    /// A processor has sent the values that occupy it while they are sent.
    Sent(ProcessorId),
    /// A processor has fetched a value that occupies it while it is received.
    Fetched(ProcessorId),
}

/// A frame that arrives at a stage, or results that arrive outside. It is void if the stream's schedule has been
/// replaced since it was sent: its generation has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CrossedFrame {
    pub(crate) stream: StreamId,
    pub(crate) stage: StageId,
    pub(crate) frame: FrameId,
    pub(crate) generation: u32,
}

/// The clock and all events to come.
///
/// Invariants: time never goes back; events of the same time happen in the order in which they were scheduled, so that
/// every run of a simulation is the same.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    now: Nanoseconds,
    scheduled: u64,
    handled: u64,
    events: BinaryHeap<Reverse<Due>>,
}

/// An event with its time and its number in the order of scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    time: Nanoseconds,
    number: u64,
    event: Event,
}

impl EventQueue {
    /// The time of the latest event.
    pub(crate) fn now(&self) -> Nanoseconds {
        self.now
    }

    /// Schedules an event for a time.
    pub(crate) fn at(&mut self, time: Nanoseconds, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse(Due { time, number: self.scheduled, event }));
    }

    /// Schedules an event some time from now.
    pub(crate) fn after(&mut self, delay: Nanoseconds, event: Event) {
        self.at(self.now + delay, event);
    }

    /// Advances to the next event that is not void.
    pub(crate) fn next(&mut self, is_void: impl Fn(&Event) -> bool) -> Option<Event> {
        while let Some(Reverse(due)) = self.events.pop() {
            if is_void(&due.event) {
                continue;
            }
            self.now = due.time;
            self.handled += 1;
            return Some(due.event);
        }
        None
    }

    /// Whether nothing is scheduled.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Number of events so far that were not void.
    pub(crate) fn handled(&self) -> u64 {
        self.handled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::numbered::Number;

    #[test]
    fn events_of_one_time_happen_in_the_order_of_scheduling_and_void_ones_do_not_count() {
        let [earlier, later] = [1, 0].map(|index| Event::Disturbance(DisturbanceId::new(index)));
        let mut queue = EventQueue::default();
        queue.at(Nanoseconds(7), Event::TemperatureTick);
        queue.at(Nanoseconds(5), earlier);
        queue.at(Nanoseconds(5), later);
        queue.after(Nanoseconds(6), Event::LinkFree);
        assert_eq!(queue.next(|_| false), Some(earlier));
        assert_eq!(queue.next(|_| false), Some(later));
        assert_eq!((queue.now(), queue.handled()), (Nanoseconds(5), 2));
        assert_eq!(queue.next(|event| *event == Event::LinkFree), Some(Event::TemperatureTick));
        assert_eq!((queue.now(), queue.handled()), (Nanoseconds(7), 3));
        assert!(queue.is_empty());
    }
}
