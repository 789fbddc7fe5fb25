//! Small models with results computed by hand.

mod draft;
mod elements;
mod integers;
mod maps;
mod moves;
mod products;

use crate::golden::draft::Golden;

/// All of them.
pub(crate) fn all() -> Vec<Golden> {
    [maps::cases(), products::cases(), elements::cases(), moves::cases(), integers::cases()]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Whoever adds an operator to the zoo adds a case here.
    #[test]
    fn every_operator_and_family_of_the_zoo_has_a_case() {
        let mut known = BTreeSet::new();
        for case in all() {
            let model = case.model.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let operators = model.graph().operators().iter();
            known.extend(operators.map(|operator| (operator.op_type.clone(), operator.kind.family())));
        }
        let mut missing = BTreeSet::new();
        for name in millstream_zoo::names() {
            let model = millstream_zoo::build(name).unwrap();
            for operator in model.graph().operators() {
                let key = (operator.op_type.clone(), operator.kind.family());
                if !known.contains(&key) {
                    missing.insert(key);
                }
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }
}
