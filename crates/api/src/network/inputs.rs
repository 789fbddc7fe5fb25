//! Files with frames.

use std::path::Path;

use millstream_frames::{ImageOptions, InputFile};
use millstream_graph::Graph;

/// Files with frames, and how images become tensors.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// `PATH` or `NAME=PATH`, where the name is that of a network's input: `.npy`, `.npz`, PNG or JPEG files, or
    /// folders of them.
    pub files: Vec<String>,
    /// How images become tensors.
    pub images: ImageOptions,
    /// Whether every input must have a file. Times hardly depend on some inputs, results do.
    pub must_be_complete: bool,
}

impl Inputs {
    /// The files with the inputs that they are for. What stands before an equals sign is a name if the network has such
    /// an input, or if there is no file of the whole name.
    pub(crate) fn of_network(&self, graph: &Graph) -> Vec<InputFile> {
        let is_input = |name: &str| graph.inputs().iter().any(|&id| graph.value(id).name == name);
        let file = |text: &String| match text.split_once('=') {
            Some((name, path)) if is_input(name) || !Path::new(text).exists() => {
                InputFile { name: Some(name.to_owned()), path: path.into() }
            }
            _ => InputFile { name: None, path: text.into() },
        };
        self.files.iter().map(file).collect()
    }
}
