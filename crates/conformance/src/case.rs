//! Cases of the suite: models in folders, and the tensors that belong to them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use millstream_backend::Tensor;
use millstream_onnx::Weight;
use millstream_onnx::proto::{ModelProto, TensorProto};
use prost::Message;

use crate::error::ConformanceError;

/// A model of the suite, with the files of its test data.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The model file.
    pub model: PathBuf,
    /// Where its inputs and expected outputs are; missing where the model came alone.
    pub data: Option<PathBuf>,
}

/// Inputs by name, and what should come out, in order.
pub(crate) struct Data {
    pub(crate) inputs: BTreeMap<String, Tensor>,
    pub(crate) expected: Vec<Tensor>,
}

impl Case {
    /// All cases below a folder, by name: `NAME/model.onnx`, with `test_data_set_0` beside it.
    ///
    /// # Errors
    /// [`ConformanceError::Io`] if the folder can't be read.
    pub fn all(folder: &Path) -> Result<Vec<Self>, ConformanceError> {
        let failed = |source| ConformanceError::Io { path: folder.to_owned(), source };
        let mut cases = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let model = path.join("model.onnx");
                if model.is_file() {
                    let data = Some(path.join("test_data_set_0")).filter(|data| data.is_dir());
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    cases.push(Self { name, model, data });
                } else if path.is_dir() {
                    open.push(path);
                }
            }
        }
        cases.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(cases)
    }

    /// The test data; the error says what is in them that no tensor is.
    pub(crate) fn read_data(&self, model: &ModelProto) -> Result<Data, String> {
        let graph = model.graph.as_ref().ok_or("no graph")?;
        let names = graph.input.iter().map(|input| input.name.clone().unwrap_or_default());
        let Some(folder) = &self.data else { return Err("there are no test data".to_owned()) };
        let mut inputs = BTreeMap::new();
        for (index, name) in names.enumerate() {
            let path = folder.join(format!("input_{index}.pb"));
            if path.is_file() {
                inputs.insert(name, read_tensor(&path)?);
            }
        }
        let mut expected = Vec::new();
        for index in 0..graph.output.len() {
            expected.push(read_tensor(&folder.join(format!("output_{index}.pb")))?);
        }
        Ok(Data { inputs, expected })
    }
}

fn read_tensor(path: &Path) -> Result<Tensor, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let proto = TensorProto::decode(bytes.as_slice()).map_err(|error| format!("{}: {error}", path.display()))?;
    const STRING: i32 = 8;
    if proto.data_type == Some(STRING) {
        let shape: Vec<usize> = proto.dims.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
        let text = |bytes: &prost::bytes::Bytes| String::from_utf8_lossy(bytes).into_owned();
        return Ok(Tensor::from_strings(shape, proto.string_data.iter().map(text).collect()));
    }
    let weight = Weight::from_proto(&proto).map_err(|error| error.to_string())?;
    Ok(Tensor::from_bytes(weight.data_type, weight.shape, weight.data.to_vec()))
}
