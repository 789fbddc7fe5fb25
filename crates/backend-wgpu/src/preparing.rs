//! Segments of a network made ready for a GPU, and how long they take there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use wgpu::BufferUsages;

use crate::backend::{WARM_UP_FRAMES, WgpuBackend};
use crate::gpu::NAME;
use crate::layer::layer;
use crate::lock::lock;
use crate::own_model::OwnModel;
use crate::plan::Plan;
use crate::segment::GpuSegment;

impl WgpuBackend {
    fn owns(&self, processor: &Processor) -> bool {
        processor.is_accelerator() && processor.cluster == self.label
    }

    fn prepared(&self, segment: &Segment, processor: &Processor, has_ticks: bool) -> Result<GpuSegment, BackendError> {
        if !self.owns(processor) {
            let detail = format!("it runs on {}, not on {processor}", self.label);
            return Err(BackendError::Unavailable { backend: NAME.to_owned(), detail });
        }
        let refused = |detail| BackendError::preparing(self.model.graph(), segment, detail);
        let own = OwnModel::of(&self.model, segment).map_err(refused)?;
        let plan = Plan::new(&own, &self.work_choice()).map_err(refused)?;
        GpuSegment::new(self, &own, plan, has_ticks)
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
        let mut constants = lock(&self.constants);
        constants.retain(|_, constant| constant.strong_count() > 0);
        let mut pipelines = lock(&self.pipelines);
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
