//! A network, and the frames for it.

mod dimensions;
mod inputs;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use millstream_backend::{Backend, Tensor, WholeNetwork};
use millstream_board::Board;
use millstream_frames::{Frame, FrameMaker, FrameSet, FramesError, InputFile, available_bytes};
use millstream_graph::{Graph, Operator};
use millstream_onnx::{Model, ReadOptions};
use millstream_partition::Chain;
use millstream_schedule::ModelReference;

use crate::backends::first_core::first_core;
use crate::error::{Error, InFile};

pub use inputs::Inputs;

/// Different frames that are made up, which take turns.
const MADE_UP_FRAMES: usize = 4;

/// A network with where it came from, and frames for it.
pub struct Network {
    model: Arc<Model>,
    chain: Chain,
    source: String,
    options: ReadOptions,
    /// Frames from files, or made up when they are first needed.
    frames: OnceLock<FrameSet>,
    has_own_frames: bool,
    /// What made-up frames are called.
    label: String,
    /// Set once the network has taken the first frame.
    is_tried: OnceLock<()>,
}

impl Network {
    /// Opens an ONNX file, or a built-in network as `zoo:NAME`. Open dimensions are fixed as `options` say.
    ///
    /// # Errors
    /// [`Error::File`] with what is wrong with the file, or [`Error::Zoo`].
    pub fn open(source: &str, options: ReadOptions) -> Result<Self, Error> {
        if source.is_empty() {
            return Err(Error::Unfit("the path of the model is empty".to_owned()));
        }
        let model = match source.strip_prefix("zoo:") {
            Some(name) => millstream_zoo::build_with(name, &options)?,
            None => Model::read(Path::new(source), &options).in_file(Path::new(source))?,
        };
        Ok(Self::of_model(Arc::new(model), source, options))
    }

    /// Reads an ONNX model that is in memory and carries all its weights. `source` is where schedules will say that it
    /// is from.
    ///
    /// # Errors
    /// [`Error::Onnx`].
    pub fn from_bytes(bytes: Vec<u8>, source: impl Into<String>, options: ReadOptions) -> Result<Self, Error> {
        let model = Model::from_bytes(bytes.into(), &options)?;
        Ok(Self::of_model(Arc::new(model), source, options))
    }

    /// The network that a schedule was made for.
    ///
    /// # Errors
    /// As [`Network::open`].
    pub fn of_schedule(reference: &ModelReference) -> Result<Self, Error> {
        let dimensions = reference.dimensions.iter().cloned();
        let options = ReadOptions::default().with_batch(reference.batch).with_dimensions(dimensions);
        Self::open(&reference.source, options)
    }

    /// A model that is in memory. `source` is where schedules will say that it is from.
    pub fn of_model(model: Arc<Model>, source: impl Into<String>, options: ReadOptions) -> Self {
        let chain = Chain::of(model.graph());
        Self {
            model,
            chain,
            source: source.into(),
            options,
            frames: OnceLock::new(),
            has_own_frames: false,
            label: "frame".to_owned(),
            is_tried: OnceLock::new(),
        }
    }

    /// The same with the frames that files hold, if any are named.
    ///
    /// # Errors
    /// [`Error::Frames`] if a file can't be read or does not fit.
    pub fn with_inputs(self, inputs: &Inputs) -> Result<Self, Error> {
        if inputs.files.is_empty() {
            return Ok(self);
        }
        let frames = self.read_frames(&inputs.of_network(self.graph()), inputs)?;
        Ok(self.with_frames(frames))
    }

    /// The same with these frames, in which the network's inputs come in the order of [`Graph::inputs`].
    #[must_use]
    pub fn with_frames(self, frames: FrameSet) -> Self {
        Self { frames: OnceLock::from(frames), has_own_frames: true, ..self }
    }

    /// Reads frames for the network; inputs for which there is no file are made up, unless results are to be right.
    pub(crate) fn read_frames(&self, files: &[InputFile], inputs: &Inputs) -> Result<FrameSet, FramesError> {
        let maker = FrameMaker::new(&self.model);
        let maker = (!inputs.must_be_complete).then_some(&maker);
        FrameSet::read(self.graph(), files, &inputs.images, maker)
    }

    /// What it computes, with its weights.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Its operators and values.
    pub fn graph(&self) -> &Arc<Graph> {
        self.model.graph()
    }

    /// Its blocks, between which it may be divided into stages.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Where it is from: a path or `zoo:NAME`.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Identifies its content.
    pub fn digest(&self) -> &str {
        self.model.digest()
    }

    /// Operators whose work is not known, because the shape of what they make is not: models count them as nothing.
    pub fn unpredictable(&self) -> Vec<&str> {
        let graph = self.graph();
        let is_unknown = |operator: &&Operator| operator.outputs.iter().any(|&id| graph.value(id).shape.is_none());
        graph.operators().iter().filter(is_unknown).map(|operator| operator.name.as_str()).collect()
    }

    /// The same with made-up frames that are called after its sizes.
    pub(crate) fn labelled_by_size(self) -> Self {
        Self { label: self.sizes().replace(' ', "-"), ..self }
    }

    /// Whether the frames are the user's.
    pub fn has_own_frames(&self) -> bool {
        self.has_own_frames
    }

    /// The frames that the user brought, or made-up ones that the network takes.
    pub(crate) fn frames(&self, backend: &dyn Backend, board: &Board) -> Result<&[Frame], Error> {
        if let Some(frames) = self.frames.get() {
            return Ok(&frames.frames);
        }
        self.check_memory()?;
        let mut whole = self.prepare_whole(backend, board)?;
        let maker = FrameMaker::tried(&self.model, &mut whole)?;
        let made_up = maker.different_frames(MADE_UP_FRAMES)?;
        let labelled = made_up.into_iter().enumerate();
        let frames = labelled.map(|(index, tensors)| Frame { label: format!("{}-{index}", self.label), tensors });
        Ok(&self.frames.get_or_init(|| FrameSet { frames: frames.collect() }).frames)
    }

    /// The first of the frames.
    pub(crate) fn first_frame(&self, backend: &dyn Backend, board: &Board) -> Result<&[Tensor], Error> {
        let first = self.frames(backend, board)?.first().ok_or(Error::NoFrame)?;
        // Before anything is measured with it.
        if self.has_own_frames && self.is_tried.get().is_none() {
            let refused = |source| Error::Refused { label: first.label.clone(), source };
            self.prepare_whole(backend, board)?.run(&first.tensors).map_err(refused)?;
            self.is_tried.get_or_init(|| ());
        }
        Ok(&first.tensors)
    }

    /// The whole network on the board's first core: plain sequential inference.
    pub(crate) fn prepare_whole(&self, backend: &dyn Backend, board: &Board) -> Result<WholeNetwork, Error> {
        let processor = first_core(board, backend, self.graph())?;
        Ok(WholeNetwork::prepare(self.graph(), backend, &processor)?)
    }

    /// Whether the weights and the largest operator fit into the machine's memory; the system would end the program
    /// later.
    fn check_memory(&self) -> Result<(), Error> {
        let graph = self.graph();
        let values = graph.operators().iter().map(|operator| operator.work.input_bytes.max(operator.work.output_bytes));
        let largest = values.max().unwrap_or(0);
        if let Some(available) = available_bytes().filter(|&available| largest > available) {
            return Err(Error::OutOfMemory {
                network: self.source.clone(),
                needed_mebibytes: largest >> 20,
                available_mebibytes: available >> 20,
            });
        }
        Ok(())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.graph().name()
    }

    /// The sizes of its open dimensions, such as `sequence=64`.
    pub fn sizes(&self) -> String {
        let sizes = self.options.dimensions.iter().map(|(name, size)| format!("{name}={size}"));
        sizes.collect::<Vec<_>>().join(" ")
    }

    /// How schedules refer to it.
    pub fn reference(&self) -> ModelReference {
        ModelReference {
            name: self.name().to_owned(),
            source: self.source.clone(),
            digest: self.model.digest().to_owned(),
            dimensions: self.options.dimensions.clone().into_iter().collect(),
            batch: self.options.batch,
        }
    }
}

impl Error {
    /// The network was not measured on the board.
    pub(crate) fn no_profile(network: &Network, board: &Board) -> Self {
        let network = Box::new(network.reference());
        Self::NoProfile { network, board: board.name().to_owned(), engines: board.engines() }
    }
}
