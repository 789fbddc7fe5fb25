//! A graphics device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_backend::BackendError;
use millstream_board::{Accelerator, AcceleratorKind};
use wgpu::{Buffer, BufferUsages, DeviceType, PollError, PollType};

use crate::lock::lock;

/// What errors call this backend.
pub(crate) const NAME: &str = "wgpu";

/// How a graphics device is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuOptions {
    /// How long the device may take for a frame, or for a transfer. A device that takes longer counts as lost: it may
    /// be stuck, and what is submitted later waits behind what it is stuck in. A minute, unless told otherwise: drivers
    /// of real devices give up after seconds, emulated ones take seconds for a frame of a large network.
    pub longest_wait: Duration,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self { longest_wait: Duration::from_secs(60) }
    }
}

/// An opened graphics device. Clones share it.
#[derive(Clone)]
pub struct Gpu(pub(crate) Arc<Opened>);

pub(crate) struct Opened {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// Nanoseconds per tick of timestamps; `None` if the device has none.
    pub(crate) tick_nanoseconds: Option<f64>,
    longest_wait: Duration,
    is_lost: Arc<AtomicBool>,
    /// The first error that nobody was asked for.
    trouble: Arc<Mutex<Option<String>>>,
}

fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    wgpu::Instance::new(descriptor)
}

fn adapters() -> Vec<wgpu::Adapter> {
    pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()))
}

/// The graphics devices of this machine as accelerators of a board: `G`, `G2` and so on. Devices that the CPU's own
/// cores emulate come last, and only if `with_software`. No device, or no graphics library at all, is an empty list.
pub fn detect(with_software: bool) -> Vec<Accelerator> {
    let mut found: Vec<(AcceleratorKind, String, Option<u64>)> = Vec::new();
    for adapter in adapters() {
        let info = adapter.get_info();
        let kind = match info.device_type {
            DeviceType::Cpu => AcceleratorKind::SoftwareGpu,
            _ => AcceleratorKind::Gpu,
        };
        if !found.iter().any(|(_, name, _)| *name == info.name) {
            let memory = own_memory(info.device_type, memory_bytes(&adapter));
            found.push((kind, info.name, memory));
        }
    }
    found.retain(|(kind, ..)| with_software || *kind == AcceleratorKind::Gpu);
    found.sort_by_key(|(kind, ..)| *kind == AcceleratorKind::SoftwareGpu);
    let accelerator = |(index, (kind, name, memory_bytes))| {
        let label = if index == 0 { "G".to_owned() } else { format!("G{}", index + 1) };
        Accelerator { name: Some(name), memory_bytes, ..Accelerator::new(label, kind) }
    };
    found.into_iter().enumerate().map(accelerator).collect()
}

/// The memory that a device has to itself. Other kinds than cards mean the computer's, which the cores use as well.
fn own_memory(kind: DeviceType, at_hand: Option<u64>) -> Option<u64> {
    at_hand.filter(|_| kind == DeviceType::DiscreteGpu)
}

/// The memory that a device has at hand, where the graphics library tells.
#[cfg(any(target_os = "linux", target_os = "android", windows))]
#[expect(unsafe_code, reason = "wgpu has no call for it")]
fn memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
    const DEVICE_LOCAL: u32 = 1;
    // SAFETY: the handle is only asked, and ends with this function, before the adapter.
    let vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = vulkan.shared_instance().raw_instance();
    // SAFETY: the device is one of this instance, and the adapter keeps both.
    let memory = unsafe { instance.get_physical_device_memory_properties(vulkan.raw_physical_device()) };
    let heaps = memory.memory_heaps.iter().take(memory.memory_heap_count as usize);
    heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size).max()
}

#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
fn memory_bytes(_: &wgpu::Adapter) -> Option<u64> {
    None
}

impl Gpu {
    /// Opens the device that calls itself `name`, or any if there is no name: a real one rather than an emulated one.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if there is none.
    pub fn open(name: Option<&str>) -> Result<Self, BackendError> {
        Self::open_with(name, GpuOptions::default())
    }

    /// The same, to be used in a given way.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_with(name: Option<&str>, options: GpuOptions) -> Result<Self, BackendError> {
        let unavailable = |detail: String| BackendError::Unavailable { backend: NAME.to_owned(), detail };
        let mut adapters = adapters();
        let names: Vec<String> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
        adapters.retain(|adapter| name.is_none_or(|name| adapter.get_info().name == name));
        adapters.sort_by_key(|adapter| adapter.get_info().device_type == DeviceType::Cpu);
        let Some(adapter) = adapters.into_iter().next() else {
            let wanted = name.map_or("no graphics device was found".to_owned(), |name| {
                let all =
                    if names.is_empty() { "and no other".to_owned() } else { format!("only {}", names.join(", ")) };
                format!("there is no graphics device '{name}', {all}")
            });
            let remedy = "install a Vulkan driver, for emulation Debian's mesa-vulkan-drivers, or schedule for the CPU";
            return Err(unavailable(format!("{wanted}; {remedy}")));
        };

        let features = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("millstream"),
            required_features: features,
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).map_err(|error| unavailable(error.to_string()))?;

        let is_lost = Arc::new(AtomicBool::new(false));
        let trouble = Arc::new(Mutex::new(None));
        let lost = Arc::clone(&is_lost);
        let reason = Arc::clone(&trouble);
        device.set_device_lost_callback(move |_, detail| {
            lock(&reason).get_or_insert(detail);
            lost.store(true, Ordering::SeqCst);
        });
        let noted = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&noted).get_or_insert(error.to_string());
        }));

        let has_ticks = features.contains(wgpu::Features::TIMESTAMP_QUERY);
        let tick_nanoseconds = has_ticks.then(|| f64::from(queue.get_timestamp_period()));
        let longest_wait = options.longest_wait;
        Ok(Self(Arc::new(Opened { device, queue, tick_nanoseconds, longest_wait, is_lost, trouble })))
    }

    /// Gives the device up, as if it had been unplugged: everything that still uses it fails.
    pub fn destroy(&self) {
        self.0.device.destroy();
        self.0.is_lost.store(true, Ordering::SeqCst);
    }
}

impl Opened {
    /// A buffer, or an error if there is no room for it.
    pub(crate) fn buffer(&self, bytes: u64, usage: BufferUsages) -> Result<Buffer, BackendError> {
        self.check()?;
        let limits = self.device.limits();
        let out_of_memory = |detail: String| BackendError::OutOfMemory { backend: NAME.to_owned(), detail };
        let largest = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        if bytes > largest {
            return Err(out_of_memory(format!("a buffer of {bytes} bytes, the device takes {largest} at the most")));
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let descriptor = wgpu::BufferDescriptor {
            label: None,
            size: bytes.max(4).next_multiple_of(4),
            usage,
            mapped_at_creation: false,
        };
        let buffer = self.device.create_buffer(&descriptor);
        match pollster::block_on(scope.pop()) {
            None => Ok(buffer),
            Some(error) => Err(out_of_memory(format!("a buffer of {bytes} bytes: {error}"))),
        }
    }

    /// Waits until the device has done all that was submitted.
    pub(crate) fn finish(&self) -> Result<(), BackendError> {
        let wait = PollType::Wait { submission_index: None, timeout: Some(self.longest_wait) };
        self.device.poll(wait).map_err(|error| self.not_done(&error))?;
        self.check()
    }

    /// Gives up a device that did not do in time what it was given.
    fn not_done(&self, error: &PollError) -> BackendError {
        let detail = match error {
            PollError::Timeout => format!("it was not done after {:?}", self.longest_wait),
            other => format!("waiting for it: {other}"),
        };
        lock(&self.trouble).get_or_insert_with(|| detail.clone());
        if !self.is_lost.swap(true, Ordering::SeqCst) {
            // The library waits without a limit for what was submitted when the last of these goes: they stay.
            std::mem::forget((self.device.clone(), self.queue.clone()));
        }
        self.lost(detail)
    }

    /// Whether the device is there and nothing went wrong.
    pub(crate) fn check(&self) -> Result<(), BackendError> {
        let is_lost = self.is_lost.load(Ordering::SeqCst);
        let mut trouble = lock(&self.trouble);
        match (is_lost, trouble.as_ref()) {
            (true, detail) => Err(self.lost(detail.cloned().unwrap_or_default())),
            (false, Some(_)) => Err(BackendError::failed(trouble.take().unwrap_or_default())),
            (false, None) => Ok(()),
        }
    }

    fn lost(&self, detail: String) -> BackendError {
        BackendError::DeviceLost { backend: NAME.to_owned(), detail }
    }
}
