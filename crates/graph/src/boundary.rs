//! What crosses the border of some operators.

use std::collections::HashSet;

use crate::graph::Graph;
use crate::operator::OperatorId;
use crate::value::ValueId;

/// The values that cross the border of a set of operators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Boundary {
    /// Values that the set reads and does not make, in order of first use.
    pub inputs: Vec<ValueId>,
    /// Values that the set makes and that are read outside it or returned by the network, in order of making.
    pub outputs: Vec<ValueId>,
}

impl Graph {
    /// What crosses the border of `operators`, which are given in the order in which they run.
    pub fn boundary(&self, operators: &[OperatorId]) -> Boundary {
        let members: HashSet<OperatorId> = operators.iter().copied().collect();
        let is_outside = |operator: OperatorId| !members.contains(&operator);
        let mut boundary = Boundary::default();
        let mut seen = HashSet::new();
        for &id in operators {
            let operator = self.operator(id);
            for &value in &operator.inputs {
                if self.producer(value).is_none_or(is_outside) && seen.insert(value) {
                    boundary.inputs.push(value);
                }
            }
            for &value in &operator.outputs {
                if self.outputs().contains(&value) || self.readers(value).iter().copied().any(is_outside) {
                    boundary.outputs.push(value);
                }
            }
        }
        boundary
    }
}
