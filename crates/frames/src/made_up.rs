//! Frames of made-up numbers that a network can take.

use std::collections::HashMap;

use half::{bf16, f16};
use millstream_backend::{Tensor, WholeNetwork};
use millstream_graph::{DataType, Value, ValueId};
use millstream_onnx::Model;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::FramesError;
use crate::index_limits::index_limits;

/// Integers that are no indices are 0 or 1, as masks are.
const MASK_VALUES: u64 = 2;
/// Different seeds that are tried for a frame that is not like the others.
const MOST_SEEDS: u64 = 16;

/// How the integers of a frame are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Integers {
    /// Bytes at random, indices within what they index, others 0 or 1.
    Sensible,
    /// All of them ones.
    Ones,
    /// All of them zeros.
    Zeros,
}

/// Makes up frames for a network: floats between 0 and 1, bytes and booleans at random, integers within what an
/// embedding or an index allows, short strings. The same seed gives the same frame.
pub struct FrameMaker<'a> {
    model: &'a Model,
    limits: HashMap<ValueId, u64>,
    integers: Integers,
}

impl<'a> FrameMaker<'a> {
    /// Frames for this network, which nobody has tried on it.
    pub fn new(model: &'a Model) -> Self {
        Self { model, limits: index_limits(model), integers: Integers::Sensible }
    }

    /// Frames that the network takes: where it has inputs that are no floats, it is asked. If it refuses sensible
    /// integers, it is asked with ones and with zeros.
    ///
    /// # Errors
    /// [`FramesError::Refused`] if it takes none of them, and as [`FrameMaker::frame`].
    pub fn tried(model: &'a Model, network: &mut WholeNetwork) -> Result<Self, FramesError> {
        let mut maker = Self::new(model);
        let graph = model.graph();
        let is_float = |id: &ValueId| graph.value(*id).data_type.is_some_and(DataType::is_float);
        if graph.inputs().iter().all(is_float) {
            return Ok(maker);
        }
        let mut refusal = None;
        let kinds = [Integers::Sensible, Integers::Ones, Integers::Zeros];
        for integers in kinds {
            maker.integers = integers;
            match network.run(&maker.frame(0)?) {
                Ok(_) => return Ok(maker),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match refusal {
            Some(source) => Err(FramesError::Refused { tried: kinds.len(), source }),
            None => Ok(maker),
        }
    }

    /// The frame of a seed: one tensor per input of the network.
    ///
    /// # Errors
    /// [`FramesError::Unknown`] if the type or shape of an input is not known, [`FramesError::TooLarge`] if the frame
    /// does not fit into memory.
    pub fn frame(&self, seed: u64) -> Result<Vec<Tensor>, FramesError> {
        let graph = self.model.graph();
        let bytes = graph.inputs().iter().filter_map(|&id| graph.value(id).bytes()).fold(0, u64::saturating_add);
        check_memory("the network's inputs", bytes)?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        graph.inputs().iter().map(|&id| self.tensor(id, graph.value(id), &mut random)).collect()
    }

    /// So many frames of which no two are equal, or fewer if the inputs have fewer different values, such as a single
    /// boolean.
    ///
    /// # Errors
    /// As [`FrameMaker::frame`].
    pub fn different_frames(&self, count: usize) -> Result<Vec<Vec<Tensor>>, FramesError> {
        let mut frames: Vec<Vec<Tensor>> = Vec::with_capacity(count);
        for seed in 0..count as u64 + MOST_SEEDS {
            if frames.len() == count {
                break;
            }
            let frame = self.frame(seed)?;
            if !frames.iter().any(|other| is_equal(other, &frame)) {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    fn tensor(&self, id: ValueId, value: &Value, random: &mut ChaCha8Rng) -> Result<Tensor, FramesError> {
        let unknown = |what: &'static str| FramesError::Unknown { value: value.name.clone(), what };
        let shape = value.shape.clone().ok_or_else(|| unknown("shape"))?;
        let data_type = value.data_type.ok_or_else(|| unknown("element type"))?;
        let count = shape.elements() as usize;
        let mut integer = |all: u64| match self.integers {
            Integers::Sensible => random.random_range(0..all.max(1)),
            Integers::Ones => 1,
            Integers::Zeros => 0,
        };

        let limit = self.limits.get(&id).copied();
        macro_rules! integers {
            ($type:ty, $all:expr) => {{
                let all = limit.unwrap_or($all);
                let elements: Vec<$type> = (0..count).map(|_| integer(all) as $type).collect();
                bytemuck::cast_slice(&elements).to_vec()
            }};
        }

        let bytes: Vec<u8> = match data_type {
            DataType::F32 => return Ok(Tensor::from_f32(shape, (0..count).map(|_| random.random()).collect())),
            DataType::F64 => bytemuck::cast_slice(&(0..count).map(|_| random.random()).collect::<Vec<f64>>()).to_vec(),
            DataType::F16 => {
                let elements: Vec<f16> = (0..count).map(|_| f16::from_f32(random.random())).collect();
                bytemuck::cast_slice(&elements).to_vec()
            }
            DataType::Bf16 => {
                let elements: Vec<bf16> = (0..count).map(|_| bf16::from_f32(random.random())).collect();
                bytemuck::cast_slice(&elements).to_vec()
            }
            DataType::U8 | DataType::I8 => integers!(u8, 256),
            DataType::Bool => integers!(u8, 2),
            DataType::I16 | DataType::U16 => integers!(u16, MASK_VALUES),
            DataType::I32 | DataType::U32 => integers!(u32, MASK_VALUES),
            DataType::I64 | DataType::U64 => integers!(u64, MASK_VALUES),
            DataType::String => {
                let word = |_| (0..4).map(|_| char::from(random.random_range(b'a'..=b'z'))).collect();
                return Ok(Tensor::from_strings(shape, (0..count).map(word).collect()));
            }
            _ => return Err(unknown("element type")),
        };
        Ok(Tensor::from_bytes(data_type, shape, bytes))
    }
}

fn is_equal(left: &[Tensor], right: &[Tensor]) -> bool {
    left.iter().zip(right).all(|(left, right)| left.bytes() == right.bytes() && left.strings() == right.strings())
}

/// Whether so many bytes can be had; the system would end the program when it finds out later.
pub(crate) fn check_memory(what: &str, bytes: u64) -> Result<(), FramesError> {
    match available_bytes() {
        Some(limit) if bytes > limit => Err(FramesError::TooLarge {
            what: what.to_owned(),
            bytes,
            limit,
            remedy: "check the sizes that open dimensions are given",
        }),
        _ => Ok(()),
    }
}

/// Memory that programs can have without swapping, as far as the system tells.
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
