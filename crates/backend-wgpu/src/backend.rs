use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::Model;
use wgpu::{Buffer, BufferUsages, ComputePipeline};

use crate::WorkChoice;
use crate::gpu::{Gpu, NAME};
use crate::layer::layer;
use crate::plan::Plan;
use crate::segment::GpuSegment;
use crate::shaders::Shader;

/// Frames of a trace that only settle memory and caches.
const WARM_UP_FRAMES: usize = 2;
/// So many shaders and names of constants are kept before those that no segment has are looked for. A shader takes a while to compile, so
/// that those of a segment are worth keeping for the next one.
const MOST_UNUSED: usize = 512;

/// A graphics device as a [`Backend`] for one model.
pub struct WgpuBackend {
    pub(crate) gpu: Gpu,
    pub(crate) label: String,
    pub(crate) model: Arc<Model>,
    choice: Mutex<WorkChoice>,
    /// Constants by name, uploaded when a segment needs them and no other has them.
    constants: Mutex<HashMap<String, Weak<Buffer>>>,
    pipelines: Mutex<HashMap<String, Arc<ComputePipeline>>>,
}

impl WgpuBackend {
    /// A backend for `model` on the accelerator that the board calls `label`.
    pub fn new(gpu: &Gpu, label: impl Into<String>, model: Arc<Model>) -> Self {
        Self {
            gpu: gpu.clone(),
            label: label.into(),
            model,
            choice: Mutex::default(),
            constants: Mutex::default(),
            pipelines: Mutex::default(),
        }
    }

    /// Sets how the work of convolutions in segments that are prepared from now on is divided among threads.
    pub fn choose_work(&self, choice: WorkChoice) {
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) = choice;
    }

    /// How the work of convolutions is divided among threads.
    pub fn work_choice(&self) -> WorkChoice {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many constants segments have on the device, with all their bytes.
    pub fn kept_constants(&self) -> (usize, u64) {
        let constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = constants.values().filter_map(Weak::upgrade);
        kept.fold((0, 0), |(count, bytes), buffer| (count + 1, bytes + buffer.size()))
    }

    /// The buffer of a constant.
    pub(crate) fn constant(&self, name: &str, elements: &[f32]) -> Result<Arc<Buffer>, BackendError> {
        let mut constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffer) = constants.get(name).and_then(Weak::upgrade) {
            return Ok(buffer);
        }
        let gpu = &self.gpu.0;
        let buffer = gpu.buffer(elements.len() as u64 * 4, BufferUsages::STORAGE | BufferUsages::COPY_DST)?;
        gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(elements));
        let buffer = Arc::new(buffer);
        if constants.len() >= MOST_UNUSED {
            constants.retain(|_, constant| constant.strong_count() > 0);
        }
        constants.insert(name.to_owned(), Arc::downgrade(&buffer));
        Ok(buffer)
    }

    /// The pipeline of a shader.
    pub(crate) fn pipeline(&self, shader: &Shader) -> Result<Arc<ComputePipeline>, BackendError> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = pipelines.get(&shader.text) {
            return Ok(Arc::clone(pipeline));
        }

        let gpu = &self.gpu.0;
        gpu.check()?;
        let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(shader.text.as_str().into()),
        });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(BackendError::failed(format!("a shader does not compile: {error}")));
        }

        let pipeline = Arc::new(pipeline);
        if pipelines.len() >= MOST_UNUSED {
            pipelines.retain(|_, known| Arc::strong_count(known) > 1);
        }
        pipelines.insert(shader.text.clone(), Arc::clone(&pipeline));
        Ok(pipeline)
    }

    fn owns(&self, processor: &Processor) -> bool {
        processor.is_accelerator() && processor.cluster == self.label
    }

    fn prepared(&self, segment: &Segment, processor: &Processor, has_ticks: bool) -> Result<GpuSegment, BackendError> {
        if !self.owns(processor) {
            let detail = format!("it runs on {}, not on {processor}", self.label);
            return Err(BackendError::Unavailable { backend: NAME.to_owned(), detail });
        }
        let choice = self.work_choice();
        let plan = Plan::new(&self.model, segment, &choice);
        let plan = plan.map_err(|detail| BackendError::preparing(self.model.graph(), segment, detail))?;
        GpuSegment::new(self, segment, plan, has_ticks)
    }
}

impl Backend for WgpuBackend {
    fn name(&self) -> &str {
        NAME
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.owns(processor) && layer(&self.model, operator).is_some()
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(self.prepared(segment, processor, false)?))
    }

    fn begin_schedule(&self) {
        let mut constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        constants.retain(|_, constant| constant.strong_count() > 0);
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        pipelines.retain(|_, pipeline| Arc::strong_count(pipeline) > 1);
    }
}

impl Observed for WgpuBackend {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        let mut prepared = self.prepared(segment, processor, true)?;
        for _ in 0..WARM_UP_FRAMES {
            prepared.run(inputs)?;
        }
        let mut frames: Vec<Vec<f64>> = Vec::new();
        loop {
            let start = Instant::now();
            frames.push(prepared.timed(inputs)?);
            if !go_on(start.elapsed()) {
                break;
            }
        }
        let times = prepared.groups().into_iter().enumerate().map(|(index, operators)| OperatorTimes {
            operators,
            seconds: frames.iter().filter_map(|frame| frame.get(index).copied()).collect(),
        });
        Ok(times.collect())
    }

    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        if !self.owns(processor) {
            return Ok(None);
        }
        let gpu = &self.gpu.0;
        let device = gpu.buffer(bytes, BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC)?;
        let staging = gpu.buffer(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        let data = vec![0_u8; (bytes as usize).next_multiple_of(4)];
        let start = Instant::now();
        gpu.queue.write_buffer(&device, 0, &data);
        gpu.queue.submit([]);
        gpu.finish()?;
        let uploaded = Instant::now();
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&device, 0, &staging, 0, data.len() as u64);
        gpu.queue.submit([encoder.finish()]);
        let mut received = vec![0_u8; data.len()];
        gpu.read(&staging, &mut received)?;
        Ok(Some(TransferTimes { upload: uploaded - start, download: uploaded.elapsed() }))
    }
}
