//! Sizes of open dimensions that several networks are given at once.

use millstream_onnx::{OnnxError, ReadOptions};
use millstream_zoo::ZooError;

use crate::error::Error;
use crate::network::Network;

impl Network {
    /// How each of several networks is read where all were given the same sizes: a dimension, or a batch, is for those
    /// that leave it open, and is left out for the others.
    ///
    /// # Errors
    /// [`Error::Unfit`] for what none of them leaves open. What else is wrong with a network is said when it is opened.
    pub fn options_of_each(sources: &[String], options: &ReadOptions) -> Result<Vec<ReadOptions>, Error> {
        let usual = ReadOptions::default();
        let has_sizes = !options.dimensions.is_empty() || options.batch != usual.batch;
        if sources.len() < 2 || !has_sizes {
            return Ok(vec![options.clone(); sources.len()]);
        }
        let options_of = |source: &String| {
            let mut kept = options.clone();
            while let Err(error) = Self::open(source, kept.clone()) {
                if !leave_out(&mut kept, error, &usual) {
                    break;
                }
            }
            kept
        };
        let each: Vec<ReadOptions> = sources.iter().map(options_of).collect();

        let is_known = |name: &&String| each.iter().any(|read| read.dimensions.contains_key(*name));
        if let Some(name) = options.dimensions.keys().find(|name| !is_known(name)) {
            return Err(Error::Unfit(format!("none of {} has an open dimension '{name}'", sources.join(", "))));
        }
        if each.iter().any(|read| read.batch == options.batch) {
            Ok(each)
        } else {
            Err(Error::Unfit(format!("none of {} can be a batch of {}", sources.join(", "), options.batch)))
        }
    }
}

/// Leaves out what a network does not leave open, as an error says; whether it is such an error.
fn leave_out(options: &mut ReadOptions, error: Error, usual: &ReadOptions) -> bool {
    match error {
        Error::File { source, .. } => return leave_out(options, *source, usual),
        Error::Onnx(error) | Error::Zoo(ZooError::Model(error)) => match error {
            OnnxError::UnknownDimensions { unknown, .. } => {
                options.dimensions.retain(|name, _| !unknown.contains(name));
            }
            OnnxError::NoBatch { .. } => options.batch = usual.batch,
            _ => return false,
        },
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    /// As of files, whose errors name them.
    #[test]
    fn an_error_that_names_a_file_tells_as_much() {
        let usual = ReadOptions::default();
        let mut options = usual.clone().with_batch(2).with_dimensions([("n".to_owned(), 3)]);
        let in_file = |error| Error::File { path: "net.onnx".into(), source: Box::new(Error::Onnx(error)) };
        let unknown = OnnxError::UnknownDimensions { unknown: vec!["n".to_owned()], open: Vec::new() };
        assert!(leave_out(&mut options, in_file(unknown), &usual) && options.dimensions.is_empty());
        assert!(leave_out(&mut options, in_file(OnnxError::NoBatch { batch: 2 }), &usual) && options.batch == 1);
        assert!(!leave_out(&mut options, Error::Closed, &usual));
    }

    #[test]
    fn a_dimension_belongs_to_the_networks_that_have_it() {
        let sources = ["zoo:minilm-like-int8", "zoo:squeezenet"].map(str::to_owned);
        let options = |name: &str| ReadOptions::default().with_dimensions([(name.to_owned(), 16)]);
        let each = Network::options_of_each(&sources, &options("sequence")).unwrap();
        let sizes: Vec<_> = each.iter().map(|read| read.dimensions.get("sequence").copied()).collect();
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
