//! Loading the network that a command works on.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use millstream_onnx::{Model, ReadOptions};
use millstream_partition::Chain;
use millstream_schedule::ModelReference;

use crate::arguments::DimensionArguments;

/// A network with where it came from.
pub(crate) struct Network {
    pub(crate) model: Arc<Model>,
    pub(crate) chain: Chain,
    pub(crate) source: String,
    options: ReadOptions,
}

impl Network {
    /// Loads `zoo:NAME` or an ONNX file.
    pub(crate) fn load(source: &str, dimensions: &DimensionArguments) -> Result<Self> {
        let options = ReadOptions {
            batch: dimensions.batch.unwrap_or(1) as usize,
            dimensions: dimensions.dimensions.iter().cloned().collect(),
            ..ReadOptions::default()
        };
        Self::with_options(source, options)
    }

    /// Loads the network that a schedule was made for.
    pub(crate) fn of_schedule(reference: &ModelReference) -> Result<Self> {
        let dimensions = reference.dimensions.iter().cloned().collect();
        let options = ReadOptions { batch: reference.batch, dimensions, ..ReadOptions::default() };
        Self::with_options(&reference.source, options)
    }

    fn with_options(source: &str, options: ReadOptions) -> Result<Self> {
        let model = match source.strip_prefix("zoo:") {
            Some(name) => millstream_zoo::build(name)?,
            None => Model::read(Path::new(source), &options).with_context(|| source.to_owned())?,
        };
        let chain = Chain::of(model.graph());
        Ok(Self { model: Arc::new(model), chain, source: source.to_owned(), options })
    }

    pub(crate) fn name(&self) -> &str {
        self.model.graph().name()
    }

    pub(crate) fn reference(&self) -> ModelReference {
        ModelReference {
            name: self.name().to_owned(),
            source: self.source.clone(),
            digest: self.model.digest().to_owned(),
            dimensions: self.options.dimensions.clone().into_iter().collect(),
            batch: self.options.batch,
        }
    }
}

/// The models that were asked for: `zoo:all` stands for the whole zoo.
pub(crate) fn sources(models: &[String]) -> Vec<String> {
    models
        .iter()
        .flat_map(|model| match model.as_str() {
            "zoo:all" => millstream_zoo::names().map(|name| format!("zoo:{name}")).collect(),
            other => vec![other.to_owned()],
        })
        .collect()
}
