//! Sizes of open dimensions that several networks are given at once.

use millstream_onnx::{OnnxError, ReadOptions};
use millstream_zoo::ZooError;

use crate::{Error, Network};

impl Network {
    /// How each of several networks is read where all were given the same sizes: a dimension is one of some of them, and is left out for
    /// the others.
    ///
    /// # Errors
    /// [`Error::Unfit`] for a dimension that none of them leaves open. What else is wrong with a network is said when it is opened.
    pub fn options_of_each(sources: &[String], options: &ReadOptions) -> Result<Vec<ReadOptions>, Error> {
        if sources.len() < 2 || options.dimensions.is_empty() {
            return Ok(vec![options.clone(); sources.len()]);
        }
        let own = |source: &String| {
            let mut own = options.clone();
            let unknown = Self::open(source, own.clone()).err().map(unknown_dimensions).unwrap_or_default();
            own.dimensions.retain(|name, _| !unknown.contains(name));
            own
        };
        let each: Vec<ReadOptions> = sources.iter().map(own).collect();

        let is_known = |name: &&String| each.iter().any(|own| own.dimensions.contains_key(*name));
        match options.dimensions.keys().find(|name| !is_known(name)) {
            Some(name) => Err(Error::Unfit(format!("none of {} has an open dimension '{name}'", sources.join(", ")))),
            None => Ok(each),
        }
    }
}

/// Dimensions for which an error says that there are none.
fn unknown_dimensions(error: Error) -> Vec<String> {
    match error {
        Error::File { source, .. } => unknown_dimensions(*source),
        Error::Onnx(OnnxError::UnknownDimensions { unknown, .. })
        | Error::Zoo(ZooError::Model(OnnxError::UnknownDimensions { unknown, .. })) => unknown,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    /// As of files, whose errors name them.
    #[test]
    fn an_error_that_names_a_file_tells_as_much() {
        let unknown = OnnxError::UnknownDimensions { unknown: vec!["n".to_owned()], open: Vec::new() };
        let source = Box::new(Error::Onnx(unknown));
        assert_eq!(unknown_dimensions(Error::File { path: "net.onnx".into(), source }), ["n"]);
        assert!(unknown_dimensions(Error::Closed).is_empty());
    }

    #[test]
    fn a_dimension_belongs_to_the_networks_that_have_it() {
        let sources = ["zoo:minilm-like-int8", "zoo:squeezenet"].map(str::to_owned);
        let options = |name: &str| ReadOptions::default().with_dimensions([(name.to_owned(), 16)]);
        let each = Network::options_of_each(&sources, &options("sequence")).unwrap();
        let sizes: Vec<_> = each.iter().map(|own| own.dimensions.get("sequence").copied()).collect();
        assert_eq!(sizes, [Some(16), None]);

        let message = Network::options_of_each(&sources, &options("sequense")).unwrap_err().to_string();
        assert!(message.contains("'sequense'") && message.contains("squeezenet"), "{message}");
        let message = Network::open(&sources[0], options("sequense")).err().unwrap().to_string();
        let open = message.split("called sequense; those that it leaves open are ").nth(1);
        assert!(open.is_some_and(|names| names.split(", ").any(|name| name == "sequence")), "{message}");
        let message = Network::open(&sources[1], options("sequence")).err().unwrap().to_string();
        assert!(message.contains("sequence; all of its sizes are fixed"), "{message}");
    }
}
