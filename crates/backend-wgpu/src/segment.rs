//! A segment on the device: upload, compute, download.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_backend::{BackendError, PreparedSegment, Tensor, check_inputs};
use millstream_graph::{OperatorId, Shape, Value, ValueId};
use wgpu::{BindGroup, Buffer, BufferUsages, ComputePipeline, QuerySet};

use crate::backend::WgpuBackend;
use crate::gpu::{Gpu, Opened};
use crate::own_model::OwnModel;
use crate::plan::{Plan, Read};

/// What runs on the device for one dispatch.
struct Kernel {
    pipeline: Arc<ComputePipeline>,
    bindings: BindGroup,
    workgroups: (u32, u32),
    operators: Vec<OperatorId>,
}

/// A value that leaves the device.
struct Output {
    device: Arc<Buffer>,
    /// Where the host can read it.
    staging: Buffer,
    bytes: u64,
    shape: Shape,
}

/// Ticks of the device's clock around every kernel.
struct Ticks {
    queries: QuerySet,
    resolved: Buffer,
    staging: Buffer,
    nanoseconds: f64,
}

/// A segment that is ready on the device; all its buffers are its own.
pub(crate) struct GpuSegment {
    gpu: Gpu,
    inputs: Vec<(Value, Arc<Buffer>)>,
    kernels: Vec<Kernel>,
    /// What the backend finds again for other segments as long as this one has it.
    _constants: Vec<Arc<Buffer>>,
    outputs: Vec<Output>,
    ticks: Option<Ticks>,
    /// Operators that no kernel runs.
    relabelled: Vec<OperatorId>,
}

/// The buffers of a kernel, in the order in which its shader has them.
fn bindings<'a>(gpu: &Opened, pipeline: &ComputePipeline, buffers: impl Iterator<Item = &'a Arc<Buffer>>) -> BindGroup {
    let entries: Vec<wgpu::BindGroupEntry<'_>> = buffers
        .zip(0..)
        .map(|(buffer, binding)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    })
}

/// What is copied back to the host.
fn outputs(
    backend: &WgpuBackend,
    OwnModel { model, segment, .. }: &OwnModel,
    values: &HashMap<ValueId, Arc<Buffer>>,
) -> Result<Vec<Output>, BackendError> {
    let output = |&id: &ValueId| {
        let device = values.get(&id).cloned().ok_or_else(|| BackendError::failed("a value that nobody makes"))?;
        let shape = model.graph().value(id).shape.as_ref();
        let mut dimensions = shape.map(|shape| shape.dimensions().to_vec()).unwrap_or_default();
        if let (Some(channels), Some(size)) = (segment.channels(), dimensions.get_mut(1)) {
            *size = channels.len();
        }
        let shape = Shape::from(dimensions);
        let bytes = shape.elements() * 4;
        let staging = backend.gpu.0.buffer(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        Ok(Output { device, staging, bytes, shape })
    };
    segment.boundary.outputs.iter().map(output).collect()
}

impl GpuSegment {
    pub(crate) fn new(
        backend: &WgpuBackend,
        own: &OwnModel,
        plan: Plan,
        has_ticks: bool,
    ) -> Result<Self, BackendError> {
        let gpu = &backend.gpu.0;
        let OwnModel { model, segment, .. } = own;
        let graph = model.graph();
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let mut values: HashMap<ValueId, Arc<Buffer>> = HashMap::new();
        let mut inputs = Vec::new();
        for &id in &segment.boundary.inputs {
            let value = graph.value(id).clone();
            let bytes = value.bytes().ok_or_else(|| BackendError::failed("an input of unknown size"))?;
            let buffer = Arc::new(gpu.buffer(bytes, usage)?);
            values.insert(id, Arc::clone(&buffer));
            inputs.push((value, buffer));
        }

        let mut kernels = Vec::new();
        let mut constants = Vec::new();
        let mut relabelled = Vec::new();
        for dispatch in plan.dispatches {
            let reads = buffers(backend, dispatch.reads, &values, &mut constants)?;

            let Some(shader) = dispatch.shader else {
                relabelled.extend(own.of_network(dispatch.operators));
                values.extend(reads.into_iter().next().map(|buffer| (dispatch.output, buffer)));
                continue;
            };
            let output = match values.get(&dispatch.output) {
                Some(output) => Arc::clone(output),
                None => {
                    let buffer = Arc::new(gpu.buffer(dispatch.elements * 4, usage)?);
                    values.insert(dispatch.output, Arc::clone(&buffer));
                    buffer
                }
            };
            let pipeline = backend.pipeline(&shader)?;
            let bindings = bindings(gpu, &pipeline, reads.iter().chain([&output]));
            let operators = own.of_network(dispatch.operators);
            kernels.push(Kernel { pipeline, bindings, workgroups: shader.workgroups(), operators });
        }

        let outputs = outputs(backend, own, &values)?;
        let nanoseconds = gpu.tick_nanoseconds.filter(|_| has_ticks);
        let ticks = nanoseconds.map(|nanoseconds| ticks(gpu, kernels.len(), nanoseconds)).transpose()?;
        gpu.check()?;
        Ok(Self { gpu: backend.gpu.clone(), inputs, kernels, _constants: constants, outputs, ticks, relabelled })
    }

    /// The operators of each kernel, as [`GpuSegment::timed`] counts them. Those that need no kernel count for the
    /// first.
    pub(crate) fn groups(&self) -> Vec<Vec<OperatorId>> {
        let by_kernel = self.kernels.iter().map(|kernel| kernel.operators.clone());
        let mut groups: Vec<Vec<OperatorId>> = by_kernel.filter(|operators| !operators.is_empty()).collect();
        match groups.first_mut() {
            Some(first) => first.extend(&self.relabelled),
            None => groups.push(self.relabelled.clone()),
        }
        groups
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<(), BackendError> {
        check_inputs(self.inputs.iter().map(|(value, _)| value), inputs)?;
        self.gpu.0.check()?;
        for ((_, buffer), tensor) in self.inputs.iter().zip(inputs) {
            let bytes = tensor.bytes().ok_or_else(|| BackendError::failed("an input is not in host memory"))?;
            self.gpu.0.queue.write_buffer(buffer, 0, bytes);
        }
        Ok(())
    }

    /// Submits the kernels, and the copies to where the host can read.
    fn compute(&self, with_ticks: bool) {
        let gpu = &self.gpu.0;
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let ticks = self.ticks.as_ref().filter(|_| with_ticks);

        if ticks.is_none() {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for kernel in &self.kernels {
                kernel.encode(&mut pass);
            }
        } else {
            for (kernel, index) in self.kernels.iter().zip(0..) {
                let writes = ticks.map(|ticks| wgpu::ComputePassTimestampWrites {
                    query_set: &ticks.queries,
                    beginning_of_pass_write_index: Some(2 * index),
                    end_of_pass_write_index: Some(2 * index + 1),
                });
                let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes: writes };
                kernel.encode(&mut encoder.begin_compute_pass(&descriptor));
            }
        }

        if let Some(ticks) = ticks {
            let count = 2 * self.kernels.len() as u32;
            encoder.resolve_query_set(&ticks.queries, 0..count, &ticks.resolved, 0);
            encoder.copy_buffer_to_buffer(&ticks.resolved, 0, &ticks.staging, 0, u64::from(count) * 8);
        }
        for output in &self.outputs {
            encoder.copy_buffer_to_buffer(&output.device, 0, &output.staging, 0, output.bytes);
        }
        gpu.queue.submit([encoder.finish()]);
    }

    /// Runs a frame and tells how long each group of operators took, in seconds.
    pub(crate) fn timed(&mut self, inputs: &[Tensor]) -> Result<Vec<f64>, BackendError> {
        self.upload(inputs)?;
        let gpu = &self.gpu.0;
        let seconds: Vec<f64> = match &self.ticks {
            Some(ticks) => {
                gpu.queue.submit([]);
                gpu.finish()?;
                self.compute(true);
                let mut stamps = vec![0_u64; 2 * self.kernels.len()];
                gpu.read(&ticks.staging, bytemuck::cast_slice_mut(&mut stamps))?;
                let (pairs, _) = stamps.as_chunks::<2>();
                pairs.iter().map(|[begin, end]| end.saturating_sub(*begin) as f64 * ticks.nanoseconds * 1e-9).collect()
            }
            None => self.one_by_one()?,
        };
        self.download()?;
        Ok(joined(&self.kernels, &seconds))
    }

    /// Without a clock on the device, every kernel is waited for.
    fn one_by_one(&self) -> Result<Vec<f64>, BackendError> {
        let gpu = &self.gpu.0;
        let mut seconds = Vec::with_capacity(self.kernels.len());
        gpu.queue.submit([]);
        gpu.finish()?;
        for kernel in &self.kernels {
            let start = std::time::Instant::now();
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            kernel.encode(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
            gpu.queue.submit([encoder.finish()]);
            gpu.finish()?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        self.compute(false);
        Ok(seconds)
    }

    fn download(&self) -> Result<Vec<Tensor>, BackendError> {
        let read = |output: &Output| {
            let mut elements = vec![0_f32; output.shape.elements() as usize];
            self.gpu.0.read(&output.staging, bytemuck::cast_slice_mut(&mut elements))?;
            Ok(Tensor::from_f32(output.shape.clone(), elements))
        };
        self.outputs.iter().map(read).collect()
    }
}

/// What a dispatch reads; constants among it are kept in `constants` as well.
fn buffers(
    backend: &WgpuBackend,
    reads: Vec<Read>,
    values: &HashMap<ValueId, Arc<Buffer>>,
    constants: &mut Vec<Arc<Buffer>>,
) -> Result<Vec<Arc<Buffer>>, BackendError> {
    let buffer = |read: Read| match read {
        Read::Value(value) => {
            values.get(&value).cloned().ok_or_else(|| BackendError::failed("a value is read before it is made"))
        }
        Read::Constant(name, elements) => {
            let constant = backend.constant(&name, &elements)?;
            constants.push(Arc::clone(&constant));
            Ok(constant)
        }
    };
    reads.into_iter().map(buffer).collect()
}

impl PreparedSegment for GpuSegment {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.upload(inputs)?;
        self.compute(false);
        self.download()
    }

    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        let [only] = self.outputs.as_slice() else {
            return Err(BackendError::failed(format!("the segment makes {} values, not one", self.outputs.len())));
        };
        if only.bytes != output.len() as u64 {
            let detail = format!("the output has {} bytes, there is room for {}", only.bytes, output.len());
            return Err(BackendError::failed(detail));
        }
        self.upload(inputs)?;
        self.compute(false);
        self.gpu.0.read(&only.staging, output)
    }
}

impl Kernel {
    fn encode(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(self.workgroups.0, self.workgroups.1, 1);
    }
}

/// Kernels without operators of their own count for the next that has some.
fn joined(kernels: &[Kernel], seconds: &[f64]) -> Vec<f64> {
    let mut sums = Vec::new();
    let mut open = 0.0;
    for (kernel, seconds) in kernels.iter().zip(seconds) {
        open += seconds;
        if !kernel.operators.is_empty() {
            sums.push(std::mem::take(&mut open));
        }
    }
    sums
}

fn ticks(gpu: &Opened, kernels: usize, nanoseconds: f64) -> Result<Ticks, BackendError> {
    let count = 2 * kernels.max(1) as u32;
    let queries =
        gpu.device.create_query_set(&wgpu::QuerySetDescriptor { label: None, ty: wgpu::QueryType::Timestamp, count });
    let bytes = u64::from(count) * 8;
    Ok(Ticks {
        queries,
        resolved: gpu.buffer(bytes, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC)?,
        staging: gpu.buffer(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?,
        nanoseconds,
    })
}

impl Opened {
    /// Waits for a buffer that the host can read, and copies what is in it.
    pub(crate) fn read(&self, staging: &Buffer, to: &mut [u8]) -> Result<(), BackendError> {
        let slice = staging.slice(..);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        if let Err(error) = self.finish() {
            staging.unmap();
            return Err(error);
        }
        {
            let view = slice.get_mapped_range().map_err(|error| BackendError::failed(error.to_string()))?;
            let bytes = view.get(..to.len()).ok_or_else(|| BackendError::failed("a buffer is too small"))?;
            to.copy_from_slice(bytes);
        }
        staging.unmap();
        Ok(())
    }
}
