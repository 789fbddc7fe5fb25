//! Results in files.

use std::io::{Cursor, Seek, Write};
use std::path::{Path, PathBuf};

use half::f16;
use millstream_backend::Tensor;
use millstream_files::WholeFile;
use millstream_graph::DataType;
use npyz::{AutoSerialize, WriteOptions, WriterBuilder};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::error::FramesError;

/// Writes the named results of a frame into `folder/label.npz` and returns the path. The file is there whole or not at
/// all; the folder is made if it is missing.
///
/// # Errors
/// [`FramesError::Io`] if it can't be written, [`FramesError::Misfit`] for a result of strings, which NumPy's files
/// hold otherwise.
pub fn write_results(folder: &Path, label: &str, results: &[(String, Tensor)]) -> Result<PathBuf, FramesError> {
    let path = folder.join(format!("{label}.npz"));
    std::fs::create_dir_all(folder).map_err(FramesError::writing(folder))?;
    let mut file = WholeFile::create(&path).map_err(FramesError::writing(&path))?;
    // In memory, since the archive's writer panics when it is dropped after a write that failed.
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, tensor) in results {
        if tensor.data_type() == DataType::String {
            return Err(FramesError::misfit(format!(
                "the result '{name}' is of strings, which are not written to .npz files"
            )));
        }
        write_array(&mut archive, name, tensor).map_err(FramesError::writing(&path))?;
    }
    let archive = archive.finish().map_err(|error| FramesError::writing(&path)(error.into()))?;
    file.write_all(archive.get_ref()).map_err(FramesError::writing(&path))?;
    file.finish().map_err(FramesError::writing(&path))?;
    Ok(path)
}

fn write_array<W: Write + Seek>(archive: &mut ZipWriter<W>, name: &str, tensor: &Tensor) -> std::io::Result<()> {
    let bytes = tensor.bytes().unwrap_or_default();
    let shape: Vec<u64> = tensor.shape().dimensions().iter().map(|&size| size as u64).collect();
    macro_rules! elements {
        ($type:ty) => {
            write_elements(archive, name, &shape, bytemuck::pod_collect_to_vec::<u8, $type>(bytes))
        };
    }
    match tensor.data_type() {
        DataType::F32 => elements!(f32),
        DataType::F64 => elements!(f64),
        DataType::F16 => elements!(f16),
        // NumPy has no such type; every one of them is a float.
        DataType::Bf16 => {
            let elements = bytemuck::pod_collect_to_vec::<u8, half::bf16>(bytes);
            write_elements(archive, name, &shape, elements.into_iter().map(half::bf16::to_f32).collect::<Vec<f32>>())
        }
        DataType::I8 => elements!(i8),
        DataType::I16 => elements!(i16),
        DataType::I32 => elements!(i32),
        DataType::I64 => elements!(i64),
        DataType::U16 => elements!(u16),
        DataType::U32 => elements!(u32),
        DataType::U64 => elements!(u64),
        DataType::Bool => {
            write_elements(archive, name, &shape, bytes.iter().map(|&byte| byte != 0).collect::<Vec<bool>>())
        }
        _ => elements!(u8),
    }
}

fn write_elements<W: Write + Seek, T: AutoSerialize>(
    archive: &mut ZipWriter<W>,
    name: &str,
    shape: &[u64],
    elements: Vec<T>,
) -> std::io::Result<()> {
    // Large results need the longer form of the format.
    let bytes = size_of::<T>() as u64 * elements.len() as u64;
    let options = SimpleFileOptions::default().large_file(bytes >= u64::from(u32::MAX) / 2);
    archive.start_file(format!("{name}.npy"), options)?;
    let mut writer = WriteOptions::new().default_dtype().shape(shape).writer(archive).begin_nd()?;
    writer.extend(elements)?;
    writer.finish()
}
