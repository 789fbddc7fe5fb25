//! Commands end soon when they are asked to, whatever they are doing, and leave nothing half-written.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the long form prints a table")]

mod support;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use millstream_graph::{DataType, Shape};
use millstream_onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use millstream_onnx::{Attributes, ModelBuilder, Weight};
use prost::Message;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{Workplace, small_model, wait_until};

/// Within this, whatever happens.
const LIMIT: Duration = Duration::from_secs(5);
/// How many random moments are tried; `cargo xtask signals` sets it.
const TIMES: &str = "MILLSTREAM_SIGNALS_TIMES";
/// Moments where nobody asks for more.
const FEW_TIMES: usize = 20;

/// Starts a command for which Ctrl-C has its usual meaning, even if the tests were started where it is ignored, as a
/// shell does for what a script starts in the background: a signal that comes before the command listens would be lost
/// there.
fn start(workplace: &Workplace, arguments: &[&str]) -> Child {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(assert_cmd::cargo::cargo_bin("millstream"));
    command.current_dir(workplace.path("")).env("XDG_CACHE_HOME", workplace.path("cache")).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// How a process ends and how long that takes; it is killed after twice the limit.
fn end(mut child: Child) -> (ExitStatus, Duration) {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status, begin.elapsed());
        }
        if begin.elapsed() > 2 * LIMIT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A network that passes a frame on, but only once its elements sum up to a million or less: as they never change, it
/// never ends for a frame with larger ones. Its loop has no trip count.
fn loop_while_large() -> Vec<u8> {
    let mut builder = ModelBuilder::new("loop");
    let frame = builder.input("x", [1, 4]);
    let first = builder.node("Relu", &[&frame]);
    let begins =
        builder.weight("begins", &Weight { data_type: DataType::Bool, shape: Shape::default(), data: vec![1].into() });
    let limit = builder.weight("limit", &Weight::from_f32([], vec![1e6]));
    builder.named_node("endless", "Loop", &["", &begins, &first], &["looped"], Attributes::new());
    let last = builder.node("Relu", &["looped"]);
    builder.output(&last);
    let mut proto = builder.into_proto();
    let graph = proto.graph.as_mut().unwrap();
    // Nothing tells of what type a loop's results are.
    let made_as_read = |name: &str| ValueInfoProto { name: Some(name.into()), r#type: graph.input[0].r#type.clone() };
    (graph.output, graph.value_info) = (vec![made_as_read(&last)], vec![made_as_read("looped")]);
    let node = graph.node.iter_mut().find(|node| node.name.as_deref() == Some("endless")).unwrap();
    node.attribute.push(AttributeProto {
        name: Some("body".into()),
        g: Some(body(&limit)),
        r#type: Some(5),
        ..AttributeProto::default()
    });
    proto.encode_to_vec()
}

/// Goes on while the state's sum is above the limit, and leaves it as it is.
fn body(limit: &str) -> GraphProto {
    let node = |op: &str, inputs: &[&str], output: &str| NodeProto {
        op_type: Some(op.into()),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    };
    // ONNX's numbers of the types are 1 for f32, 7 for i64 and 9 for bool.
    let value = |name: &str, elements, sizes: &[i64]| {
        let dim = sizes.iter().map(|&size| DimensionProto { dim_value: Some(size), ..DimensionProto::default() });
        let shape = Some(TensorShapeProto { dim: dim.collect() });
        let tensor_type = Some(TensorTypeProto { elem_type: Some(elements), shape });
        let made_of = TypeProto { tensor_type, ..TypeProto::default() };
        ValueInfoProto { name: Some(name.into()), r#type: Some(made_of) }
    };
    let mut sum = node("ReduceSum", &["state"], "sum");
    sum.attribute.push(AttributeProto {
        name: Some("keepdims".into()),
        i: Some(0),
        r#type: Some(2),
        ..AttributeProto::default()
    });
    GraphProto {
        name: Some("body".into()),
        node: vec![sum, node("Greater", &["sum", limit], "goes_on"), node("Identity", &["state"], "same")],
        input: vec![value("round", 7, &[]), value("went_on", 9, &[]), value("state", 1, &[1, 4])],
        output: vec![value("goes_on", 9, &[]), value("same", 1, &[1, 4])],
        ..GraphProto::default()
    }
}

/// A frame of large elements in NumPy's format.
fn large_frame() -> Vec<u8> {
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }".to_owned();
    header.push_str(&" ".repeat(128 - 10 - 1 - header.len()));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend([1e9_f32; 4].iter().flat_map(|element| element.to_le_bytes()));
    file
}

/// Whether a process has worked for two seconds, in all its threads: more than it does before a small network's first
/// frame. Only a frame that never ends takes so much.
fn is_in_a_frame(child: &Child) -> bool {
    // The 14th and 15th field are the user's and the system's hundredths of a second; names may have blanks.
    let told = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let fields = told.rsplit(')').next().unwrap_or_default().split_whitespace();
    let hundredths: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    hundredths >= 200
}

/// Nothing that a command does in a frame listens to anybody.
#[test]
fn a_frame_that_never_ends_is_ended() {
    let workplace = Workplace::new();
    workplace.write("loop.onnx", loop_while_large());
    workplace.write("large.npy", large_frame());
    let profile = ["profile", "--no-sweep", "--model", "loop.onnx", "--budget", "200ms"];
    workplace.succeed(&profile);
    workplace.succeed(&["schedule", "--model", "loop.onnx", "--profile", "profile.json"]);
    workplace.succeed(&["run", "--frames", "4"]);
    let before = workplace.files();
    for command in [&profile[..], &["run"]] {
        let mut child = start(&workplace, &[command, &["--input", "x=large.npy"]].concat());
        wait_until(&mut child, "it is in a frame", is_in_a_frame);
        signal(&child, "TERM");
        let (status, time) = end(child);
        assert_eq!(status.code(), Some(143), "{command:?}: {status} after {time:?}");
        // Between frames it would have ended at once.
        assert!(time > Duration::from_secs(2), "{command:?} was in no frame: {time:?}");
        assert!(time <= LIMIT, "{command:?} took {time:?}");
        assert_eq!(workplace.files(), before);
    }
    // The second signal does not wait.
    let mut child = start(&workplace, &["run", "--input", "x=large.npy"]);
    wait_until(&mut child, "it is in a frame", is_in_a_frame);
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    let (status, time) = end(child);
    assert_eq!(status.code(), Some(130), "{status} after {time:?}");
    assert!(time < Duration::from_secs(3), "{time:?}");
}

#[test]
fn a_time_limit_ends_a_frame_that_never_ends() {
    let workplace = Workplace::new();
    workplace.write("loop.onnx", loop_while_large());
    workplace.write("large.npy", large_frame());
    workplace.succeed(&["profile", "--no-sweep", "--model", "loop.onnx", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "loop.onnx", "--profile", "profile.json"]);
    workplace.succeed(&["run", "--frames", "4", "--frame-timeout", "2s"]);
    let message = workplace.fail(&["run", "--frame-timeout", "50ms", "--input", "x=large.npy"]);
    assert!(message.contains("large") && message.contains("did not end it within"), "{message}");
}

/// A command, the longest time until it gets a signal, and the documents that it may write.
struct Trial {
    arguments: Vec<String>,
    longest: Duration,
}

fn trials(workplace: &Workplace) -> Vec<Trial> {
    let fixture = |kind: &str| format!("{}/../../fixtures/{kind}/hikey-970.json", env!("CARGO_MANIFEST_DIR"));
    let (board, costs) = (fixture("boards"), fixture("costs"));
    small_model(workplace);
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    let elsewhere = format!("--board {board} --cost {costs}");
    workplace.succeed(
        &format!("schedule --model zoo:squeezenet -o planned.json {elsewhere}").split(' ').collect::<Vec<_>>(),
    );
    let trial = |line: &str, milliseconds| Trial {
        arguments: line.split(' ').map(str::to_owned).collect(),
        longest: Duration::from_millis(milliseconds),
    };
    vec![
        trial("schemas schemas", 30),
        trial(&format!("schedule --model zoo:googlenet -o planned.json {elsewhere}"), 1500),
        trial(&format!("simulate --schedule planned.json --frames 20000 --trace trace.json {elsewhere}"), 400),
        trial("profile --model small.onnx --budget 60m -o measured.json", 1500),
        trial("run --frames 1000000000 --json", 1500),
    ]
}

/// What came of the tries of one command with one signal.
#[derive(Default)]
struct Count {
    tries: usize,
    in_time: usize,
    longest: Duration,
    /// Neither done before, nor ended as one that got this signal.
    wrong_codes: usize,
    half_files: usize,
    litter: usize,
}

#[test]
fn signals_at_random_moments() {
    let asked = std::env::var(TIMES).ok().map(|times| times.parse().unwrap());
    let times: usize = asked.unwrap_or(FEW_TIMES);
    let workplace = Workplace::new();
    let trials = trials(&workplace);
    let mut random = ChaCha8Rng::seed_from_u64(18);
    let mut counts: BTreeMap<(usize, &str), Count> = BTreeMap::new();
    for index in 0..times {
        let place = index % trials.len();
        let name = ["TERM", "INT", "KILL", "TERM"][index / trials.len() % 4];
        let trial = &trials[place];
        let arguments: Vec<&str> = trial.arguments.iter().map(String::as_str).collect();
        let child = start(&workplace, &arguments);
        std::thread::sleep(trial.longest.mul_f64(random.random_range(0.0..1.0)));
        signal(&child, name);
        let (status, time) = end(child);
        let count = counts.entry((place, name)).or_default();
        count.tries += 1;
        count.in_time += usize::from(time <= LIMIT);
        count.longest = count.longest.max(time);
        count.wrong_codes += usize::from(!ended_by(status, name));
        let (half, litter) = traces(&workplace.path(""));
        count.half_files += half;
        count.litter += litter;
    }

    if asked.is_some() {
        print(&trials, &counts);
    }
    for ((place, name), count) in &counts {
        let what = format!("{} and SIG{name}", trials[*place].arguments.join(" "));
        assert_eq!(count.in_time, count.tries, "{what}: the longest took {:?}", count.longest);
        assert_eq!((count.wrong_codes, count.half_files, count.litter), (0, 0, 0), "{what}");
    }
}

/// Whether the process ended as one does that was asked to, before or after it listened, or was done before.
fn ended_by(status: ExitStatus, name: &str) -> bool {
    let number = BTreeMap::from([("INT", 2), ("KILL", 9), ("TERM", 15)])[name];
    status.success() || status.signal() == Some(number) || status.code() == Some(128 + number)
}

/// Documents that are no documents, and files that nobody asked for; what is found is removed.
fn traces(folder: &Path) -> (usize, usize) {
    let (mut half, mut litter) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name == "schemas" {
                let inside = traces(&path);
                (half, litter) = (half + inside.0, litter + inside.1);
            }
        } else if name.ends_with(".json") {
            let text = std::fs::read_to_string(&path).unwrap();
            half += usize::from(serde_json::from_str::<serde_json::Value>(&text).is_err());
        } else if name != "small.onnx" {
            std::fs::remove_file(&path).unwrap();
            litter += 1;
        }
    }
    (half, litter)
}

fn print(trials: &[Trial], counts: &BTreeMap<(usize, &str), Count>) {
    println!(
        "\n| command | signal | tries | ended within 5 s | longest s | wrong exit codes | half-written files | litter |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = Count::default();
    for ((place, name), count) in counts {
        let Count { tries, in_time, longest, wrong_codes, half_files, litter } = count;
        let seconds = longest.as_secs_f64();
        let command = &trials[*place].arguments[0];
        println!(
            "| {command} | SIG{name} | {tries} | {in_time} | {seconds:.2} | {wrong_codes} | {half_files} | {litter} |"
        );
        all.tries += tries;
        all.in_time += in_time;
        all.longest = all.longest.max(*longest);
        all.wrong_codes += wrong_codes;
        all.half_files += half_files;
        all.litter += litter;
    }
    let Count { tries, in_time, longest, wrong_codes, half_files, litter } = all;
    let seconds = longest.as_secs_f64();
    println!("| all | | {tries} | {in_time} | {seconds:.2} | {wrong_codes} | {half_files} | {litter} |");
}
