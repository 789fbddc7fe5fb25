//! Weights in files beside the model: which files may be read, how often, and how much of them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

use crate::error::OnnxError;
use crate::options::ReadOptions;
use crate::pieces::read_in_pieces;
use crate::proto::TensorProto;

/// The files that a model's weights are in. Bytes that several weights share are read once.
pub(crate) struct ExternalFiles {
    /// `None` if the model is in no folder.
    folder: Option<PathBuf>,
    may_lead_outside: bool,
    files: HashMap<PathBuf, ExternalFile>,
    /// Bytes that may be read in all, and those that are left of them.
    limit: u64,
    left: u64,
    /// Places in memory that contain no NaN, with the element type as ONNX numbers it.
    without_nan: HashSet<(usize, usize, i32)>,
}

impl ExternalFiles {
    /// Those beside a model in this folder.
    pub(crate) fn beside(folder: Option<&Path>, options: &ReadOptions) -> Self {
        let limit = options.most_weight_bytes;
        Self {
            folder: folder.map(Path::to_owned),
            may_lead_outside: options.linked_weights,
            files: HashMap::new(),
            limit,
            left: limit,
            without_nan: HashSet::new(),
        }
    }

    /// No files at all.
    pub(crate) fn none() -> Self {
        Self::beside(None, &ReadOptions::default())
    }

    /// The data of a weight, which must have so many bytes.
    pub(crate) fn read(&mut self, name: &str, proto: &TensorProto, expected: usize) -> Result<Bytes, OnnxError> {
        let wrong = |detail: String| OnnxError::Weight { weight: name.to_owned(), detail };
        let entry = |key: &str| {
            let found = proto.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
            found.and_then(|entry| entry.value.as_deref())
        };
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => {
                text.parse::<u64>().map(Some).map_err(|_| wrong(format!("external {key} '{text}' is no number")))
            }
        };

        let location = entry("location").ok_or_else(|| wrong("names no external file".to_owned()))?;
        let length = expected as u64;
        if let Some(stated) = number("length")?.filter(|&stated| stated != length) {
            return Err(wrong(format!("has {stated} bytes of external data where its shape needs {length}")));
        }

        let offset = number("offset")?.unwrap_or(0);
        let path = self.path(location).map_err(wrong)?;
        let failed = |source| OnnxError::Io { path: path.clone(), source };
        let file = match self.files.entry(path.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let root = self.folder.as_deref().filter(|_| !self.may_lead_outside);
                unknown.insert(open(&path, root).map_err(failed)?.map_err(|is| wrong(format!("'{location}' {is}")))?)
            }
        };

        if offset.checked_add(length).is_none_or(|end| end > file.bytes) {
            let message = format!("the file has {} bytes, too few for weight '{name}' at offset {offset}", file.bytes);
            return Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, message)));
        }
        let limit = self.limit;
        let too_much = || OnnxError::WeightsTooLarge { weight: name.to_owned(), limit };
        self.left = self.left.checked_sub(file.needed(offset, length)).ok_or_else(too_much)?;
        file.read(offset, length).map_err(failed)
    }

    /// Whether bytes that are read here were looked at for NaN before; they count as looked at from now on.
    pub(crate) fn are_looked_at(&mut self, data: &Bytes, element_type: i32) -> bool {
        !self.without_nan.insert((data.as_ptr().addr(), data.len(), element_type))
    }

    fn path(&self, location: &str) -> Result<PathBuf, String> {
        let no_folder = || format!("its data is in the file '{location}', read the model from disk");
        let folder = self.folder.as_deref().ok_or_else(no_folder)?;
        let relative = Path::new(location);
        let is_plain = |component| matches!(component, Component::Normal(_) | Component::CurDir);
        if relative.components().all(is_plain) {
            Ok(folder.join(relative))
        } else {
            Err(format!("its data file '{location}' is outside the model's folder, which is not allowed"))
        }
    }
}

/// An open file, and what was read of it.
struct ExternalFile {
    file: File,
    bytes: u64,
    read: u64,
    /// By offset and length.
    ranges: HashMap<(u64, u64), Bytes>,
}

/// Opens an ordinary file, which is inside `root` where there is one, whatever links it takes to get to it. The inner
/// error says what it is instead.
fn open(path: &Path, root: Option<&Path>) -> io::Result<Result<ExternalFile, String>> {
    let real = fs::canonicalize(path)?;
    if let Some(root) = root {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        if !real.starts_with(fs::canonicalize(root)?) {
            let remedy = "--linked-weights allows links to anywhere, for models that you trust";
            return Ok(Err(format!("is a link to outside the model's folder, which is not allowed; {remedy}")));
        }
    }
    // Opening a pipe would wait for somebody to write to it.
    if !fs::metadata(&real)?.is_file() {
        return Ok(Err("is no ordinary file".to_owned()));
    }
    let file = File::open(&real)?;
    let bytes = file.metadata()?.len();
    Ok(Ok(ExternalFile { file, bytes, read: 0, ranges: HashMap::new() }))
}

impl ExternalFile {
    /// How many bytes it takes to read a range, beyond what is there. Where ranges overlap so much that they have more
    /// bytes than the file, all of it is read, and the ranges are parts of that.
    fn needed(&self, offset: u64, length: u64) -> u64 {
        let is_known = self.ranges.contains_key(&(offset, length)) || self.ranges.contains_key(&self.whole());
        if is_known {
            0
        } else if self.reads_all(length) {
            self.bytes
        } else {
            length
        }
    }

    fn whole(&self) -> (u64, u64) {
        (0, self.bytes)
    }

    fn reads_all(&self, length: u64) -> bool {
        self.read.saturating_add(length) > self.bytes
    }

    fn read(&mut self, offset: u64, length: u64) -> io::Result<Bytes> {
        if let Some(known) = self.ranges.get(&(offset, length)) {
            return Ok(known.clone());
        }
        if !self.ranges.contains_key(&self.whole()) && self.reads_all(length) {
            let all = self.read_from_disk(0, self.bytes)?;
            self.ranges.insert(self.whole(), all);
        }
        if let Some(all) = self.ranges.get(&self.whole()) {
            // The range is in the file, and so in memory.
            return Ok(all.slice(offset as usize..(offset + length) as usize));
        }
        let data = self.read_from_disk(offset, length)?;
        self.read += length;
        self.ranges.insert((offset, length), data.clone());
        Ok(data)
    }

    fn read_from_disk(&mut self, offset: u64, length: u64) -> io::Result<Bytes> {
        let mut data = Vec::new();
        data.try_reserve_exact(usize::try_from(length).map_err(io::Error::other)?)?;
        self.file.seek(SeekFrom::Start(offset))?;
        read_in_pieces(&mut self.file, length, &mut data)?;
        if data.len() as u64 == length { Ok(data.into()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}
