use std::collections::BTreeMap;

use crate::ConformanceError;

/// Models that ONNX Runtime runs and that are refused here, with what the error must say.
///
/// As a text: a line `== REASON: PART OF THE ERROR`, and below it a model a line. Lines that begin with `#` are remarks.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    expected: BTreeMap<String, String>,
}

impl Refusals {
    /// The list that is checked in.
    ///
    /// # Errors
    /// As [`Refusals::parse`].
    pub fn checked_in() -> Result<Self, ConformanceError> {
        Self::parse(include_str!("../refusals.txt"))
    }

    /// Reads a list.
    ///
    /// # Errors
    /// [`ConformanceError::Refusals`] for a model without a reason, or one that is listed twice.
    pub fn parse(text: &str) -> Result<Self, ConformanceError> {
        let mut expected = BTreeMap::new();
        let mut message: Option<&str> = None;
        for (index, line) in text.lines().map(str::trim).enumerate() {
            let wrong = |detail: &str| ConformanceError::Refusals { line: index + 1, detail: detail.to_owned() };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(heading) = line.strip_prefix("== ") {
                let (_, part) =
                    heading.split_once(": ").ok_or_else(|| wrong("a reason reads '== REASON: PART OF THE ERROR'"))?;
                message = Some(part);
                continue;
            }
            let message = message.ok_or_else(|| wrong("a model stands below its reason"))?;
            if expected.insert(line.to_owned(), message.to_owned()).is_some() {
                return Err(wrong("the model is listed twice"));
            }
        }
        Ok(Self { expected })
    }

    /// What the error of a model must contain, if the model is refused.
    pub fn expected(&self, name: &str) -> Option<&str> {
        self.expected.get(name).map(String::as_str)
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
        let refusals = Refusals::parse("# remark\n== a: x\none\n\n== b: y z\ntwo\n").unwrap();
        assert_eq!((refusals.expected("one"), refusals.expected("two")), (Some("x"), Some("y z")));
        assert_eq!(refusals.expected("three"), None);
        assert!(Refusals::parse("one\n").is_err() && Refusals::parse("== no part\n").is_err());
        assert!(Refusals::parse("== a: x\none\n== b: y\none\n").is_err());
        assert!(Refusals::checked_in().is_ok());
    }
}
