//! The conformance suite over a provider that a plug-in brings, on cores: what it does not take, ONNX Runtime computes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_test::Subject;
use millstream_board::{EngineLabel, Processor, Provider, ProviderName};
use millstream_onnx::Model;
use millstream_test_support::not_tested;

fn plugin() -> Option<Provider> {
    let library = std::env::var_os("MILLSTREAM_PLUGIN").map(PathBuf::from).filter(|file| file.is_file());
    if library.is_none() {
        not_tested("PLUGIN", "there is no plug-in here: run through `cargo xtask test` on Linux and x86-64");
    }
    Some(Provider {
        engine: EngineLabel::try_from("kernels").unwrap(),
        provider: ProviderName::try_from("cpu_ep".to_owned()).unwrap(),
        options: BTreeMap::new(),
        library: Some(library?),
        device: None,
    })
}

fn open(model: &Arc<Model>) -> Result<Box<dyn Observed>, BackendError> {
    Ok(Box::new(OrtBackend::with_provider(&Environment::load()?, Arc::clone(model), &plugin().unwrap())?))
}

fn reference(model: &Arc<Model>) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(OrtBackend::new(&Environment::load()?, Arc::clone(model))))
}

/// Networks with most kinds of layers. The quantised transformer is not among them: what the plug-in takes of it in the
/// whole and what in a part are other operators, so that bytes are rounded at other places.
const SOME: [&str; 3] = ["squeezenet", "mobilenet-v2", "bevformer-like"];
/// One of bytes.
const QUANTISED: &str = "mobilenet-v2-int8";

/// Whether ONNX Runtime multiplies bytes without saturating: where the processor has no instructions for that, its sums
/// of two products do, the plug-in's don't, and results depend on which of them computes an operator.
fn adds_products_exactly() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has_instructions = std::is_x86_feature_detected!("avx512vnni") || std::is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    let has_instructions = true;
    has_instructions
}

/// Its kernels add in another order, so that bytes may be a step away.
fn subject() -> Option<Subject> {
    plugin()?;
    let processor = Processor::new("B", [0]);
    let subject = Subject::new(processor.clone(), Processor::accelerator("G"), open);
    let quantised = adds_products_exactly().then_some(QUANTISED);
    let networks = SOME.into_iter().chain(quantised);
    Some(subject.compared_with(processor, reference).rounding_otherwise().networks(networks))
}

millstream_backend_test::conformance!(subject());
