//! Results as somebody expects them.

use std::path::{Path, PathBuf};

use millstream_backend::Tensor;
use millstream_graph::{DataType, Graph, Value};

use crate::array::{read_arrays, read_single};
use crate::compare::{Difference, Tolerance, compare};
use crate::error::FramesError;
use crate::fit::{frames, quoted};
use crate::set::Frame;

/// Expected results of some frames.
#[derive(Debug, Clone)]
pub struct Golden {
    path: PathBuf,
    outputs: Vec<String>,
    /// Per frame, one tensor per output of the network.
    expected: Vec<Vec<Tensor>>,
}

/// A result that is not as expected.
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// The frame's label.
    pub frame: String,
    /// The output's name.
    pub output: String,
    /// How it differs.
    pub difference: Difference,
}

impl Golden {
    /// Reads expected results for frames: a `.npz` file with an array per output, for one frame or stacked for all; a
    /// `.npy` file if the network has one output; or a folder with a `.npz` file for each frame, named like it.
    ///
    /// # Errors
    /// [`FramesError::Io`], [`FramesError::Format`] if names, types or shapes are not those of the network's outputs.
    pub fn read(path: &Path, graph: &Graph, frames: &[Frame]) -> Result<Self, FramesError> {
        let outputs: Vec<&Value> = graph.outputs().iter().map(|&id| graph.value(id)).collect();
        let metadata = std::fs::metadata(path).map_err(FramesError::reading(path))?;
        let labels: Vec<&str> = frames.iter().map(|frame| frame.label.as_str()).collect();
        let expected = if metadata.is_dir() {
            let of_frame = |label: &&str| {
                let mut read = read_file(&path.join(format!("{label}.npz")), &outputs, 1)?;
                Ok(read.pop().unwrap_or_default())
            };
            labels.iter().map(of_frame).collect::<Result<_, FramesError>>()?
        } else {
            read_file(path, &outputs, labels.len())?
        };
        Ok(Self {
            path: path.to_owned(),
            outputs: outputs.iter().map(|output| output.name.clone()).collect(),
            expected,
        })
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compares the results of the frame of this number. Returns the largest difference, relative to the largest
    /// element.
    ///
    /// # Errors
    /// The first output that differs by more than it may, in the inner result.
    pub fn check(
        &self,
        number: usize,
        label: &str,
        results: &[Tensor],
        tolerance: Tolerance,
    ) -> Result<Result<f64, Mismatch>, FramesError> {
        let mut largest: f64 = 0.0;
        for ((output, result), expected) in self.outputs.iter().zip(results).zip(&self.expected[number]) {
            let difference = compare(result, expected, tolerance)
                .map_err(|error| FramesError::misfit(format!("the result '{output}' of {label}: {error}")))?;
            if difference.wrong > 0 {
                return Ok(Err(Mismatch { frame: label.to_owned(), output: output.clone(), difference }));
            }
            largest = largest.max(difference.largest);
        }
        Ok(Ok(largest))
    }
}

/// Expected results of `count` frames.
fn read_file(path: &Path, outputs: &[&Value], count: usize) -> Result<Vec<Vec<Tensor>>, FramesError> {
    let format = |detail: String| FramesError::format(path, detail);
    let is_single = path.extension().is_some_and(|extension| extension == "npy");
    let arrays = match (is_single, outputs) {
        (true, [only]) => vec![(only.name.clone(), read_single(path)?)],
        (true, _) => {
            return Err(format(format!(
                "the network has {} outputs; give a .npz file with their names",
                outputs.len()
            )));
        }
        (false, _) => read_arrays(path)?,
    };
    let known = || quoted(outputs.iter().map(|output| output.name.as_str()));
    if let Some((name, _)) = arrays.iter().find(|(name, _)| !outputs.iter().any(|output| output.name == *name)) {
        return Err(format(format!("the network has no output '{name}'; it has {}", known())));
    }

    let mut expected = vec![Vec::with_capacity(outputs.len()); count];
    for output in outputs {
        let found = arrays.iter().find(|(name, _)| *name == output.name);
        let (_, array) = found.ok_or_else(|| {
            let has = quoted(arrays.iter().map(|(name, _)| name.as_str()));
            format(format!("nothing is expected of the output '{}'; it has {has}", output.name))
        })?;
        let array = &as_written(array, output);
        // A shape that is not known before a frame came can't tell one frame from several.
        let of_frames = if count == 1 { single(array, output) } else { frames(array, output) };
        let of_frames = of_frames.map_err(format)?;
        if of_frames.len() != count {
            return Err(format(format!(
                "it has results of {} frames for the output '{}', there are {count}",
                of_frames.len(),
                output.name
            )));
        }
        for (frame, tensor) in expected.iter_mut().zip(of_frames) {
            frame.push(tensor);
        }
    }

    Ok(expected)
}

/// Files hold numbers of 16 bits with a short fraction as floats: NumPy has no such type.
fn as_written(array: &Tensor, output: &Value) -> Tensor {
    match array.as_f32().filter(|_| output.data_type == Some(DataType::Bf16)) {
        Some(floats) => {
            let bytes = floats.iter().flat_map(|&element| half::bf16::from_f32(element).to_ne_bytes()).collect();
            Tensor::from_bytes(DataType::Bf16, array.shape().clone(), bytes)
        }
        None => array.clone(),
    }
}

fn single(array: &Tensor, output: &Value) -> Result<Vec<Tensor>, String> {
    if output.shape.is_none() { Ok(vec![array.clone()]) } else { frames(array, output) }
}
