//! One reader for all files of the project: JSON with a format, a version and fields that are all known.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// What a file of the project holds. [`read_document`] reads it.
pub trait Document: DeserializeOwned {
    /// The value of its field `format`.
    const FORMAT: &'static str;
    /// The value of its field `version`, which is the only one that is read.
    const VERSION: u32;
    /// What it is in messages, such as `profile`.
    const NAME: &'static str;

    /// Checks what types don't: ranges, and parts that refer to each other.
    ///
    /// # Errors
    /// [`DocumentError::Invalid`] with the first field that is wrong.
    fn validate(&self) -> Result<(), DocumentError> {
        Ok(())
    }
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not such a file at all.
    #[error("not a {document}: {detail}")]
    Malformed {
        /// What it should be.
        document: &'static str,
        /// What is wrong, with line and column where known.
        detail: String,
    },
    /// It says something impossible.
    #[error("{document}, {field}: {detail}")]
    Invalid {
        /// What it is.
        document: &'static str,
        /// The field, as a path into the file.
        field: String,
        /// What is wrong with it and what would be right.
        detail: String,
    },
}

impl DocumentError {
    /// A file that is no `D`.
    pub fn malformed<D: Document>(detail: impl Into<String>) -> Self {
        Self::Malformed { document: D::NAME, detail: detail.into() }
    }

    /// A field of a `D` that is wrong.
    pub fn invalid<D: Document>(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid { document: D::NAME, field: field.into(), detail: detail.into() }
    }
}

/// What every file says first.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
}

/// Reads a file: its format and version first, so that a file of another kind is told as such, then its fields.
///
/// # Errors
/// [`DocumentError`] says which field is wrong.
pub fn read_document<D: Document>(text: &str) -> Result<D, DocumentError> {
    let header: Header =
        serde_json::from_str(text).map_err(|error| DocumentError::malformed::<D>(error.to_string()))?;
    check_header::<D>(&header.format, header.version)?;

    let reader = &mut serde_json::Deserializer::from_str(text);
    let document: D = serde_path_to_error::deserialize(reader).map_err(|error| {
        let detail = error.inner().to_string();
        match error.path().to_string().as_str() {
            "." | "?" => DocumentError::malformed::<D>(detail),
            field => DocumentError::invalid::<D>(field, detail),
        }
    })?;
    document.validate()?;
    Ok(document)
}

/// Whether a file says that it is a `D`, whatever else it says.
pub fn is_document<D: Document>(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|header: Header| header.format == D::FORMAT)
}

/// Whether format and version are those that are read here.
pub(crate) fn check_header<D: Document>(format: &str, version: u32) -> Result<(), DocumentError> {
    if format != D::FORMAT {
        return Err(DocumentError::malformed::<D>(format!("its format is '{format}', must be '{}'", D::FORMAT)));
    }
    if version != D::VERSION {
        let detail = format!("is {version}, this version of Millstream reads {}", D::VERSION);
        return Err(DocumentError::invalid::<D>("version", detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Note {
        format: String,
        version: u32,
        lines: Vec<u32>,
    }

    impl Document for Note {
        const FORMAT: &'static str = "test-note";
        const VERSION: u32 = 2;
        const NAME: &'static str = "note";

        fn validate(&self) -> Result<(), DocumentError> {
            if self.lines.is_empty() { Err(DocumentError::invalid::<Self>("lines", "is empty")) } else { Ok(()) }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let message =
            |text: &str| read_document::<Note>(text).map_or_else(|error| error.to_string(), |_| "read".into());
        let with = |rest: &str| format!(r#"{{"format": "test-note", "version": 2, {rest}}}"#);
        assert_eq!(message(&with(r#""lines": [1]"#)), "read");
        assert_eq!(message(&with(r#""lines": []"#)), "note, lines: is empty");
        assert!(message(&with(r#""lines": [1, -1]"#)).starts_with("note, lines[1]: invalid value: integer `-1`"));
        assert!(message(&with(r#""lines": [1], "more": 1"#)).starts_with("note, more: unknown field `more`"));
        assert!(message(&with(r#""pages": 1"#)).contains("unknown field `pages`"));
        assert!(message("{").starts_with("not a note: EOF"));
        assert!(message("[]").starts_with("not a note: "));
        let other = r#"{"format": "test-book", "version": 1, "pages": 7}"#;
        assert_eq!(message(other), "not a note: its format is 'test-book', must be 'test-note'");
        let newer = r#"{"format": "test-note", "version": 3, "pages": 7}"#;
        assert_eq!(message(newer), "note, version: is 3, this version of Millstream reads 2");
        assert!(is_document::<Note>(newer) && !is_document::<Note>(other) && !is_document::<Note>("{"));
    }
}
