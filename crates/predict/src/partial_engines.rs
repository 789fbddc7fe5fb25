//! What engines run of a network that do not run all of it.

use millstream_board::ProcessorClass;

use crate::profile::NetworkProfile;
use crate::unsupported::UnsupportedOperators;

/// So many operators are named at most.
const MOST_NAMED: usize = 3;

impl NetworkProfile {
    /// Whether a processor runs each block.
    pub(crate) fn blocks_run_on(&self, class: &ProcessorClass) -> Vec<bool> {
        let missing = self.unsupported.iter().filter(|unsupported| unsupported.concerns(class));
        let missing: Vec<usize> = missing.flat_map(|unsupported| unsupported.operators.iter().copied()).collect();
        let mut first = 0;
        let of_block = |block: &Vec<_>| {
            let operators = first..first + block.len();
            first = operators.end;
            !missing.iter().any(|operator| operators.contains(operator))
        };
        self.blocks.iter().map(of_block).collect()
    }

    /// Operators that an engine does not run, for people: how many, and the first of them by name.
    pub fn unsupported_text(&self, unsupported: &UnsupportedOperators) -> String {
        let UnsupportedOperators { cluster, engine, operators } = unsupported;
        let all: Vec<_> = self.operators().collect();
        let named = operators.iter().filter_map(|&index| all.get(index)).take(MOST_NAMED);
        let mut named: Vec<String> = named.map(|record| format!("{} ({})", record.name, record.op_type)).collect();
        if operators.len() > MOST_NAMED {
            named.push(format!("{} more", operators.len() - MOST_NAMED));
        }
        let of = all.len();
        format!("{engine} does not run {} of {of} operators on {cluster}: {}", operators.len(), named.join(", "))
    }
}
