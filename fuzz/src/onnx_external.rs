//! ONNX files whose constants are in other files: whatever entries say, only files of the model's folder are read.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use millstream_onnx::Model;
use millstream_onnx::proto::{EXTERNAL, ModelProto, StringStringEntryProto, TensorProto};
use prost::Message;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::examine::options;
use crate::made_model::model;

/// What fills the file that may be read, and the one that may not.
const DATA: u8 = 0;
const SECRET: u8 = 0xa5;
const BYTES: usize = 4096;

const LOCATIONS: [&str; 17] = [
    "data",
    "folder/data",
    "../secret",
    "folder/../../secret",
    "./data",
    "folder",
    "",
    ".",
    "/etc/hostname",
    "missing",
    "data/",
    "data\u{0}",
    "own-link",
    "link",
    "elsewhere/secret",
    "endless",
    "pipe",
];
const KEYS: [&str; 5] = ["location", "offset", "length", "checksum", ""];
const NUMBERS: [&str; 12] =
    ["0", "4", "4096", "4095", "-1", "18446744073709551615", "9223372036854775807", "1e3", "", " 8", "0x10", "16"];

/// `secret` beside the model's folder `model`, which has the data, links to inside and outside, and what never ends.
static FOLDER: LazyLock<Option<TempDir>> = LazyLock::new(|| {
    let folder = TempDir::new().ok()?;
    fs::create_dir_all(folder.path().join("model/folder")).ok()?;
    for (file, byte) in [("model/data", DATA), ("model/folder/data", DATA), ("secret", SECRET)] {
        fs::write(folder.path().join(file), vec![byte; BYTES]).ok()?;
    }
    let links = [("own-link", "data"), ("link", "../secret"), ("elsewhere", ".."), ("endless", "/dev/zero")];
    for (name, target) in links {
        symlink(target, folder.path().join("model").join(name)).ok()?;
    }
    mknodat(CWD, folder.path().join("model/pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).ok()?;
    Some(folder)
});

pub(crate) fn run(data: &[u8]) {
    let Some(folder) = &*FOLDER else { return };
    let Ok(proto) = made(&mut Unstructured::new(data)) else { return };
    let path = folder.path().join("model/model.onnx");
    if fs::write(&path, proto.encode_to_vec()).is_err() {
        return;
    }
    let Ok(model) = Model::read(&path, &options()) else { return };
    for (name, weight) in model.weights() {
        let is_secret = weight.data.len() >= 16 && weight.data.iter().all(|&byte| byte == SECRET);
        assert!(!is_secret, "the weight '{name}' was read from outside the model's folder");
    }
}

/// A model some of whose constants are elsewhere.
fn made(raw: &mut Unstructured<'_>) -> Result<ModelProto> {
    let mut entries = Vec::new();
    for _ in 0..raw.int_in_range(1..=4)? {
        let mut external = vec![entry("location", raw.choose(&LOCATIONS)?)];
        for _ in 0..raw.int_in_range(0..=3)? {
            external.push(entry(raw.choose(&KEYS)?, raw.choose(&NUMBERS)?));
        }
        entries.push((raw.int_in_range(0..=64_i64)?, external));
    }
    let mut made = model(raw)?;
    if let Some(graph) = &mut made.graph {
        for (index, (size, external_data)) in entries.into_iter().enumerate() {
            let name = graph.node.get(index).and_then(|node| node.input.first()).cloned();
            let name = Some(name.unwrap_or_else(|| format!("outside{index}")));
            graph.initializer.retain(|own| own.name != name);
            graph.initializer.push(TensorProto {
                name,
                dims: vec![size, 4],
                data_type: Some(1),
                external_data,
                data_location: Some(EXTERNAL),
                ..TensorProto::default()
            });
        }
    }
    Ok(made)
}

fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.to_owned()), value: Some(value.to_owned()) }
}
