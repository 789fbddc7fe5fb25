//! Bad input: a clear message, a failure, and nothing half-written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs;

use millstream_onnx::proto::TensorProto;
use millstream_onnx::{Attributes, ModelBuilder};
use millstream_test_support::board;
use prost::Message;
use support::{Workplace, builder, bytes, small_model, text};

/// Tries to schedule a model and returns the message.
fn refusal(name: &str, content: &[u8]) -> String {
    let workplace = Workplace::new();
    workplace.write(name, content);
    let message = workplace.fail(&["schedule", "--model", name]);
    assert_eq!(workplace.files(), [name], "nothing else is left behind");
    message
}

fn file(builder: ModelBuilder) -> Vec<u8> {
    builder.into_proto().encode_to_vec()
}

#[test]
fn missing_and_broken_models() {
    let workplace = Workplace::new();
    let message = workplace.fail(&["schedule", "--model", "gone.onnx"]);
    assert!(message.contains("cannot read gone.onnx") && message.contains("zoo:squeezenet"), "{message}");
    let message = workplace.fail(&["schedule", "--board", "khadas-vim3", "--cost", "gone.json"]);
    assert!(message.contains("cannot read gone.json") && message.contains("cargo xtask fit"), "{message}");
    assert!(workplace.fail(&["schedule", "--model", "zoo:lenet"]).contains("no network 'lenet' in the zoo"));
    assert!(refusal("picture.onnx", b"\x89PNG\r\n\x1a\n").contains("picture.onnx: not an ONNX model"));
    let whole = bytes(&builder().build().unwrap());
    assert!(refusal("half.onnx", &whole[..whole.len() / 2]).contains("cut off or damaged"));
    assert!(refusal("empty.onnx", b"").contains("the file is empty"));
}

#[test]
fn models_that_can_not_be_scheduled() {
    let mut cyclic = ModelBuilder::new("cyclic");
    cyclic.named_node("one", "Relu", &["b"], &["a"], Attributes::new());
    cyclic.named_node("two", "Relu", &["a"], &["b"], Attributes::new());
    cyclic.output("b");
    assert!(refusal("cyclic.onnx", &file(cyclic)).contains("cycle through the operators one, two"));

    let mut unknown = ModelBuilder::new("unknown");
    let image = unknown.input("image", [1, 4]);
    let made = unknown.node("Frobnicate", &[&image]);
    unknown.output(&made);
    assert!(refusal("unknown.onnx", &file(unknown)).contains("'Frobnicate', which is no ONNX operator"));

    let mut open = ModelBuilder::new("open");
    let image = open.open_input("image", &["batch", "3", "height", "width"]);
    let made = open.node("Relu", &[&image]);
    open.output(&made);
    let message = refusal("open.onnx", &file(open));
    assert!(message.contains("height (dimension 2") && message.contains("width (dimension 3"), "{message}");
    assert!(message.contains("--dim NAME=SIZE"), "{message}");

    let mut nan = ModelBuilder::new("nan");
    let image = nan.input("image", [2]);
    nan.initializer(TensorProto {
        name: Some("bias".into()),
        dims: vec![2],
        data_type: Some(1),
        float_data: vec![0.0, f32::NAN],
        ..TensorProto::default()
    });
    let made = nan.node("Add", &[&image, "bias"]);
    nan.output(&made);
    assert!(refusal("nan.onnx", &file(nan)).contains("weight 'bias' contains NaN at element 1"));
}

#[test]
fn an_operator_that_onnx_runtime_can_not_run_is_named() {
    let mut builder = ModelBuilder::new("foreign");
    let image = builder.input("image", [1, 4]);
    // A legal operator with an attribute that its kernel does not accept.
    let made = builder.node_with("Softmax", &[&image], Attributes::new().int("axis", 7));
    builder.output(&made);
    let message = refusal("foreign.onnx", &file(builder));
    assert!(message.contains("Softmax_0") || message.contains("axis"), "{message}");
}

#[test]
fn constraints_that_nothing_meets_name_the_tightest() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"]);
    fn schedule<'a>(constraints: &[&'a str]) -> Vec<&'a str> {
        [&["schedule", "--model", "small.onnx", "--profile", "profile.json"], constraints].concat()
    }
    let message = workplace.fail(&schedule(&["--max-latency", "1ms", "--min-throughput", "100000000"]));
    assert!(message.contains("no pipeline that was found passes 100000000.00 frames/s or more"), "{message}");
    assert!(workplace.fail(&schedule(&["--min-throughput", "0"])).contains("frames per second above 0"));
    let message = workplace.fail(&schedule(&["--min-throughput", "-5"]));
    assert!(message.contains("frames per second above 0") && !message.contains("unexpected"), "{message}");
    assert_eq!(workplace.files(), ["profile.json", "small.onnx"]);
    workplace.succeed(&schedule(&["--max-latency", "10s", "--min-throughput", "1"]));
}

/// The file of a board of this name.
fn board_file(name: &str, parts: &str) -> String {
    let mut document = board(parts).to_document();
    document.name = name.to_owned();
    serde_json::to_string(&document).unwrap()
}

#[test]
fn schedules_of_another_model_or_board() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--model", "small.onnx", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    workplace.write("own.json", text(&workplace.path("schedule.json")));
    let message = workplace.fail(&["run", "--schedule", "own.json", "--model", "zoo:tiny-darknet"]);
    assert!(message.contains("is for the model 'small'") && message.contains("not for 'tiny-darknet'"), "{message}");

    workplace.write("elsewhere.json", board_file("elsewhere", "B1~1000"));
    let message = workplace.fail(&["run", "--board", "elsewhere.json"]);
    assert!(message.contains("not for 'elsewhere'") && message.contains("make a schedule for this board"), "{message}");
    let message = workplace.fail(&[
        "schedule",
        "--model",
        "small.onnx",
        "--profile",
        "profile.json",
        "--board",
        "elsewhere.json",
    ]);
    assert!(message.contains("profile.json: the profile is of board"), "{message}");

    assert!(message_of_other_board(&workplace).contains("period"));

    let schedule = text(&workplace.path("schedule.json"));
    let strange = schedule.replacen("\"Conv_0\"", "\"Conv_99\"", 1);
    workplace.write("strange.json", strange);
    assert!(workplace.fail(&["run", "--schedule", "strange.json"]).contains("names the operator 'Conv_99'"));
    workplace.write("cut.json", &schedule[..schedule.len() / 2]);
    assert!(workplace.fail(&["run", "--schedule", "cut.json"]).contains("cut.json: not a schedule"));
    workplace.write("core.json", schedule.replacen("\"cores\": [\n", "\"cores\": [\n 777,\n", 1));
    assert!(workplace.fail(&["run", "--schedule", "core.json"]).contains("core 777"));
}

/// What the command prints that a refused schedule of a built-in board is told to be shown with.
fn message_of_other_board(workplace: &Workplace) -> String {
    let vim3 = ["--board", "khadas-vim3", "--cost", "khadas-vim3"];
    let plan = ["schedule", "--model", "small.onnx", "--output", "vim3.json", "--certificate", "proof.json"];
    workplace.succeed(&[&plan[..], &vim3].concat());
    let message = workplace.fail(&["run", "--schedule", "vim3.json"]);
    let (_, command) = message.split_once("simulate ").unwrap();
    let (command, _) = command.split_once('`').unwrap();
    assert_eq!(command, "--board khadas-vim3 --cost khadas-vim3 --schedule FILE");
    let message = workplace.fail(&["certify", "--schedule", "vim3.json", "--certificate", "proof.json"]);
    assert!(message.contains("certify --board khadas-vim3 --cost khadas-vim3 --schedule FILE"), "{message}");
    let elsewhere = ["schedule", "--model", "small.onnx", "--board", "khadas-vim3", "--cost", "rk3588"];
    let message = workplace.fail(&elsewhere);
    assert!(message.contains("the cost models are of board 'Radxa ROCK 5B'"), "{message}");
    let arguments = command.replace("FILE", "vim3.json");
    let arguments: Vec<&str> = std::iter::once("simulate").chain(arguments.split(' ')).collect();
    workplace.succeed(&arguments)
}

#[test]
fn cores_that_do_not_exist() {
    let workplace = Workplace::new();
    workplace.write("large.json", board_file("large", "B1+s1#900"));
    for command in [["profile", "--board", "large.json"], ["schedule", "--board", "large.json"]] {
        let message = workplace.fail(&command);
        assert!(message.contains("core 900") && message.contains("cpuset"), "{message}");
    }
    assert!(workplace.fail(&["compare", "--slow-core", "900:3"]).contains("slow core 900: does not exist"));
    workplace.write("nonsense.json", r#"{"format": "millstream-board"}"#);
    assert!(workplace.fail(&["board", "--board", "nonsense.json"]).contains("nonsense.json: not a board file"));
}

#[cfg(target_os = "linux")]
#[test]
fn cores_outside_the_cpuset() {
    let workplace = Workplace::new();
    workplace.write("both.json", board_file("both", "B2"));
    let output = std::process::Command::new("taskset")
        .args(["-c", "0"])
        .arg(assert_cmd::cargo::cargo_bin("millstream"))
        .args(["profile", "--board", "both.json"])
        .current_dir(workplace.path(""))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("core 1 of board 'both'"), "{message}");
    assert!(message.contains("outside the cpuset") && message.contains("may use the cores 0;"), "{message}");
    assert_eq!(workplace.files(), ["both.json"]);
}

#[test]
fn impossible_arguments() {
    let workplace = Workplace::new();
    assert!(workplace.fail(&["run", "--frames", "0"]).contains("'0' is no whole number from 1 up"));
    assert!(workplace.fail(&["profile", "--budget", "soon"]).contains("not a time such as"));
    assert!(workplace.fail(&["schedule", "--objective", "speed"]).contains("throughput, latency, balanced, energy"));
    assert!(workplace.fail(&["compare", "--slow-core", "1"]).contains("is not CPU:FACTOR"));
    assert!(workplace.fail(&["schedule", "--colour"]).contains("--colour"));
    assert!(workplace.fail(&["run"]).contains("cannot read schedule.json"));
}

#[test]
fn outputs_that_can_not_be_written() {
    let workplace = Workplace::new();
    small_model(&workplace);
    // Found out before anything is measured.
    let message = workplace.fail(&["schedule", "--model", "small.onnx", "-o", "no/such/folder/s.json"]);
    assert!(message.contains("cannot write no/such/folder/s.json") && !message.contains("measuring"), "{message}");
    fs::create_dir(workplace.path("folder")).unwrap();
    assert!(workplace.fail(&["profile", "-o", "folder"]).contains("it is a folder"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--model", "small.onnx", "--budget", "200ms"]);
    let schedule = ["schedule", "--model", "small.onnx", "--profile", "profile.json"];
    // A device that is always full.
    let message = workplace.fail(&[&schedule[..], &["-o", "/dev/full"]].concat());
    assert!(message.contains("cannot write /dev/full") && message.contains("No space left"), "{message}");
    // A file system that runs full in the middle of the file, as the limit on file sizes imitates it: the old file
    // stays.
    workplace.write("old.json", "as it was");
    let binary = assert_cmd::cargo::cargo_bin("millstream");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {} {} -o old.json", binary.display(), schedule.join(" "));
    let output =
        std::process::Command::new("bash").args(["-c", &script]).current_dir(workplace.path("")).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("cannot write old.json"), "{message}");
    assert_eq!(text(&workplace.path("old.json")), "as it was");
    assert_eq!(workplace.files(), ["old.json", "profile.json", "small.onnx"]);
}

/// Without a reader the work is done all the same; a full disk is an error.
#[test]
#[cfg(target_os = "linux")]
fn standard_output_that_can_not_be_written() {
    use std::process::{Command, Stdio};

    let workplace = Workplace::new();
    let fixture = |kind: &str| format!("{}/../../fixtures/{kind}/hikey-970.json", env!("CARGO_MANIFEST_DIR"));
    let run = |arguments: &[&str], stdout: Stdio| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("millstream"));
        command.current_dir(workplace.path(".")).args(arguments).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (board, costs) = (fixture("boards"), fixture("costs"));
    let schedule = ["schedule", "--model", "zoo:squeezenet", "--board", &board, "--cost", &costs, "-o", "made.json"];
    let mut unread = run(&schedule, Stdio::piped());
    drop(unread.stdout.take());
    assert!(unread.wait().unwrap().success() && workplace.path("made.json").is_file());

    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = run(&["board", "--board", &board, "--json"], full.into()).wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains("cannot write to standard output"), "{message}");
}
