//! Loading the network that a command works on, and the frames for it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use millstream_backend::{Backend, Tensor, WholeNetwork};
use millstream_board::{Board, Processor};
use millstream_frames::{Frame, FrameMaker, FrameSet, FramesError, InputFile, available_bytes};
use millstream_graph::Operator;
use millstream_onnx::{Model, ReadOptions};
use millstream_partition::Chain;
use millstream_schedule::ModelReference;

use crate::arguments::{DimensionArguments, InputArguments};

/// Different frames that are made up, which take turns.
const MADE_UP_FRAMES: usize = 4;

/// A network with where it came from.
pub(crate) struct Network {
    pub(crate) model: Arc<Model>,
    pub(crate) chain: Chain,
    pub(crate) source: String,
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
    /// Loads `zoo:NAME` or an ONNX file.
    pub(crate) fn load(source: &str, dimensions: &DimensionArguments) -> Result<Self> {
        let options = ReadOptions {
            batch: dimensions.batch.unwrap_or(1) as usize,
            dimensions: dimensions.single()?.into_iter().collect(),
            ..ReadOptions::default()
        };
        Self::with_options(source, options)
    }

    /// The same for each combination of the sizes that dimensions are given.
    pub(crate) fn load_sizes(source: &str, dimensions: &DimensionArguments) -> Result<Vec<Self>> {
        let batch = dimensions.batch.unwrap_or(1) as usize;
        let load = |sizes: Vec<(String, usize)>| {
            let dimensions = sizes.into_iter().collect();
            Self::with_options(source, ReadOptions { batch, dimensions, ..ReadOptions::default() })
        };
        dimensions.combinations()?.into_iter().map(load).collect()
    }

    /// Loads the network that a schedule was made for.
    pub(crate) fn of_schedule(reference: &ModelReference) -> Result<Self> {
        let dimensions = reference.dimensions.iter().cloned().collect();
        let options = ReadOptions { batch: reference.batch, dimensions, ..ReadOptions::default() };
        Self::with_options(&reference.source, options)
    }

    fn with_options(source: &str, options: ReadOptions) -> Result<Self> {
        let model = match source.strip_prefix("zoo:") {
            Some(name) => millstream_zoo::build_with(name, &options)?,
            None => Model::read(Path::new(source), &options).with_context(|| source.to_owned())?,
        };
        let chain = Chain::of(model.graph());
        Ok(Self {
            model: Arc::new(model),
            chain,
            source: source.to_owned(),
            options,
            frames: OnceLock::new(),
            has_own_frames: false,
            label: "frame".to_owned(),
            is_tried: OnceLock::new(),
        })
    }

    /// The same with the frames that the arguments name, if they name any.
    pub(crate) fn with_inputs(self, inputs: &InputArguments) -> Result<Self> {
        if inputs.inputs.is_empty() {
            return Ok(self);
        }
        let files: Vec<InputFile> = inputs.files(self.model.graph());
        let frames = self.read_frames(&files, inputs)?;
        Ok(self.with_frames(frames))
    }

    /// Reads frames for the network; inputs for which there is no file are made up, unless results are to be right.
    pub(crate) fn read_frames(&self, files: &[InputFile], inputs: &InputArguments) -> Result<FrameSet, FramesError> {
        let maker = FrameMaker::new(&self.model);
        let maker = (!inputs.must_be_complete).then_some(&maker);
        FrameSet::read(self.model.graph(), files, &inputs.image_options(), maker)
    }

    /// Operators whose work is not known, because the shape of what they make is not: models count them as nothing.
    pub(crate) fn unpredictable(&self) -> Vec<&str> {
        let graph = self.model.graph();
        let is_unknown = |operator: &&Operator| operator.outputs.iter().any(|&id| graph.value(id).shape.is_none());
        graph.operators().iter().filter(is_unknown).map(|operator| operator.name.as_str()).collect()
    }

    /// The same with these frames.
    pub(crate) fn with_frames(self, frames: FrameSet) -> Self {
        Self { frames: OnceLock::from(frames), has_own_frames: true, ..self }
    }

    /// The same with made-up frames that are called after its sizes.
    pub(crate) fn labelled_by_size(self) -> Self {
        Self { label: self.sizes().replace(' ', "-"), ..self }
    }

    /// Whether the frames are the user's.
    pub(crate) fn has_own_frames(&self) -> bool {
        self.has_own_frames
    }

    /// The frames that the user brought, or made-up ones that the network takes.
    pub(crate) fn frames(&self, backend: &dyn Backend, board: &Board) -> Result<&[Frame]> {
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
    pub(crate) fn first_frame(&self, backend: &dyn Backend, board: &Board) -> Result<&[Tensor]> {
        let first = self.frames(backend, board)?.first().context("there is no frame")?;
        // Before anything is measured with it.
        if self.has_own_frames && self.is_tried.get().is_none() {
            let refused = || format!("the network refuses the frame '{}'", first.label);
            self.prepare_whole(backend, board)?.run(&first.tensors).with_context(refused)?;
            self.is_tried.get_or_init(|| ());
        }
        Ok(&first.tensors)
    }

    /// The whole network on the board's first core: plain sequential inference.
    pub(crate) fn prepare_whole(&self, backend: &dyn Backend, board: &Board) -> Result<WholeNetwork> {
        let cluster = board.clusters().first().context("the board has no cluster")?;
        let core = cluster.cores.first().context("the cluster has no core")?.id;
        let processor = Processor { cluster: cluster.label.clone(), cores: vec![core] };
        Ok(WholeNetwork::prepare(self.model.graph(), backend, &processor)?)
    }

    /// Whether the weights and the largest operator fit into the machine's memory; the system would end the program later.
    fn check_memory(&self) -> Result<()> {
        let graph = self.model.graph();
        let values = graph.operators().iter().map(|operator| operator.work.input_bytes.max(operator.work.output_bytes));
        let largest = values.max().unwrap_or(0);
        if let Some(available) = available_bytes().filter(|&available| largest > available) {
            bail!(
                "{}: one operator needs {} MiB for what it reads or makes, and the machine has {} MiB left; check the sizes given with \
                 --dim and --batch",
                self.source,
                largest >> 20,
                available >> 20
            );
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        self.model.graph().name()
    }

    /// The sizes of its open dimensions, such as `sequence=64`.
    pub(crate) fn sizes(&self) -> String {
        let sizes = self.options.dimensions.iter().map(|(name, size)| format!("{name}={size}"));
        sizes.collect::<Vec<_>>().join(" ")
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
