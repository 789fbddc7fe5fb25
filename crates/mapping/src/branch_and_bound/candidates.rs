//! Which node could be started next, and on which processor.

use std::cmp::Reverse;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::ProcessorId;

use crate::branch_and_bound::{Candidate, Search};

impl Search<'_> {
    /// All nodes on all processors that may still lead to something shorter, the earliest and longest first.
    pub(super) fn candidates(&self, last_start: Nanoseconds) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for node in self.ready() {
            for processor in self.problem.supporting(node) {
                // Of processors that are the same and unused, only the first.
                if self.has_unused_twin_before(processor) {
                    continue;
                }
                let Some(start) = self.start(node, processor, last_start) else { continue };
                let through = self.through(node, processor, start);
                if through < self.incumbent.makespan {
                    candidates.push(Candidate { start, through, node, processor });
                }
            }
        }
        candidates.sort_unstable_by_key(|candidate| {
            (candidate.start, Reverse(candidate.through), candidate.node, candidate.processor)
        });
        candidates
    }

    /// Whether a processor is unused, and one before it that is the same as well.
    fn has_unused_twin_before(&self, processor: ProcessorId) -> bool {
        let twin = self.twins[processor.index()];
        let mut before = (twin.index()..processor.index()).map(ProcessorId::new);
        !self.is_used[processor.index()]
            && before.any(|other| self.twins[other.index()] == twin && !self.is_used[other.index()])
    }
}
