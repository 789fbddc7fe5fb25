//! Why a graph could not be built.

use thiserror::Error;

/// Why a graph could not be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Operators depend on each other in a circle.
    #[error("the graph has a cycle through the operators {}; a network must be acyclic", first_few(operators))]
    Cycle {
        /// Names of the operators on one cycle.
        operators: Vec<String>,
    },
    /// Two values have the same name.
    #[error("two values are named '{name}'; value names must be unique")]
    DuplicateValue {
        /// The name.
        name: String,
    },
    /// Two operators have the same name.
    #[error("two operators are named '{name}'; operator names must be unique")]
    DuplicateOperator {
        /// The name.
        name: String,
    },
    /// A value is made by two operators, or by an operator although it is a graph input.
    #[error("value '{value}' is made twice: by operator '{operator}' and before it")]
    MadeTwice {
        /// The value's name.
        value: String,
        /// The second producer.
        operator: String,
    },
    /// A value is read or returned but nothing makes it.
    #[error("value '{value}' is {use_of} but nothing makes it and it is not a graph input")]
    NoProducer {
        /// The value's name.
        value: String,
        /// How it is used: "read by operator 'x'" or "a graph output".
        use_of: String,
    },
    /// The graph has no operators.
    #[error("the graph '{graph}' has no operators")]
    Empty {
        /// The graph's name.
        graph: String,
    },
}

/// The first few names, and how many more there are.
fn first_few(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.get(..SHOWN).filter(|_| names.len() > SHOWN) {
        Some(first) => format!("{} and {} more", first.join(", "), names.len() - SHOWN),
        None => names.join(", "),
    }
}
