//! Lists of exceptions: models that an engine may refuse or compute otherwise, and the message for each.

use std::collections::BTreeMap;

use crate::engine::EngineUnderTest;
use crate::error::ConformanceError;

/// Models that ONNX Runtime runs and that are refused here, with what the error must say.
///
/// As a text: a line `== REASON: PART OF THE ERROR`, and below it a model a line. Lines that begin with `#` are
/// remarks. Models below a line `~~ REASON: PART OF WHAT IS WRONG` are not refused: an engine computes them otherwise,
/// at edges that its authors chose.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    expected: BTreeMap<String, Expected>,
}

/// What is expected of a model on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// It is refused, and the error has this part.
    Refusal(String),
    /// Its results are others, and what is said of it has this part.
    Difference(String),
}

impl Refusals {
    /// The list that is checked in for an engine.
    ///
    /// # Errors
    /// As [`Refusals::parse`].
    pub fn checked_in(engine: &EngineUnderTest) -> Result<Self, ConformanceError> {
        Self::parse(engine.refusals())
    }

    /// Reads a list.
    ///
    /// # Errors
    /// [`ConformanceError::Refusals`] for a model without a reason, or one that is listed twice.
    pub fn parse(text: &str) -> Result<Self, ConformanceError> {
        let mut expected = BTreeMap::new();
        let mut message: Option<Expected> = None;
        for (index, line) in text.lines().map(str::trim).enumerate() {
            let wrong = |detail: &str| ConformanceError::Refusals { line: index + 1, detail: detail.to_owned() };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let heading = |mark, expected: fn(String) -> Expected| Some((line.strip_prefix(mark)?, expected));
            if let Some((heading, expected)) =
                heading("== ", Expected::Refusal).or_else(|| heading("~~ ", Expected::Difference))
            {
                let (_, part) =
                    heading.split_once(": ").ok_or_else(|| wrong("a reason reads '== REASON: PART OF THE ERROR'"))?;
                message = Some(expected(part.to_owned()));
                continue;
            }
            let message = message.clone().ok_or_else(|| wrong("a model stands below its reason"))?;
            if expected.insert(line.to_owned(), message).is_some() {
                return Err(wrong("the model is listed twice"));
            }
        }
        Ok(Self { expected })
    }

    /// What is expected of a model, if it is on the list.
    pub fn expected(&self, name: &str) -> Option<&Expected> {
        self.expected.get(name)
    }

    /// All models on the list.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.expected.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_one_reason() {
        let refusals = Refusals::parse("# remark\n== a: x\none\n\n~~ b: y z\ntwo\n").unwrap();
        assert_eq!(refusals.expected("one"), Some(&Expected::Refusal("x".to_owned())));
        assert_eq!(refusals.expected("two"), Some(&Expected::Difference("y z".to_owned())));
        assert_eq!(refusals.expected("three"), None);
        assert!(Refusals::parse("one\n").is_err() && Refusals::parse("== no part\n").is_err());
        assert!(Refusals::parse("== a: x\none\n== b: y\none\n").is_err());
        for list in [include_str!("../refusals.txt"), include_str!("../refusals-openvino.txt")] {
            assert!(Refusals::parse(list).is_ok());
        }
    }
}
