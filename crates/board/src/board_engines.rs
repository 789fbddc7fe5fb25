//! Engines of a whole board: its providers, and the choice of engines for its clusters.

use std::collections::BTreeSet;
use std::path::Path;

use crate::board::{Board, Engines};
use crate::engine::{EngineName, EngineSet};
use crate::engine_label::EngineLabel;
use crate::error::BoardError;
use crate::provider::Provider;

/// What computes on it.
impl Board {
    /// Execution providers of ONNX Runtime that its clusters and accelerators may compute with.
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// The provider that the board calls so.
    ///
    /// # Errors
    /// [`BoardError::UnknownEngine`] if it has none.
    pub fn provider(&self, engine: EngineLabel) -> Result<&Provider, BoardError> {
        self.providers.iter().find(|provider| provider.engine == engine).ok_or_else(|| BoardError::UnknownEngine {
            board: self.name.clone(),
            engine: engine.to_string(),
            engines: self.known_engines().map(|engine| engine.to_string()).collect(),
        })
    }

    /// The same board with another provider, unless it has one of that name.
    #[must_use]
    pub fn with_provider(mut self, provider: Provider) -> Self {
        if self.provider(provider.engine).is_err() {
            self.providers.push(provider);
        }
        self
    }

    /// The board of a file in this folder: paths of plug-ins count from there. The folder must be an absolute path.
    #[must_use]
    pub fn of_file_in(mut self, folder: &Path) -> Self {
        for provider in &mut self.providers {
            if let Some(library) = provider.library.as_mut().filter(|library| library.components().count() > 1) {
                *library = folder.join(&*library);
            }
        }
        self
    }

    /// Whether its clusters may have these engines.
    ///
    /// # Errors
    /// [`BoardError::UnknownEngine`] with the first that is a provider which the board does not have.
    pub fn check_engines(&self, engines: &EngineSet) -> Result<(), BoardError> {
        engines.iter().try_for_each(|engine| match engine {
            EngineName::Provider(label) => self.provider(label).map(drop),
            _ => Ok(()),
        })
    }

    /// The engines that its clusters may have: those of every board, and its own providers.
    fn known_engines(&self) -> impl Iterator<Item = EngineName> {
        EngineName::known().chain(self.providers.iter().map(Provider::engine))
    }

    /// The same board with these engines on all its cores.
    #[must_use]
    pub fn with_engines(mut self, engines: &EngineSet) -> Self {
        self.clusters.iter_mut().for_each(|cluster| cluster.engines = engines.clone());
        self
    }

    /// The same board with the engines of clusters by their labels, and the usual one on all others.
    #[must_use]
    pub fn with_engines_of(mut self, engines: &Engines) -> Self {
        for cluster in &mut self.clusters {
            cluster.engines = engines.get(&cluster.label).cloned().unwrap_or_default();
        }
        self
    }

    /// The engines that some cluster has, each once.
    pub fn engines_in_use(&self) -> impl Iterator<Item = EngineName> {
        let all: BTreeSet<EngineName> = self.clusters.iter().flat_map(|cluster| cluster.engines.iter()).collect();
        all.into_iter()
    }

    /// The engines of clusters by their labels, but for clusters that have only the usual one.
    pub fn engines(&self) -> Engines {
        let unusual = self.clusters.iter().filter(|cluster| !cluster.engines.is_default());
        unusual.map(|cluster| (cluster.label.clone(), cluster.engines.clone())).collect()
    }
}
