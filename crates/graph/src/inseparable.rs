//! Operators that can't be on different processors.

use crate::graph::Graph;
use crate::operator::OperatorId;

impl Graph {
    /// Whether an operator must be on the same processor as what makes its input, with nothing waited for in between:
    /// they are one quantised operator, or hand over a value of unknown type, at which nothing can start or end.
    pub fn is_inseparable(&self, producer: OperatorId, reader: OperatorId) -> bool {
        self.hands_over_untyped(producer, reader) || self.is_one_quantised_operator(producer, reader)
    }

    /// What makes the inputs of an operator and can't be apart from it.
    pub fn inseparable_producers(&self, reader: OperatorId) -> impl Iterator<Item = OperatorId> {
        self.producers(reader).filter(move |&producer| self.is_inseparable(producer, reader))
    }

    /// Whether there are any such operators.
    pub fn has_inseparable_operators(&self) -> bool {
        self.has_inseparable
    }

    /// Whether an operator makes a value of unknown type, such as what an `If` may return, that another one reads.
    pub fn hands_over_untyped(&self, producer: OperatorId, reader: OperatorId) -> bool {
        let mut made = self.operator(producer).outputs.iter().filter(|&&value| self.value(value).data_type.is_none());
        made.any(|value| self.operator(reader).inputs.contains(value))
    }
}
