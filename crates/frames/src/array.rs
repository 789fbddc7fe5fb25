//! NumPy's files: `.npy` with one array, `.npz` with several by name.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use millstream_backend::Tensor;
use millstream_graph::{DataType, Shape};
use npyz::{DType, NpyHeader, Order};
use zip::ZipArchive;

use crate::error::FramesError;
use crate::made_up::available_bytes;

/// The arrays of a `.npz` file with their names.
///
/// # Errors
/// [`FramesError::Io`] and [`FramesError::Format`].
pub fn read_arrays(path: &Path) -> Result<Vec<(String, Tensor)>, FramesError> {
    let file = File::open(path).map_err(FramesError::reading(path))?;
    let format = |detail: String| FramesError::format(path, detail);
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|error| format(format!("it is no .npz file: {error}")))?;
    let mut arrays = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let wrong = |name: &str, detail: String| FramesError::format(path, format!("the array '{name}': {detail}"));
        let mut entry = archive.by_index(index).map_err(|error| format(error.to_string()))?;
        let name = entry.name().map_err(|error| format(error.to_string()))?.into_owned();
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        let header = header(&mut entry).map_err(|detail| wrong(&name, detail))?;
        let tensor = tensor(&header, entry).map_err(|detail| wrong(&name, detail))?;
        arrays.push((name, tensor));
    }
    arrays.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(arrays)
}

/// The array of a `.npy` file.
///
/// # Errors
/// [`FramesError::Io`] and [`FramesError::Format`].
pub fn read_single(path: &Path) -> Result<Tensor, FramesError> {
    let file = File::open(path).map_err(FramesError::reading(path))?;
    let mut reader = BufReader::new(file);
    let header =
        header(&mut reader).map_err(|detail| FramesError::format(path, format!("it is no .npy file: {detail}")))?;
    tensor(&header, reader).map_err(|detail| FramesError::format(path, detail))
}

/// The most bytes that the text of a header has.
const MOST_HEADER_BYTES: u32 = 1 << 16;

/// Reads a header. The library multiplies the sizes that stand in it without looking, so they are looked at before.
fn header(reader: &mut impl Read) -> Result<NpyHeader, String> {
    let text = |error: std::io::Error| error.to_string();
    let mut bytes = vec![0; 8];
    reader.read_exact(&mut bytes).map_err(text)?;
    let is_first_version = bytes[6] == 1;
    let start = bytes.len();
    bytes.resize(start + if is_first_version { 2 } else { 4 }, 0);
    reader.read_exact(&mut bytes[start..]).map_err(text)?;
    let length = bytes[start..].iter().rev().fold(0_u32, |length, &byte| length << 8 | u32::from(byte));
    if !bytes.starts_with(b"\x93NUMPY") || length > MOST_HEADER_BYTES {
        return Err("it does not begin like one".to_owned());
    }
    let start = bytes.len();
    bytes.resize(start + length as usize, 0);
    reader.read_exact(&mut bytes[start..]).map_err(text)?;
    let head = String::from_utf8_lossy(&bytes[start..]);
    let shape = head.split_once("'shape'").and_then(|(_, rest)| rest.split_once('('));
    let sizes = shape.and_then(|(_, rest)| rest.split_once(')')).map_or("", |(sizes, _)| sizes);
    let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
    // An element has 16 bytes at the most. Sizes of 0 do not make the others harmless: strides are products of some of
    // them.
    let times = |product: u64, size: &str| product.checked_mul(size.parse::<u64>().ok()?.max(1));
    let bytes_in_all = sizes.into_iter().try_fold(16_u64, times);
    if bytes_in_all.is_none() {
        return Err("its shape is too large".to_owned());
    }
    NpyHeader::from_reader(bytes.as_slice()).map_err(text)
}

/// The elements that follow a header.
fn tensor(header: &NpyHeader, reader: impl Read) -> Result<Tensor, String> {
    let (data_type, is_big_endian) = element_type(&header.dtype())?;
    let sizes: Option<Vec<usize>> = header.shape().iter().map(|&size| usize::try_from(size).ok()).collect();
    let shape = Shape::from(sizes.ok_or("its shape is too large")?);
    let size = data_type.bytes().unwrap_or(1);
    let expected = shape.elements().checked_mul(size as u64).ok_or("its shape is too large")?;
    // What is compressed may be far more than the file.
    if let Some(limit) = available_bytes().filter(|&limit| expected > limit) {
        return Err(format!("its shape {shape} needs {expected} bytes, and {limit} are free"));
    }
    // No more is read than the shape asks for, and no memory is taken before the elements are there.
    let mut bytes = Vec::new();
    reader.take(expected).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 != expected {
        return Err(format!("it has {} bytes of elements where its shape {shape} needs {expected}", bytes.len()));
    }
    if is_big_endian != cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    if header.order() == Order::Fortran {
        bytes = rows_first(&bytes, shape.dimensions(), size);
    }
    Ok(Tensor::from_bytes(data_type, shape, bytes))
}

/// Elements that are stored column by column, row by row.
fn rows_first(bytes: &[u8], sizes: &[usize], element: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(bytes.len());
    let mut index = vec![0; sizes.len()];
    for _ in 0..bytes.len() / element.max(1) {
        let place = index.iter().zip(sizes).rev().fold(0, |place, (index, size)| place * size + index);
        ordered.extend_from_slice(&bytes[place * element..(place + 1) * element]);
        for (along, size) in index.iter_mut().zip(sizes).rev() {
            *along += 1;
            if *along < *size {
                break;
            }
            *along = 0;
        }
    }
    ordered
}

/// What an element is, and whether its bytes are stored the other way round.
fn element_type(dtype: &DType) -> Result<(DataType, bool), String> {
    let DType::Plain(plain) = dtype else { return Err("arrays of records are not supported".to_owned()) };
    let text = plain.to_string();
    let data_type = match text.get(1..).unwrap_or_default() {
        "f2" => DataType::F16,
        "f4" => DataType::F32,
        "f8" => DataType::F64,
        "i1" => DataType::I8,
        "i2" => DataType::I16,
        "i4" => DataType::I32,
        "i8" => DataType::I64,
        "u1" => DataType::U8,
        "u2" => DataType::U16,
        "u4" => DataType::U32,
        "u8" => DataType::U64,
        "b1" => DataType::Bool,
        _ => return Err(format!("elements of NumPy's type '{text}' are not supported")),
    };
    Ok((data_type, text.starts_with('>')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8]) -> Result<Tensor, String> {
        let mut reader = bytes;
        let header = header(&mut reader)?;
        tensor(&header, reader)
    }

    #[test]
    fn every_order_comes_out_row_by_row_in_native_bytes() {
        let tensor = read(&npy(">i2", "True", "(2, 3)", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6])).unwrap();
        let elements: Vec<i16> = bytemuck::pod_collect_to_vec(tensor.bytes().unwrap());
        assert_eq!((tensor.data_type(), elements.as_slice()), (DataType::I16, &[1, 2, 3, 4, 5, 6][..]));
    }

    #[test]
    fn damaged_arrays_are_refused() {
        assert!(read(&npy("<f4", "False", "(2,)", &[0; 7])).unwrap_err().contains("7 bytes"));
        assert!(read(&npy("<f4", "False", "(18446744073709551615, 2)", &[0; 8])).is_err());
        assert!(read(&npy("<f4", "False", "(0, 18446744073709551615, 2)", &[])).is_err());
        assert!(read(&npy("<f4", "False", "(2305843009213693952, 3, 64, 48)", &[0; 8])).is_err());
        assert!(read(&npy("<f4", "False", "(1000000000000,)", &[0; 8])).unwrap_err().contains("needs 4000000000000"));
        #[cfg(target_os = "linux")]
        assert!(read(&npy("<f4", "False", "(1000000000000,)", &[0; 8])).unwrap_err().contains("are free"));
        assert!(read(&npy("<c8", "False", "(1,)", &[0; 8])).unwrap_err().contains("c8"));
        assert!(read(b"no array").is_err());
    }
}
