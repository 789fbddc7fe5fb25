//! Values on their way to other processors.

use millstream_cost::{BlockedEnd, Nanoseconds};

use super::{OutputId, ProcessorId, TaskGraph, TaskId, TransferCost};

/// A transfer that occupied a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Which of the maker's values.
    pub value: OutputId,
    /// Where it went.
    pub to: ProcessorId,
    /// When it was there.
    pub at: Nanoseconds,
    /// How long the transfer took.
    pub time: Nanoseconds,
    /// The end that it occupied.
    pub blocks: BlockedEnd,
}

/// A value that a processor fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// When it was made.
    pub made: Nanoseconds,
    /// The task that made it.
    pub maker: TaskId,
    /// Which of the maker's values it is.
    pub value: OutputId,
    /// What the transfer takes.
    pub time: Nanoseconds,
}

impl Fetch {
    /// When the transfer is over on a processor that is free from some time on.
    pub(super) fn end(self, free: Nanoseconds) -> Nanoseconds {
        free.max(self.made) + self.time
    }
}

/// A processor that a value is sent to, by a transfer that occupies the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipient {
    /// Which of the task's values.
    pub value: OutputId,
    /// The processor.
    pub to: ProcessorId,
    /// What the transfer takes.
    pub time: Nanoseconds,
}

/// The transfers of a task's values that occupy the processor `from` on which they were made, in the order in which it
/// makes them: value by value, processor by processor. `places` tells on which processors a reader is, or could be.
pub fn recipients<I: Iterator<Item = ProcessorId>>(
    graph: &impl TaskGraph,
    task: TaskId,
    from: ProcessorId,
    places: impl Fn(TaskId) -> I,
) -> Vec<Recipient> {
    let mut recipients = Vec::new();
    for dependency in graph.readers(task) {
        for to in places(dependency.reader).filter(|&to| to != from) {
            if let TransferCost { time, blocks: Some(BlockedEnd::Sender) } = graph.transfer(dependency, from, to) {
                recipients.push(Recipient { value: dependency.value, to, time });
            }
        }
    }
    recipients.sort_unstable();
    recipients.dedup_by_key(|recipient| (recipient.value, recipient.to));
    recipients
}
