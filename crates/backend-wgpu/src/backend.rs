//! Shaders and constants that the segments of a model share on a graphics device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use millstream_backend::BackendError;
use millstream_onnx::Model;
use wgpu::{Buffer, BufferUsages, ComputePipeline};

use crate::gpu::Gpu;
use crate::lock::lock;
use crate::shaders::Shader;
use crate::work::WorkChoice;

/// Frames of a trace that only settle memory and caches.
pub(crate) const WARM_UP_FRAMES: usize = 2;
/// So many shaders and names of constants are kept before those that no segment has are looked for. A shader takes a
/// while to compile, so that those of a segment are worth keeping for the next one.
const MOST_UNUSED: usize = 512;

/// A graphics device as a [`Backend`](millstream_backend::Backend) for one model.
pub struct WgpuBackend {
    pub(crate) gpu: Gpu,
    pub(crate) label: String,
    pub(crate) model: Arc<Model>,
    choice: Mutex<WorkChoice>,
    /// Constants by name, uploaded when a segment needs them and no other has them.
    pub(crate) constants: Mutex<HashMap<String, Weak<Buffer>>>,
    pub(crate) pipelines: Mutex<HashMap<String, Arc<ComputePipeline>>>,
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
        *lock(&self.choice) = choice;
    }

    /// How the work of convolutions is divided among threads.
    pub fn work_choice(&self) -> WorkChoice {
        lock(&self.choice).clone()
    }

    /// How many constants segments have on the device, with all their bytes.
    pub fn kept_constants(&self) -> (usize, u64) {
        let constants = lock(&self.constants);
        let kept = constants.values().filter_map(Weak::upgrade);
        kept.fold((0, 0), |(count, bytes), buffer| (count + 1, bytes + buffer.size()))
    }

    /// The buffer of a constant.
    pub(crate) fn constant(&self, name: &str, elements: &[f32]) -> Result<Arc<Buffer>, BackendError> {
        let mut constants = lock(&self.constants);
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
        let mut pipelines = lock(&self.pipelines);
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
}
