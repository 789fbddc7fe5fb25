//! What tells streams, stages, frames and the parts of the board apart. An id is a number that its doc says, an index a
//! place in one of the lists of [`BoardState`](crate::state::board::BoardState), over all schedules of all streams.

use millstream_schedule::StageId;

use crate::state::numbered::Number;

/// The type of a number that tells things of one kind apart, small enough for events.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(u32);

        impl Number for $name {
            fn new(index: usize) -> Self {
                // Each thing that is counted has a state of its own: memory ends before the type does.
                Self(index as u32)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

number! {
    /// A stream of frames, counted from 0 in the order of the networks that are simulated.
    StreamId
}

number! {
    /// A frame of a stream, counted from 0 in the order of the starts.
    FrameId
}

number! {
    /// A disturbance of the conditions, counted from 0 in their order.
    DisturbanceId
}

number! {
    /// A replica, by its place in [`BoardState::replicas`](crate::state::board::BoardState::replicas).
    ReplicaIndex
}

number! {
    /// A processor of a replica, by its place in
    /// [`BoardState::processors`](crate::state::board::BoardState::processors). A
    /// [`ProcessorId`](millstream_schedule::execution::ProcessorId) counts the processors of one replica.
    BoardProcessorIndex
}

number! {
    /// A cluster or an accelerator, by its place in [`BoardState::clusters`](crate::state::board::BoardState::clusters).
    ClusterIndex
}

/// A stage of the schedule that a stream has now.
impl Number for StageId {
    fn new(index: usize) -> Self {
        Self::new(index)
    }

    fn index(self) -> usize {
        Self::index(self)
    }
}
