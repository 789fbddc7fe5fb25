//! Frames that somebody brings in files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use millstream_backend::Tensor;
use millstream_graph::{Graph, Value};

use crate::array::{read_arrays, read_single};
use crate::error::FramesError;
use crate::fit::{expected, frames, quoted};
use crate::image_file::{ImageOptions, read_image};
use crate::made_up::{FrameMaker, available_bytes};

/// Part of the free memory that frames may take: the network needs some as well.
const MEMORY_SHARE: f64 = 0.5;

/// Different frames that missing inputs are made up for where the others are always the same.
const MADE_UP_FRAMES: usize = 4;

/// A file, or a folder of files, and the input that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Name of the input; may be left out where the network has one input, or the file names its arrays.
    pub name: Option<String>,
    /// `.npy`, `.npz`, PNG or JPEG, or a folder of them.
    pub path: PathBuf,
}

impl InputFile {
    /// Files that belong together: folders are taken apart, and the first files of all inputs make a group, then the
    /// second ones; a single file is in every group.
    ///
    /// # Errors
    /// [`FramesError::Io`], and [`FramesError::Misfit`] if two folders have different numbers of files.
    pub fn groups(files: &[Self]) -> Result<Vec<Vec<Self>>, FramesError> {
        let apart: Vec<Vec<PathBuf>> = files.iter().map(|file| files_at(&file.path)).collect::<Result<_, _>>()?;
        let count = apart.iter().map(Vec::len).max().unwrap_or(0);
        if let Some(place) = apart.iter().position(|paths| paths.len() != 1 && paths.len() != count) {
            let (path, found) = (files[place].path.display(), apart[place].len());
            return Err(FramesError::misfit(format!("{path} has {found} files, another input has {count}")));
        }
        let group = |index: usize| {
            let file = |(file, paths): (&Self, &Vec<PathBuf>)| {
                let path = paths[if paths.len() == 1 { 0 } else { index }].clone();
                Self { name: file.name.clone(), path }
            };
            files.iter().zip(&apart).map(file).collect()
        };
        Ok((0..count).map(group).collect())
    }
}

/// A frame with a name for messages and files of results.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The name of the file that it is from, without folder and extension, and with a number if the file has several
    /// frames.
    pub label: String,
    /// One tensor per input of the network.
    pub tensors: Vec<Tensor>,
}

/// Frames for a network.
#[derive(Debug, Clone)]
pub struct FrameSet {
    /// At least one.
    pub frames: Vec<Frame>,
}

/// Labels that are in use: results are written under them.
#[derive(Debug, Clone, Default)]
pub struct Labels(HashSet<String>);

impl Labels {
    /// Takes this label, or the same with a number if it is in use.
    pub fn unused(&mut self, wanted: &str) -> String {
        let mut label = wanted.to_owned();
        let mut number = 2;
        while !self.0.insert(label.clone()) {
            label = format!("{wanted}-{number}");
            number += 1;
        }
        label
    }
}

/// What was read for one input: a tensor per frame, each with a label.
type Read = Vec<(String, Tensor)>;

impl FrameSet {
    /// Reads all files. Inputs with a single tensor have it in every frame; the others must have equally many. Inputs
    /// for which there is no file are made up, if there is somebody to do that.
    ///
    /// # Errors
    /// Any [`FramesError`] but `Refused`.
    pub fn read(
        graph: &Graph,
        files: &[InputFile],
        options: &ImageOptions,
        maker: Option<&FrameMaker<'_>>,
    ) -> Result<Self, FramesError> {
        let inputs: Vec<&Value> = graph.inputs().iter().map(|&id| graph.value(id)).collect();
        let mut read: Vec<Option<Read>> = vec![None; inputs.len()];
        let mut budget = Budget::new();
        for file in files {
            for (place, tensors) in read_input(&inputs, file, options, &mut budget)? {
                if read[place].replace(tensors).is_some() {
                    return Err(FramesError::misfit(format!("the input '{}' is given twice", inputs[place].name)));
                }
            }
        }
        if let Some(maker) = maker {
            make_up_missing(&mut read, maker)?;
        }
        let mut complete = Vec::with_capacity(inputs.len());
        for (input, tensors) in inputs.iter().zip(read) {
            let missing = || FramesError::Missing { value: input.name.clone(), expected: expected(input) };
            complete.push(tensors.ok_or_else(missing)?);
        }
        Self::combine(&inputs, &complete)
    }

    fn combine(inputs: &[&Value], read: &[Read]) -> Result<Self, FramesError> {
        let count = read.iter().map(Vec::len).max().unwrap_or(0);
        if let Some(place) = read.iter().position(|tensors| tensors.len() != 1 && tensors.len() != count) {
            let most = read.iter().position(|tensors| tensors.len() == count).unwrap_or(0);
            return Err(FramesError::misfit(format!(
                "the input '{}' has {} frames, '{}' has {count}",
                inputs[place].name,
                read[place].len(),
                inputs[most].name
            )));
        }
        let at = |tensors: &'_ Read, frame: usize| tensors[if tensors.len() == 1 { 0 } else { frame }].clone();
        let named = read.iter().find(|tensors| tensors.len() == count).or(read.first());
        // Two files may differ in their endings alone.
        let mut labels = Labels::default();
        let frame = |index: usize| Frame {
            label: labels.unused(&named.map_or_else(String::new, |tensors| at(tensors, index).0)),
            tensors: read.iter().map(|tensors| at(tensors, index).1).collect(),
        };
        Ok(Self { frames: (0..count).map(frame).collect() })
    }
}

/// Makes up the inputs that are missing, differently for each frame.
fn make_up_missing(read: &mut [Option<Read>], maker: &FrameMaker<'_>) -> Result<(), FramesError> {
    let missing: Vec<usize> = (0..read.len()).filter(|&place| read[place].is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let given = read.iter().flatten().map(Vec::len).max().unwrap_or(1);
    let count = if given > 1 { given } else { MADE_UP_FRAMES };
    let frames: Vec<Vec<Tensor>> = (0..count as u64).map(|seed| maker.frame(seed)).collect::<Result<_, _>>()?;
    for place in missing {
        let labelled = |(number, frame): (usize, &Vec<Tensor>)| (format!("frame-{number}"), frame[place].clone());
        read[place] = Some(frames.iter().enumerate().map(labelled).collect());
    }
    Ok(())
}

/// Counts what frames take.
struct Budget {
    bytes: u64,
    limit: u64,
}

impl Budget {
    fn new() -> Self {
        let limit = available_bytes().map_or(u64::MAX, |bytes| (bytes as f64 * MEMORY_SHARE) as u64);
        Self { bytes: 0, limit }
    }

    fn take(&mut self, path: &Path, tensor: &Tensor) -> Result<(), FramesError> {
        self.bytes = self.bytes.saturating_add(tensor.bytes().map_or(0, <[u8]>::len) as u64);
        if self.bytes <= self.limit {
            return Ok(());
        }
        Err(FramesError::TooLarge {
            what: format!("the frames up to {}", path.display()),
            bytes: self.bytes,
            limit: self.limit,
            remedy: "give fewer at a time",
        })
    }
}

/// What a file or folder has for the input that it names, or for the inputs that its arrays name.
fn read_input(
    inputs: &[&Value],
    file: &InputFile,
    options: &ImageOptions,
    budget: &mut Budget,
) -> Result<Vec<(usize, Read)>, FramesError> {
    let names = || quoted(inputs.iter().map(|input| input.name.as_str()));
    let place = |name: &str| inputs.iter().position(|input| input.name == name);
    let wanted = match &file.name {
        Some(name) => Some(
            place(name)
                .ok_or_else(|| FramesError::misfit(format!("the network has no input '{name}'; it has {}", names())))?,
        ),
        None => None,
    };

    let mut read: Vec<(usize, Read)> = Vec::new();
    for path in files_at(&file.path)? {
        let label = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let arrays = match kind(&path) {
            Some(Kind::Archive) => named_arrays(&path, inputs, wanted)?,
            Some(kind) => {
                let which = || FramesError::WhichInput { path: path.clone(), inputs: names() };
                let only = wanted.or((inputs.len() == 1).then_some(0)).ok_or_else(which)?;
                let tensor = match kind {
                    Kind::Image => read_image(&path, inputs[only], options)?,
                    _ => read_single(&path)?,
                };
                vec![(only, tensor)]
            }
            None => {
                return Err(FramesError::format(&path, "it is none of .npy, .npz, .png, .jpg and .jpeg"));
            }
        };
        for (place, array) in arrays {
            budget.take(&path, &array)?;
            let frames = frames(&array, inputs[place]).map_err(|detail| FramesError::format(&path, detail))?;
            let labelled = frames.len() > 1;
            let label = |index: usize| if labelled { format!("{label}-{index}") } else { label.clone() };
            let tensors = frames.into_iter().enumerate().map(|(index, tensor)| (label(index), tensor));
            match read.iter_mut().find(|(known, _)| *known == place) {
                Some((_, known)) => known.extend(tensors),
                None => read.push((place, tensors.collect())),
            }
        }
    }

    Ok(read)
}

/// The arrays of an archive by the places of the inputs that they are for.
fn named_arrays(path: &Path, inputs: &[&Value], wanted: Option<usize>) -> Result<Vec<(usize, Tensor)>, FramesError> {
    let mut arrays = read_arrays(path)?;
    let by_name = |name: &str| inputs.iter().position(|input| input.name == name);
    if let Some(wanted) = wanted {
        let place = arrays.iter().position(|(name, _)| *name == inputs[wanted].name);
        let place = place.or((arrays.len() == 1).then_some(0));
        return match place {
            Some(place) => Ok(vec![(wanted, arrays.swap_remove(place).1)]),
            None => {
                let found = quoted(arrays.iter().map(|(name, _)| name.as_str()));
                let detail = format!("it has no array '{}'; it has {found}", inputs[wanted].name);
                Err(FramesError::format(path, detail))
            }
        };
    }
    // One array for one input needs no name.
    if inputs.len() == 1 && arrays.len() == 1 {
        return Ok(vec![(0, arrays.swap_remove(0).1)]);
    }
    let mut read = Vec::new();
    for (name, tensor) in arrays {
        let place = by_name(&name).ok_or_else(|| {
            let known = quoted(inputs.iter().map(|input| input.name.as_str()));
            FramesError::format(path, format!("the network has no input '{name}'; it has {known}"))
        })?;
        read.push((place, tensor));
    }
    Ok(read)
}

enum Kind {
    Array,
    Archive,
    Image,
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_string_lossy().to_lowercase().as_str() {
        "npy" => Some(Kind::Array),
        "npz" => Some(Kind::Archive),
        "png" | "jpg" | "jpeg" => Some(Kind::Image),
        _ => None,
    }
}

/// What is there, if it is a file: a device may never end.
fn file_at(path: &Path, metadata: &std::fs::Metadata) -> Result<PathBuf, FramesError> {
    if metadata.is_file() {
        Ok(path.to_owned())
    } else {
        Err(FramesError::format(path, "it is neither a file nor a folder of files"))
    }
}

/// The file itself, or the files of a folder by name; hidden ones and those of other kinds are left out of a folder.
fn files_at(path: &Path) -> Result<Vec<PathBuf>, FramesError> {
    let metadata = std::fs::metadata(path).map_err(FramesError::reading(path))?;
    if !metadata.is_dir() {
        return file_at(path, &metadata).map(|file| vec![file]);
    }
    let entries = std::fs::read_dir(path).map_err(FramesError::reading(path))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.map_err(FramesError::reading(path))?.path();
        let is_hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !is_hidden && kind(&file).is_some() {
            let metadata = std::fs::metadata(&file).map_err(FramesError::reading(&file))?;
            files.push(file_at(&file, &metadata)?);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(FramesError::format(path, "the folder has no .npy, .npz, .png, .jpg or .jpeg file"));
    }
    Ok(files)
}
