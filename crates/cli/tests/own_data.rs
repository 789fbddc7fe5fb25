//! Frames of the user's own: in from files, through a schedule, out into files, and compared with what is expected.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::Path;

use image::RgbImage;
use millstream_backend::Tensor;
use millstream_frames::{read_arrays, write_results};
use millstream_graph::DataType;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};
use serde_json::Value;
use support::{Workplace, bytes, in_one_line, text};

fn json(output: &str) -> Value {
    serde_json::from_str(output).unwrap()
}

/// An image of bytes, the mean of each channel of which comes out, and its halves.
fn camera_model() -> Model {
    let mut builder = ModelBuilder::new("camera");
    let image = builder.typed_open_input("image", DataType::U8, &["1", "3", "4", "4"]);
    let floats = builder.node_with("Cast", &[&image], Attributes::new().int("to", 1));
    let axes = Attributes::new().ints("axes", &[2, 3]).int("keepdims", 0);
    builder.named_node("mean", "ReduceMean", &[&floats], &["means"], axes);
    let half = builder.weight("half", &Weight::from_f32([], vec![0.5]));
    builder.named_node("half", "Mul", &["means", &half], &["halves"], Attributes::new());
    builder.output("means");
    builder.output("halves");
    builder.build().unwrap()
}

/// Writes the model, and a folder of three images: black, white, and red.
fn camera(workplace: &Workplace) {
    workplace.write("camera.onnx", bytes(&camera_model()));
    std::fs::create_dir(workplace.path("frames")).unwrap();
    for (name, colour) in [("a-black", [0, 0, 0]), ("b-white", [255, 255, 255]), ("c-red", [200, 0, 0])] {
        // Of another size, so that it has to be brought to the network's.
        let image = RgbImage::from_pixel(9, 6, image::Rgb(colour));
        image.save(workplace.path("frames").join(format!("{name}.png"))).unwrap();
    }
    workplace.write("frames/notes.txt", "no image");
}

fn floats(path: &Path, name: &str) -> Vec<f32> {
    let arrays = read_arrays(path).unwrap();
    let (_, tensor) = arrays.iter().find(|(own, _)| own == name).unwrap();
    tensor.as_f32().unwrap().to_vec()
}

#[test]
fn images_go_in_and_results_come_out() {
    let workplace = Workplace::new();
    camera(&workplace);
    // No schedule is there: one is made on the spot.
    let shown = workplace.succeed(&["run", "--model", "camera.onnx", "--input", "frames", "--output", "results"]);
    let shown = in_one_line(&shown);
    assert!(shown.contains("3 frames through") && shown.contains("3 different ones, given"), "{shown}");
    let results = workplace.path("results");
    let mut files: Vec<String> =
        std::fs::read_dir(&results).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["a-black.npz", "b-white.npz", "c-red.npz"]);
    assert_eq!(floats(&results.join("a-black.npz"), "means"), [0.0; 3]);
    assert_eq!(floats(&results.join("c-red.npz"), "means"), [200.0, 0.0, 0.0]);
    assert_eq!(floats(&results.join("b-white.npz"), "halves"), [127.5; 3]);

    // What was written is what is expected the next time.
    let run = ["run", "--model", "camera.onnx", "--input", "frames", "--expect", "results"];
    assert!(workplace.succeed(&run).contains("3 of 3 frames are as in results"));

    // One wrong element is found and named, and the exit code says so.
    let wrong = [
        ("halves".to_owned(), Tensor::from_f32([1, 3], vec![100.0, 0.0, 1.0])),
        ("means".to_owned(), Tensor::from_f32([1, 3], vec![200.0, 0.0, 0.0])),
    ];
    write_results(&results, "c-red", &wrong).unwrap();
    let message = workplace.fail(&run);
    assert!(message.contains("1 of 3 frames are not those of results"), "{message}");
    assert!(
        message.contains("'halves' of c-red: 1 element") && message.contains("[0, 2] is 0 instead of 1"),
        "{message}"
    );
    workplace.succeed(&[&run[..], &["--tolerance", "0.02"]].concat());
}

#[test]
fn a_stack_of_frames_is_one_file() {
    let workplace = Workplace::new();
    camera(&workplace);
    let stack: Vec<u8> = (0..5 * 48).map(|index| (index / 48 * 10) as u8).collect();
    write_results(
        &workplace.path(""),
        "stack",
        &[("image".to_owned(), Tensor::from_bytes(DataType::U8, [5, 3, 4, 4], stack))],
    )
    .unwrap();
    workplace.succeed(&["run", "--model", "camera.onnx", "--input", "stack.npz", "--output", "results"]);
    assert_eq!(floats(&workplace.path("results/stack-4.npz"), "means"), [40.0; 3]);
    assert!(!workplace.path("results/stack-5.npz").exists());
}

#[test]
fn profiling_and_planning_take_the_same_frames() {
    let workplace = Workplace::new();
    camera(&workplace);
    let input = ["--input", "image=frames/c-red.png"];
    workplace
        .succeed(&[&["profile", "--no-sweep", "--model", "camera.onnx", "--budget", "100ms"], &input[..]].concat());
    workplace.succeed(&[&["schedule", "--model", "camera.onnx", "--profile", "profile.json"], &input[..]].concat());
    let run = ["run", "--frames", "7", "--json", "--csv", "frames.csv", "--deadline", "10s", "--warm-up", "3"];
    let report = json(&workplace.succeed(&[&run[..], &input[..]].concat()));
    let network = &report["networks"][0];
    assert_eq!((&network["frames"], &network["different_frames"]), (&7.into(), &1.into()));
    assert_eq!((&network["has_own_frames"], &network["missed_deadlines"]), (&true.into(), &0.into()));
    let latency = &network["latency"];
    let times =
        ["p50_seconds", "p90_seconds", "p99_seconds", "max_seconds"].map(|name| latency[name].as_f64().unwrap());
    assert!(times[0] > 0.0 && times.is_sorted(), "{latency}");
    let table = text(&workplace.path("frames.csv"));
    assert_eq!(table.lines().count(), 8);
    assert!(table.starts_with("frame,label,sizes,arrived_seconds,") && table.contains("\n6,c-red@7,"), "{table}");
    let compare =
        ["compare", "--model", "camera.onnx", "--rounds", "1", "--turn", "100ms", "--budget", "100ms", "--json"];
    workplace.succeed(&[&compare[..], &input[..]].concat());
}

#[test]
fn a_camera_drops_what_it_is_told_to() {
    let workplace = Workplace::new();
    support::small_model(&workplace);
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "100ms"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    let run = |policy: &str, rate: &str| {
        let arguments =
            ["run", "--frame-rate", rate, "--when-late", policy, "--frames", "400", "--in-flight", "1", "--json"];
        let report = json(&workplace.succeed(&arguments));
        let network = report["networks"][0].clone();
        [network["frames"].as_u64().unwrap(), network["dropped_frames"].as_u64().unwrap()]
    };
    // Far more than any machine passes of these: who waits loses none, who drops has the rest.
    assert_eq!(run("wait", "1000000"), [400, 0]);
    for policy in ["drop-oldest", "drop-newest"] {
        let [frames, dropped] = run(policy, "1000000");
        assert_eq!(frames + dropped, 400, "{policy}");
        assert!(dropped > 0, "{policy}");
    }
    assert!(workplace.fail(&["run", "--when-late", "wait"]).contains("--frame-rate"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let workplace = Workplace::new();
    camera(&workplace);
    let run = |more: &[&str]| workplace.fail(&[&["run", "--model", "camera.onnx"], more].concat());
    let refused = |more: &[&str], expected: &[&str]| {
        let message = run(more);
        assert!(expected.iter().all(|part| message.contains(part)), "{expected:?}: {message}");
        assert!(!workplace.path("results").exists() || workplace.path("results").read_dir().unwrap().count() == 0);
    };
    refused(&["--input", "nowhere.png"], &["cannot read nowhere.png"]);
    refused(&["--input", "picture=frames"], &["no input 'picture'", "'image'"]);
    refused(&["--input", "frames/notes.txt"], &["notes.txt", ".npy, .npz, .png"]);
    #[cfg(unix)]
    {
        // Others than this one would never end.
        std::fs::create_dir(workplace.path("devices")).unwrap();
        std::os::unix::fs::symlink("/dev/null", workplace.path("devices/device.png")).unwrap();
        for input in ["devices/device.png", "devices"] {
            refused(&["--input", input], &["device.png", "neither a file nor a folder"]);
        }
    }
    workplace.write("frames/d-broken.png", "no picture");
    refused(&["--input", "frames", "--output", "results"], &["d-broken.png", "can't be read as an image"]);
    std::fs::remove_file(workplace.path("frames/d-broken.png")).unwrap();

    let array =
        |name: &str, tensor: Tensor| write_results(&workplace.path(""), name, &[("image".to_owned(), tensor)]).unwrap();
    array("floats", Tensor::from_f32([1, 3, 4, 4], vec![0.0; 48]));
    refused(&["--input", "floats.npz"], &["floats.npz", "f32 [1, 3, 4, 4]", "u8 [1, 3, 4, 4]"]);
    array("large", Tensor::from_bytes(DataType::U8, [1, 3, 5, 5], vec![0; 75]));
    refused(&["--input", "large.npz"], &["large.npz", "u8 [1, 3, 5, 5]"]);
    workplace.write("cut.npz", &std::fs::read(workplace.path("large.npz")).unwrap()[..60]);
    refused(&["--input", "cut.npz"], &["cut.npz"]);

    // Expected results by another name, of another shape, or of nothing.
    refused(&["--input", "frames/c-red.png", "--expect", "large.npz"], &["large.npz", "no output 'image'"]);
    write_results(&workplace.path(""), "part", &[("means".to_owned(), Tensor::from_f32([1, 3], vec![0.0; 3]))])
        .unwrap();
    refused(&["--input", "frames/c-red.png", "--expect", "part.npz"], &["part.npz", "'halves'"]);
    refused(&["--input", "frames/c-red.png", "--expect", "missing"], &["cannot read missing"]);
    refused(&["--expect", "part.npz"], &["--input"]);
    refused(&["--input", "frames", "--mean", "0,0"], &["mean has 2 numbers"]);
    workplace.write("file", "");
    refused(&["--output", "file/results"], &["cannot write into"]);
}

#[test]
fn an_image_where_the_network_wants_tokens() {
    let workplace = Workplace::new();
    camera(&workplace);
    let mut builder = ModelBuilder::new("tokens");
    let ids = builder.typed_open_input("ids", DataType::I64, &["batch", "sequence"]);
    let words = builder.weight("words", &Weight::from_f32([5, 2], (0..10_u8).map(f32::from).collect()));
    builder.named_node("look up", "Gather", &[&words, &ids], &["words"], Attributes::new());
    builder.output("words");
    workplace.write("tokens.onnx", bytes_of(builder));
    let run = ["run", "--model", "tokens.onnx", "--dim", "sequence=4"];
    let message = workplace.fail(&[&run[..], &["--input", "frames/c-red.png"]].concat());
    assert!(message.contains("c-red.png") && message.contains("i64 [1, 4]"), "{message}");
    // Made-up tokens are words that the table has; the table is small, so that others would fail.
    let shown = in_one_line(&workplace.succeed(&run));
    assert!(shown.contains("4 different ones, made up"), "{shown}");
    let ids = Tensor::from_i64([1, 4], vec![4, 0, 9, 1]);
    write_results(&workplace.path(""), "far", &[("ids".to_owned(), ids)]).unwrap();
    let message = workplace.fail(&[&run[..], &["--input", "far.npz"]].concat());
    assert!(message.contains("plain inference of the frame 'far'"), "{message}");
}

fn bytes_of(builder: ModelBuilder) -> Vec<u8> {
    prost::Message::encode_to_vec(&builder.into_proto())
}

#[test]
fn every_size_has_its_plan() {
    let workplace = Workplace::new();
    let mut builder = ModelBuilder::new("sizes");
    let tokens = builder.open_input("tokens", &["1", "sequence", "8"]);
    let matrix =
        builder.weight("matrix", &Weight::from_f32([8, 8], (0..64_u8).map(|value| f32::from(value) / 64.0).collect()));
    let product = builder.node("MatMul", &[&tokens, &matrix]);
    let made = builder.node("Tanh", &[&product]);
    builder.output(&made);
    workplace.write("sizes.onnx", bytes_of(builder));
    let shown = workplace.succeed(&["schedule", "--model", "sizes.onnx", "--dim", "sequence=4,16", "-o", "sizes.json"]);
    assert!(shown.contains("--- sequence=4 ---") && shown.contains("--- sequence=16 ---"), "{shown}");
    let report = json(&workplace.succeed(&["run", "--schedule", "sizes.json", "--frames", "5", "--json"]));
    let sizes: Vec<&Value> =
        report["networks"].as_array().unwrap().iter().map(|own| &own["dimensions"][0][1]).collect();
    assert_eq!(sizes, [&Value::from(4), &Value::from(16)]);

    let frame = |name: &str, count: usize| {
        let tensor = Tensor::from_f32([1, count, 8], vec![0.5; 8 * count]);
        write_results(&workplace.path(""), name, &[("tokens".to_owned(), tensor)]).unwrap();
    };
    frame("short", 4);
    frame("long", 16);
    frame("other", 5);
    let run = |file: &str| {
        ["run", "--schedule", "sizes.json", "--output", "results", "--json", "--input", file].map(str::to_owned)
    };
    for (file, size) in [("short.npz", 4), ("long.npz", 16)] {
        let arguments = run(file);
        let report = json(&workplace.succeed(&arguments.each_ref().map(String::as_str)));
        assert_eq!(report["networks"].as_array().unwrap().len(), 1);
        assert_eq!(report["networks"][0]["dimensions"][0][1], size);
    }
    let message = workplace.fail(&run("other.npz").each_ref().map(String::as_str));
    assert!(message.contains("sequence=4, sequence=16") && message.contains("[1, 5, 8]"), "{message}");
    let message = workplace.fail(&["run", "--schedule", "sizes.json", "--dim", "sequence=5"]);
    assert!(message.contains("sequence=4, sequence=16"), "{message}");
    assert!(workplace.fail(&["profile", "--model", "sizes.onnx", "--dim", "sequence=4,16"]).contains("one size each"));
}

/// ONNX Runtime collects usage data unless told not to; it writes who the machine is into the user's cache folder.
#[test]
fn a_run_leaves_no_trace_of_the_machine() {
    let workplace = Workplace::new();
    support::small_model(&workplace);
    let mut command = workplace.command(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "50ms"]);
    command.env_remove("ORT_DISABLE_TELEMETRY").env("HOME", workplace.path("home")).assert().success();
    let cache: Vec<String> = std::fs::read_dir(workplace.path("cache"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(cache, ["millstream"]);
    assert!(!workplace.path("home").exists());
}
