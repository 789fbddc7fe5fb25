//! Reading models as exporters write them, and refusing what is not one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;

use bytes::Bytes;
use millstream_graph::{DataType, OperatorKind, Shape};
use millstream_onnx::proto::{
    AttributeProto, EXTERNAL, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto,
};
use millstream_onnx::{Attributes, Model, ModelBuilder, OnnxError, ReadOptions, Weight, WeightStorage};
use proptest::prelude::*;
use prost::Message;

fn read(builder: ModelBuilder, options: &ReadOptions) -> Result<Model, OnnxError> {
    Model::from_bytes(builder.into_proto().encode_to_vec().into(), options)
}

fn shape_of(model: &Model, value: &str) -> Vec<usize> {
    let value = model.graph().values().iter().find(|other| other.name == value).unwrap();
    value.shape.as_ref().unwrap().dimensions().to_vec()
}

fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) }
}

/// Files that are all called `main_graph` inside are told apart by their own names.
#[test]
fn a_network_is_called_as_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("detector.v2.onnx");
    let model = convolution(filter()).into_proto().encode_to_vec();
    fs::write(&path, &model).unwrap();
    assert_eq!(Model::read(&path, &ReadOptions::default()).unwrap().graph().name(), "detector.v2");
    assert_eq!(Model::from_bytes(model.into(), &ReadOptions::default()).unwrap().graph().name(), "convolution");
}

/// What no result depends on is not run, wherever it stands, and whatever it reads.
#[test]
fn operators_that_nobody_needs_are_left_out() {
    let mut builder = ModelBuilder::new("left over");
    let (image, other) = (builder.input("image", [1, 4]), builder.input("other", [1, 4]));
    let first = builder.node("Sin", &[&other]);
    builder.node("Abs", &[&first]);
    let middle = builder.node("Relu", &[&image]);
    builder.node("Cos", &[&middle]);
    let last = builder.node("Neg", &[&middle]);
    builder.output(&last);
    builder.node("Exp", &[&last]);
    let model = read(builder, &ReadOptions::default()).unwrap();
    let operators: Vec<&str> = model.graph().operators().iter().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(operators, ["Relu", "Neg"]);
    assert_eq!(model.graph().inputs().len(), 2);
}

/// An initializer may be a result, and be read as well; both are of the same values.
#[test]
fn an_initializer_may_be_a_result() {
    let mut builder = convolution(filter());
    builder.output("filter");
    let model = read(builder, &ReadOptions::default()).unwrap();
    let graph = model.graph();
    let outputs: Vec<&str> = graph.outputs().iter().map(|&id| graph.value(id).name.as_str()).collect();
    assert_eq!(outputs[1], "filter");
    assert_eq!(shape_of(&model, "filter"), [2, 3, 1, 1]);
    let operators: Vec<&str> = graph.operators().iter().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(operators, ["Conv", "Identity"]);
    // The convolution still has its filter as a constant.
    assert!(matches!(graph.operators()[0].kind, OperatorKind::Convolution(_)), "{:?}", graph.operators()[0].kind);
}

/// A 1x1 convolution from 3 to 2 channels whose filter is the given initializer.
fn convolution(filter: TensorProto) -> ModelBuilder {
    let mut builder = ModelBuilder::new("convolution");
    let image = builder.input("image", [1, 3, 4, 4]);
    builder.initializer(filter);
    let result = builder.node("Conv", &[&image, "filter"]);
    builder.output(&result);
    builder
}

fn filter() -> TensorProto {
    TensorProto {
        name: Some("filter".into()),
        dims: vec![2, 3, 1, 1],
        data_type: Some(1),
        float_data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        ..TensorProto::default()
    }
}

#[test]
fn a_convolution_is_described() {
    let model = read(convolution(filter()), &ReadOptions::default()).unwrap();
    let operator = &model.graph().operators()[0];
    let OperatorKind::Convolution(convolution) = &operator.kind else { panic!("{:?}", operator.kind) };
    assert_eq!((convolution.input_channels, convolution.output_channels, convolution.groups), (3, 2, 1));
    let gemm = operator.work.gemm.unwrap();
    assert_eq!((gemm.n, gemm.k, gemm.m), (16, 3, 2));
    assert_eq!(operator.work.macs, 96);
    assert_eq!((operator.work.input_bytes, operator.work.weight_bytes, operator.work.output_bytes), (192, 24, 128));
    assert_eq!(shape_of(&model, "Conv_0"), [1, 2, 4, 4]);
}

#[test]
fn an_initializer_that_is_also_an_input_is_a_constant() {
    let mut builder = convolution(filter());
    builder.input("filter", [2, 3, 1, 1]);
    let model = read(builder, &ReadOptions::default()).unwrap();
    assert_eq!(model.graph().inputs().len(), 1);
}

#[test]
fn weights_are_read_from_files_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let elements: Vec<u8> = (1..=6).flat_map(|value| (value as f32).to_le_bytes()).collect();
    fs::write(folder.path().join("weights.bin"), [vec![0; 16], elements].concat()).unwrap();
    let external = |location: &str, offset: &str| TensorProto {
        float_data: Vec::new(),
        data_location: Some(EXTERNAL),
        external_data: vec![entry("location", location), entry("offset", offset), entry("length", "24")],
        ..filter()
    };
    let read = |initializer: TensorProto| {
        let path = folder.path().join("model.onnx");
        fs::write(&path, convolution(initializer).into_proto().encode_to_vec()).unwrap();
        Model::read(&path, &ReadOptions::default())
    };
    let model = read(external("weights.bin", "16")).unwrap();
    assert_eq!(model.weights()["filter"], Weight::from_f32([2, 3, 1, 1], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let cases = [
        (external("weights.bin", "20"), "too few for weight 'filter'"),
        (external("gone.bin", "0"), "gone.bin"),
        (external("../weights.bin", "0"), "outside the model's folder"),
        (external("/etc/passwd", "0"), "outside the model's folder"),
        (external("weights.bin", "x"), "is no number"),
    ];
    for (initializer, expected) in cases {
        let message = read(initializer).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_files_of_a_model_are_named_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, with_weights(&[("b/two.bin", 0), ("one.bin", 0), ("b/two.bin", 24)])).unwrap();
    let names: Vec<_> = ["b/two.bin", "one.bin"].map(std::path::PathBuf::from).into();
    assert_eq!(millstream_onnx::weight_files(&path).unwrap(), names, "whether they are there or not");
    fs::write(&path, convolution(filter()).into_proto().encode_to_vec()).unwrap();
    assert!(millstream_onnx::weight_files(&path).unwrap().is_empty());
    fs::write(&path, "no model").unwrap();
    assert!(millstream_onnx::weight_files(&path).is_err());
}

/// A model with weights of six floats at these places in files.
fn with_weights(places: &[(&str, u64)]) -> Vec<u8> {
    let mut builder = ModelBuilder::new("many");
    let mut value = builder.input("x", [2, 3]);
    for (index, (location, offset)) in places.iter().enumerate() {
        let name = format!("w{index}");
        builder.initializer(TensorProto {
            name: Some(name.clone()),
            dims: vec![2, 3],
            data_type: Some(1),
            data_location: Some(EXTERNAL),
            external_data: vec![entry("location", location), entry("offset", &offset.to_string())],
            ..TensorProto::default()
        });
        value = builder.node("Add", &[&value, &name]);
    }
    builder.output(&value);
    builder.into_proto().encode_to_vec()
}

#[cfg(unix)]
#[test]
fn links_and_pipes_do_not_lead_out_of_the_models_folder() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("model/inside")).unwrap();
    fs::create_dir(path("blobs")).unwrap();
    fs::write(path("blobs/weights"), [0; 24]).unwrap();
    fs::write(path("model/inside/weights"), [0; 24]).unwrap();
    symlink("../blobs/weights", path("model/file_outside")).unwrap();
    symlink("../blobs", path("model/folder_outside")).unwrap();
    symlink("inside/weights", path("model/file_inside")).unwrap();
    symlink("/dev/zero", path("model/device")).unwrap();
    std::process::Command::new("mkfifo").arg(path("model/pipe")).status().unwrap();
    // The folder itself may be reached through a link.
    symlink("model", path("link")).unwrap();
    let read = |location: &str, linked_weights: bool| {
        fs::write(path("model/model.onnx"), with_weights(&[(location, 0)])).unwrap();
        let options = ReadOptions::default().with_linked_weights(linked_weights);
        Model::read(&path("link/model.onnx"), &options).map_err(|error| error.to_string())
    };
    for location in ["inside/weights", "file_inside", "./inside/./weights"] {
        read(location, false).unwrap();
    }
    for location in ["file_outside", "folder_outside/weights"] {
        let message = read(location, false).unwrap_err();
        assert!(message.contains("outside the model's folder") && message.contains("--linked-weights"), "{message}");
        read(location, true).unwrap();
    }
    for location in ["pipe", "inside"] {
        assert!(read(location, false).unwrap_err().contains("is no ordinary file"), "{location}");
    }
    assert!(read("device", false).is_err());
    assert!(read("device", true).unwrap_err().contains("is no ordinary file"));
    assert!(read("../blobs/weights", true).is_err());
}

/// A runtime that gets a segment as bytes would look for them in whatever folder the program was started in.
#[test]
fn tensors_inside_operators_and_functions_are_not_in_other_files() {
    let outside =
        || TensorProto { external_data: vec![entry("location", "secret")], data_location: Some(EXTERNAL), ..filter() };
    let with = |attribute: AttributeProto| NodeProto { attribute: vec![attribute], ..NodeProto::default() };
    let body = GraphProto { initializer: vec![outside()], ..GraphProto::default() };
    let constant = with(AttributeProto { t: Some(outside()), ..AttributeProto::default() });
    let deep = with(AttributeProto { g: Some(body.clone()), ..AttributeProto::default() });
    // The values of a sparse tensor, and the nodes of a function, are fields 1 and 7.
    let field = |tag: u8, message: Vec<u8>| [vec![tag << 3 | 2], varint(message.len()), message].concat();
    let sparse = field(1, outside().encode_to_vec());
    let attributes = [
        AttributeProto { g: Some(body), ..AttributeProto::default() },
        AttributeProto {
            graphs: vec![GraphProto { node: vec![deep], ..GraphProto::default() }],
            ..AttributeProto::default()
        },
        AttributeProto { t: Some(outside()), ..AttributeProto::default() },
        AttributeProto { tensors: vec![filter(), outside()], ..AttributeProto::default() },
        AttributeProto { sparse_tensor: Some(sparse.into()), ..AttributeProto::default() },
    ];
    let refused = |model: ModelProto| {
        let error = Model::from_bytes(model.encode_to_vec().into(), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("in another file"), "{error}");
    };

    for attribute in attributes {
        let mut model = convolution(filter()).into_proto();
        model.graph.as_mut().unwrap().node[0].attribute.push(attribute);
        refused(model);
    }
    let mut model = convolution(filter()).into_proto();
    assert!(Model::from_bytes(model.encode_to_vec().into(), &ReadOptions::default()).is_ok());
    model.functions.push(field(7, constant.encode_to_vec()).into());
    refused(model);
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[test]
fn bytes_that_weights_share_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let bytes: Vec<u8> = (0..12).flat_map(|value| (value as f32).to_le_bytes()).collect();
    fs::write(folder.path().join("weights"), bytes).unwrap();
    let read = |places: &[(&str, u64)], most_weight_bytes: u64| {
        fs::write(&path, with_weights(places)).unwrap();
        Model::read(&path, &ReadOptions::default().with_most_weight_bytes(most_weight_bytes))
    };
    // The same bytes a hundred times are 24 bytes.
    let model = read(&[("weights", 16); 100], 24).unwrap();
    let first = &model.weights()["w0"].data;
    assert_eq!(model.weights().len(), 100);
    assert!(model.weights().values().all(|weight| weight.data.as_ptr() == first.as_ptr()));
    assert_eq!(model.weights()["w7"], Weight::from_f32([2, 3], vec![4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));

    // Ranges that overlap are no more than the file, beside what was read before.
    let overlapping: Vec<(&str, u64)> = (0..7).map(|place| ("weights", 4 * place)).collect();
    let model = read(&overlapping, 48 + 48).unwrap();
    for (place, weight) in (0..7).map(|place| (place, &model.weights()[&format!("w{place}")])) {
        assert_eq!(weight.floats().unwrap(), (place..place + 6).map(|value| value as f32).collect::<Vec<_>>());
    }
    let message = read(&[("weights", 0), ("weights", 24)], 47).unwrap_err().to_string();
    assert!(message.contains("weight 'w1'") && message.contains("allow more"), "{message}");

    // Shared or not, it is the same model.
    let apart = [("weights", 0), ("weights", 24)];
    let digest = |places: &[(&str, u64)]| read(places, 48).unwrap().digest().to_owned();
    let shared = digest(&[("weights", 0), ("weights", 0)]);
    assert_ne!(digest(&apart), shared);
    fs::copy(folder.path().join("weights"), folder.path().join("copy")).unwrap();
    assert_eq!(digest(&[("weights", 0), ("copy", 0)]), shared);
}

#[cfg(unix)]
#[test]
fn a_model_without_end_is_no_model() {
    let message = Model::read(std::path::Path::new("/dev/null"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("the file is empty"), "{message}");
}

#[test]
fn open_dimensions_are_fixed_or_asked_for() {
    let model = |options: &ReadOptions| {
        let mut builder = ModelBuilder::new("open");
        let image = builder.open_input("image", &["batch", "3", "height", "width"]);
        let result = builder.node("Relu", &[&image]);
        builder.output(&result);
        read(builder, options)
    };
    let error = model(&ReadOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("height (dimension 2 of input 'image'), width"), "{message}");
    assert!(message.contains("give each a size"), "{message}");
    let sizes = BTreeMap::from([("height".to_owned(), 8), ("width".to_owned(), 6)]);
    let fixed = model(&ReadOptions::default().with_batch(2).with_dimensions(sizes)).unwrap();
    assert_eq!(shape_of(&fixed, "Relu_0"), [2, 3, 8, 6]);
}

#[test]
fn shape_arithmetic_becomes_constants() {
    let mut builder = ModelBuilder::new("flattening");
    let image = builder.input("image", [2, 3, 4, 4]);
    let relu = builder.node("Relu", &[&image]);
    let shape = builder.node("Shape", &[&relu]);
    let first = builder.weight("first", &Weight::from_i64([], &[0]));
    let batch = builder.node_with("Gather", &[&shape, &first], Attributes::new().int("axis", 0));
    let axes = builder.weight("axes", &Weight::from_i64([1], &[0]));
    let batch = builder.node("Unsqueeze", &[&batch, &axes]);
    let rest = builder.weight("rest", &Weight::from_i64([1], &[-1]));
    let target = builder.node_with("Concat", &[&batch, &rest], Attributes::new().int("axis", 0));
    let flat = builder.node("Reshape", &[&relu, &target]);
    builder.output(&flat);
    let model = read(builder, &ReadOptions::default()).unwrap();
    let types: Vec<&str> = model.graph().operators().iter().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(types, ["Relu", "Reshape"]);
    assert_eq!(shape_of(&model, &flat), [2, 48]);
    let tail = model.segment(&model.graph().order()[1..], WeightStorage::Inline).unwrap();
    let again = Model::from_bytes(tail.bytes.into(), &ReadOptions::default()).unwrap();
    assert_eq!(again.weights()[&target], Weight::from_i64([2], &[2, -1]));
}

/// What is an input in new operator sets was an attribute in old ones.
#[test]
fn old_operator_sets_have_the_same_shapes() {
    let mut old = ModelBuilder::new("old").opset(9);
    let image = old.input("image", [1, 4, 6, 6]);
    let cut = Attributes::new().ints("starts", &[1, 0]).ints("ends", &[5, 3]).ints("axes", &[2, 3]);
    let sliced = old.node_with("Slice", &[&image], cut);
    let padded = old.node_with("Pad", &[&sliced], Attributes::new().ints("pads", &[0, 0, 1, 1, 0, 0, 1, 1]));
    let scales = old.weight("scales", &Weight::from_f32([4], vec![1.0, 1.0, 2.0, 2.0]));
    let large = old.node_with("Upsample", &[&padded, &scales], Attributes::new().text("mode", "nearest"));
    let squeezed = old.node_with("Squeeze", &[&large], Attributes::new().ints("axes", &[0]));
    let mean = old.node_with("ReduceMean", &[&squeezed], Attributes::new().ints("axes", &[1, 2]).int("keepdims", 0));
    old.output(&mean);
    let model = read(old, &ReadOptions::default()).unwrap();
    assert_eq!(shape_of(&model, &sliced), [1, 4, 4, 3]);
    assert_eq!(shape_of(&model, &padded), [1, 4, 6, 5]);
    assert_eq!(shape_of(&model, &large), [1, 4, 12, 10]);
    assert_eq!(shape_of(&model, &squeezed), [4, 12, 10]);
    assert_eq!(shape_of(&model, &mean), [4]);
}

#[test]
fn what_is_not_known_stays_opaque() {
    let mut builder = ModelBuilder::new("opaque");
    let image = builder.input("image", [2, 3]);
    let made = builder.node("Det", &[&image]);
    builder.output(&made);
    let model = read(builder, &ReadOptions::default()).unwrap();
    assert_eq!(model.graph().operators()[0].kind, OperatorKind::Opaque);
    assert_eq!(model.graph().values()[1].data_type, Some(DataType::F32));
    assert_eq!(model.graph().values()[1].shape, None);
}

#[test]
fn segments_survive_a_round_trip() {
    let model = millstream_zoo_like();
    let whole = model.segment(model.graph().order(), WeightStorage::Inline).unwrap();
    let again = Model::from_bytes(whole.bytes.into(), &ReadOptions::default()).unwrap();
    assert_eq!(again.digest(), model.digest());
    let outside = model.segment(model.graph().order(), WeightStorage::External).unwrap();
    assert_eq!(outside.external_weights.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["filter_0"]);
    assert!(outside.bytes.len() < 1000, "{} bytes", outside.bytes.len());
}

fn millstream_zoo_like() -> Model {
    let mut builder = ModelBuilder::new("two");
    let image = builder.input("image", [1, 16, 4, 4]);
    let filter = builder.weight("filter", &Weight::from_f32([32, 16, 1, 1], vec![0.5; 512]));
    let bias = builder.weight("bias", &Weight::from_f32([32], vec![0.1; 32]));
    let wide = builder.node("Conv", &[&image, &filter, &bias]);
    let result = builder.node("Relu", &[&wide]);
    builder.output(&result);
    builder.build().unwrap()
}

#[test]
fn bad_models_are_refused_with_the_reason() {
    let refusal = |builder: ModelBuilder| read(builder, &ReadOptions::default()).unwrap_err().to_string();

    let with_data = |data: Vec<f32>| convolution(TensorProto { float_data: data, ..filter() });
    assert!(refusal(with_data(vec![1.0, 2.0, f32::NAN, 4.0, 5.0, 6.0])).contains("'filter' contains NaN at element 2"));
    assert!(refusal(with_data(vec![1.0])).contains("has 4 bytes of data where its shape needs 24"));
    let negative = TensorProto { dims: vec![2, -3], ..filter() };
    assert!(refusal(convolution(negative)).contains("negative dimension"));
    let huge = TensorProto { dims: vec![i64::MAX, i64::MAX], ..filter() };
    assert!(refusal(convolution(huge)).contains("too large"));

    let mut unknown = ModelBuilder::new("unknown");
    let image = unknown.input("image", [1]);
    let made = unknown.node("Frobnicate", &[&image]);
    unknown.output(&made);
    assert!(refusal(unknown).contains("'Frobnicate_0' has the type 'Frobnicate'"));

    let mut cyclic = ModelBuilder::new("cyclic");
    cyclic.named_node("one", "Relu", &["b"], &["a"], Attributes::new());
    cyclic.named_node("two", "Relu", &["a"], &["b"], Attributes::new());
    cyclic.output("b");
    assert!(refusal(cyclic).contains("cycle through the operators one, two"));

    let mut dangling = ModelBuilder::new("dangling");
    let made = dangling.node("Relu", &["nowhere"]);
    dangling.output(&made);
    assert!(refusal(dangling).contains("'nowhere' is read by operator 'Relu_0' but nothing makes it"));

    let mut new = ModelBuilder::new("new").opset(27);
    let image = new.input("image", [1]);
    let made = new.node("Relu", &[&image]);
    new.output(&made);
    assert!(refusal(new).contains("operator set 27"));

    let error = Model::from_bytes(Bytes::from_static(b"\x89PNG\r\n"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, OnnxError::Malformed { .. }));
    let error = Model::from_bytes(Bytes::new(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the file is empty"));
    let missing = Model::read("/no/such/file.onnx".as_ref(), &ReadOptions::default()).unwrap_err();
    assert!(missing.to_string().contains("/no/such/file.onnx"));
}

/// Sizes that no machine holds, in every place where a file can have them.
#[test]
fn sizes_beyond_memory_are_refused() {
    let too_large = |build: &dyn Fn(&mut ModelBuilder) -> String| {
        let mut builder = ModelBuilder::new("large");
        let made = build(&mut builder);
        builder.output(&made);
        match builder.build() {
            Err(error) => error.to_string(),
            Ok(model) => format!("read with {} multiply-accumulates", model.graph().macs()),
        }
    };
    let input = |builder: &mut ModelBuilder, shape: [usize; 4]| builder.input("image", shape);
    let message = too_large(&|builder| {
        let image = input(builder, [1 << 40, 1 << 40, 3, 3]);
        builder.node("Relu", &[&image])
    });
    assert!(message.contains("'image'") && message.contains("larger than 1024 GiB"), "{message}");

    // What can be held by itself can still be multiplied into more than 64 bits.
    let message = too_large(&|builder| {
        let image = builder.input("image", [1 << 18, 1 << 18]);
        builder.node("MatMul", &[&image, &image])
    });
    assert!(message.starts_with("read with"), "{message}");

    for attributes in [
        Attributes::new().ints("kernel_shape", &[i64::MAX, i64::MAX]),
        Attributes::new().ints("kernel_shape", &[1 << 31, 1 << 31]).ints("pads", &[1 << 31; 4]),
        Attributes::new().ints("kernel_shape", &[3, 3]).ints("dilations", &[i64::MAX, 2]),
    ] {
        let message = too_large(&|builder| {
            let image = input(builder, [1, 3, 32, 32]);
            builder.node_with("MaxPool", &[&image], attributes.clone())
        });
        assert!(message.starts_with("read with"), "{message}");
    }

    let message = too_large(&|builder| {
        let image = input(builder, [1, 3, 32, 32]);
        let repeats = builder.weight("repeats", &Weight::from_i64([4], &[1 << 30, 1 << 30, 1 << 30, 1]));
        builder.node("Tile", &[&image, &repeats])
    });
    assert!(message.starts_with("read with") || message.contains("larger than"), "{message}");
    let message = too_large(&|builder| {
        let image = input(builder, [1, 4, 8, 8]);
        let filter = builder.weight("filter", &Weight::from_f32([4, 1, 3, 3], vec![0.5; 36]));
        builder.node_with("Conv", &[&image, &filter], Attributes::new().int("group", i64::MAX))
    });
    assert!(message.starts_with("read with"), "{message}");
}

#[test]
fn constants_are_computed_when_a_model_is_read() {
    let build = |most_folded_bytes: u64| {
        let mut builder = ModelBuilder::new("computed");
        let image = builder.input("image", [1, 8, 6, 6]);
        let shape = builder.weight("shape", &Weight::from_i64([4], &[16, 8, 3, 3]));
        let filter = builder.node("ConstantOfShape", &[&shape]);
        let packed = Weight { data_type: DataType::I8, shape: [16].into(), data: vec![3; 16].into() };
        let packed = builder.weight("packed", &packed);
        let bias = builder.node_with("Cast", &[&packed], Attributes::new().int("to", 1));
        let half = builder.weight("half", &Weight::from_f32([1], vec![0.5]));
        let bias = builder.node("Mul", &[&bias, &half]);
        let made = builder.node("Conv", &[&image, &filter, &bias]);
        builder.output(&made);
        builder.build_with(&ReadOptions::default().with_most_folded_bytes(most_folded_bytes)).unwrap()
    };
    let model = build(1 << 20);
    assert_eq!(model.graph().operators().len(), 1);
    assert_eq!(model.weights().len(), 2, "what they were computed from is gone");
    let bias = model.weights().values().find(|weight| weight.shape.dimensions() == [16]).unwrap();
    assert_eq!(bias.floats().unwrap(), [1.5; 16]);
    let convolution = model.graph().order()[0];
    assert!(model.graph().channel_units(convolution).is_some());
    // Beyond the limit they stay to be computed by the runtime, and the operator can't be divided.
    let left = build(100);
    assert_eq!(left.graph().operators().len(), 1);
    assert_eq!(left.graph().channel_units(convolution), None);
    assert!(left.segment(left.graph().order(), WeightStorage::Inline).is_ok());
}

#[test]
fn weights_may_come_first() {
    let mut builder = ModelBuilder::new("first");
    let columns = builder.input("columns", [8, 5]);
    let matrix = builder.weight("matrix", &Weight::from_f32([12, 8], vec![0.5; 96]));
    let product = builder.node("MatMul", &[&matrix, &columns]);
    let turned = builder.node_with("Gemm", &[&matrix, &columns], Attributes::new());
    builder.output(&product);
    builder.output(&turned);
    let model = builder.build().unwrap();
    for &id in model.graph().order() {
        let units = model.graph().channel_units(id).unwrap();
        assert_eq!((units.channels, units.axis), (12, 0));
    }
}

#[test]
fn a_long_chain_of_constants_does_not_exhaust_the_stack() {
    let mut builder = ModelBuilder::new("long");
    let image = builder.input("image", [4]);
    // Nobody folds a cosine here.
    let mut constant = builder.weight("constant", &Weight::from_f32([4], vec![0.5; 4]));
    for _ in 0..30_000 {
        constant = builder.node("Cos", &[&constant]);
    }
    let made = builder.node("Add", &[&image, &constant]);
    builder.output(&made);
    let model = builder.build().unwrap();
    let whole = model.segment(model.graph().order(), WeightStorage::Inline).unwrap();
    let again = Model::from_bytes(whole.bytes.into(), &ReadOptions::default()).unwrap();
    assert_eq!(again.graph().operators().len(), 1);
}

#[test]
fn names_that_look_like_made_up_ones_are_kept_apart() {
    let mut builder = ModelBuilder::new("names");
    let image = builder.input("image", [4]);
    builder.named_node("n", "Relu", &[&image], &["a"], Attributes::new());
    builder.named_node("n_2", "Relu", &["a"], &["b"], Attributes::new());
    builder.named_node("n", "Relu", &["b"], &["c"], Attributes::new());
    builder.output("c");
    let model = builder.build().unwrap();
    let names: Vec<&str> = model.graph().operators().iter().map(|operator| operator.name.as_str()).collect();
    assert_eq!(names, ["n", "n_2", "n_3"]);
}

#[test]
fn everything_that_a_model_means_is_in_its_digest() {
    let build = |opset: i64, value: f32, is_folded: bool| {
        let mut builder = ModelBuilder::new("digest").opset(opset);
        let image = builder.input("image", [2, 2]);
        let constant = builder.weight("constant", &Weight::from_f32([], vec![value]));
        let computed = if is_folded { constant } else { builder.node("Cos", &[&constant]) };
        let sum = builder.node("Add", &[&image, &computed]);
        let made = builder.node("Softmax", &[&sum]);
        builder.output(&made);
        builder.build().unwrap().digest().to_owned()
    };
    let digests = [
        build(12, 1.0, true),
        build(13, 1.0, true),
        build(13, 2.0, true),
        build(13, 1.0, false),
        build(13, 2.0, false),
    ];
    for (index, digest) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(digest), "{index}");
    }
    assert_eq!(build(13, 1.0, false), digests[3]);
}

#[test]
fn dimensions_without_a_name_of_their_own_are_set_by_place() {
    let model = |sizes: &[(&str, usize)]| {
        let mut builder = ModelBuilder::new("open");
        let image = builder.open_input("x", &["batch", "3", "?", "?"]);
        let state = builder.open_input("state", &["2", "batch"]);
        let (made, kept) = (builder.node("Relu", &[&image]), builder.node("Relu", &[&state]));
        builder.output(&made);
        builder.output(&kept);
        let dimensions = sizes.iter().map(|&(name, size)| (name.to_owned(), size));
        builder.build_with(&ReadOptions::default().with_dimensions(dimensions))
    };
    let message = model(&[]).unwrap_err().to_string();
    assert!(message.contains("x.2 (") && message.contains("x.3 (") && !message.contains("batch"), "{message}");
    let fixed = model(&[("x.2", 5), ("x.3", 6), ("batch", 4)]).unwrap();
    let graph = fixed.graph();
    let shapes: Vec<&[usize]> =
        graph.inputs().iter().map(|&id| graph.value(id).shape.as_ref().unwrap().dimensions()).collect();
    assert_eq!(shapes, [&[4, 3, 5, 6][..], &[2, 4]]);

    let by_place = model(&[("x.2", 5), ("x.3", 6), ("batch", 4), ("x.0", 7)]).unwrap();
    let graph = by_place.graph();
    let batches: Vec<usize> = [(0, 0), (1, 1)]
        .map(|(input, axis)| graph.value(graph.inputs()[input]).shape.as_ref().unwrap().dimensions()[axis])
        .into();
    assert_eq!(batches, [7, 4], "a place wins over a name");

    for unknown in ["?", "x", "x.4", "hight"] {
        let message = model(&[("x.2", 5), ("x.3", 6), (unknown, 7)]).unwrap_err().to_string();
        let expected = format!("called {unknown}; those that it leaves open are batch, x.2, x.3");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn a_fixed_dimension_keeps_its_size() {
    let model = |size: usize| {
        let mut builder = ModelBuilder::new("fixed");
        let image = builder.input("x", [1, 4]);
        let made = builder.node("Relu", &[&image]);
        builder.output(&made);
        builder.build_with(&ReadOptions::default().with_dimensions([("x.1".to_owned(), size)]))
    };
    assert!(model(4).is_ok());
    let message = model(5).unwrap_err().to_string();
    assert!(message.contains("called x.1; all of its sizes are fixed"), "{message}");

    let mut builder = ModelBuilder::new("fixed");
    let image = builder.input("x", [1, 4]);
    let made = builder.node("Relu", &[&image]);
    builder.output(&made);
    let message = builder.build_with(&ReadOptions::default().with_batch(3)).unwrap_err().to_string();
    assert!(message.contains("it can't be a batch of 3"), "{message}");
}

/// A dequantised value with two readers: each has a dequantisation of its own, so that integers cross between them.
#[test]
fn every_reader_dequantises_for_itself() {
    let mut builder = ModelBuilder::new("shared");
    let image = builder.input("image", [1, 4]);
    let scale = builder.weight("scale", &Weight::from_f32([], vec![0.1]));
    let zero = Weight { data_type: DataType::U8, shape: Vec::new().into(), data: vec![7].into() };
    let zero = builder.weight("zero", &zero);
    let integers = builder.node("QuantizeLinear", &[&image, &scale, &zero]);
    let floats = builder.node("DequantizeLinear", &[&integers, &scale, &zero]);
    let (one, other) = (builder.node("Relu", &[&floats]), builder.node("Neg", &[&floats]));
    let sum = builder.node("Add", &[&floats, &floats]);
    for result in [&one, &other, &sum] {
        builder.output(result);
    }
    let model = builder.build().unwrap();
    let graph = model.graph();
    let dequantizations = graph.operators().iter().filter(|operator| operator.op_type == "DequantizeLinear");
    assert_eq!(dequantizations.count(), 3);
    for id in graph.operator_ids().filter(|&id| graph.operator(id).op_type == "DequantizeLinear") {
        assert_eq!(graph.readers(graph.operator(id).outputs[0]).len(), 1);
    }
}

/// The library that infers shapes panics on it.
#[test]
fn a_dimension_that_is_added_twice_is_an_unknown_shape() {
    let mut builder = ModelBuilder::new("twice");
    let image = builder.input("image", [2, 2]);
    let axes = builder.weight("axes", &Weight::from_i64([2], &[3, 3]));
    let made = builder.node("Unsqueeze", &[&image, &axes]);
    builder.output(&made);

    let model = builder.build().unwrap();
    let graph = model.graph();
    assert_eq!(graph.value(graph.outputs()[0]).shape, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A model that is cut off or damaged anywhere is an error or another valid model, never a panic.
    #[test]
    fn damaged_models_do_not_panic(cut in 0.0..1.0_f64, flips in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 0..4)) {
        let model = millstream_zoo_like();
        let mut bytes = model.segment(model.graph().order(), WeightStorage::Inline).unwrap().bytes;
        for (place, value) in flips {
            let place = (place * bytes.len() as f64) as usize;
            bytes[place] = value;
        }
        bytes.truncate((cut * bytes.len() as f64) as usize + 1);
        if let Ok(model) = Model::from_bytes(bytes.into(), &ReadOptions::default()) {
            let _ = model.segment(model.graph().order(), WeightStorage::External);
        }
    }

    /// Strange attribute values are at worst an unknown shape.
    #[test]
    fn strange_windows_do_not_panic(
        kernel in prop::collection::vec(-1_i64..9, 0..4),
        strides in prop::collection::vec(-1_i64..4, 0..4),
        pads in prop::collection::vec(-1_i64..5, 0..6),
    ) {
        let mut builder = ModelBuilder::new("strange");
        let image = builder.input("image", [1, 3, 4, 4]);
        let attributes = Attributes::new().ints("kernel_shape", &kernel).ints("strides", &strides).ints("pads", &pads);
        let made = builder.node_with("MaxPool", &[&image], attributes);
        builder.output(&made);
        let model = builder.build().unwrap();
        let shape = &model.graph().values()[1].shape;
        prop_assert!(shape.as_ref().is_none_or(|shape: &Shape| shape.dimensions().len() == 4));
    }
}
