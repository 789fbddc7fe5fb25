//! Execution providers in board files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use millstream_board::{Board, BoardError, EngineName, EngineSet, Processor};

fn document(cluster: &str, more: &str) -> String {
    format!(
        r#"{{"format": "millstream-board", "version": 1, "name": "test", "clusters": [
            {{"label": "B", "capacity": 1024, "cores": [{{"id": 0}}, {{"id": 1}}]{cluster}}}]{more}}}"#
    )
}

const TWO: &str = r#", "providers": [
    {"engine": "xnnpack", "provider": "XnnpackExecutionProvider"},
    {"engine": "htp", "provider": "QNNExecutionProvider", "library": "/opt/qnn.so", "device": 1, "options": {"backend_type": "htp"}}],
    "accelerators": [{"label": "N", "kind": "npu", "engine": "htp"}]"#;

#[test]
fn clusters_and_accelerators_name_providers() {
    let board = Board::from_json(&document(r#", "engines": ["onnxruntime", "xnnpack"]"#, TWO)).unwrap();
    let classes: Vec<String> = board.processor_classes().map(|class| class.to_string()).collect();
    assert_eq!(classes, ["B1", "B2", "B1@xnnpack", "B2@xnnpack", "N1"]);
    let engines: Vec<String> = board.engines_in_use().map(|engine| engine.to_string()).collect();
    assert_eq!(engines, ["onnxruntime", "xnnpack"]);
    let htp = board.provider(board.accelerators()[0].engine.unwrap()).unwrap();
    assert_eq!(
        (htp.provider.as_str(), htp.options["backend_type"].as_str(), htp.device),
        ("QNNExecutionProvider", "htp", Some(1))
    );

    // One that it has already is not there twice.
    assert_eq!(board.clone().with_provider(htp.clone()), board);

    let again = Board::from_json(&serde_json::to_string(&board.to_document()).unwrap()).unwrap();
    assert_eq!((&again, again.fingerprint()), (&board, board.fingerprint()));
}

#[test]
fn what_a_provider_is_told_makes_another_board_if_somebody_uses_it() {
    let fingerprint = |text: &str| Board::from_json(text).unwrap().fingerprint();
    let (plain, known) = (document("", ""), document("", TWO));
    assert_ne!(fingerprint(&known), fingerprint(&plain));
    assert_ne!(fingerprint(&known), fingerprint(&known.replace(r#": "htp"}}"#, r#": "gpu"}}"#)));
    assert_ne!(fingerprint(&known), fingerprint(&known.replace("/opt/qnn.so", "/opt/qnn2.so")));
    // Nothing computes with XNNPACK here.
    assert_eq!(fingerprint(&known), fingerprint(&known.replace("XnnpackE", "AclE")));
}

#[test]
fn plug_ins_count_from_the_folder_of_the_board_file() {
    let found = |library: &str| {
        let board = Board::from_json(&document("", &TWO.replace("/opt/qnn.so", library))).unwrap();
        let there = board.clone().of_file_in(Path::new("/boards"));
        assert_eq!(board.fingerprint() == there.fingerprint(), board == there, "another file is another board");
        let library = |board: &Board| board.providers().iter().find_map(|provider| provider.library.clone()).unwrap();
        assert_eq!(library(&there.clone().of_file_in(Path::new("/else"))), library(&there));
        library(&there).display().to_string()
    };
    assert_eq!(found("plug/qnn.so"), "/boards/plug/qnn.so");
    assert_eq!(found("./qnn.so"), "/boards/./qnn.so");
    assert_eq!(found("/opt/qnn.so"), "/opt/qnn.so");
    // The system looks for a name alone.
    let board = Board::from_json(&document("", &TWO.replace("/opt/qnn.so", "qnn.so"))).unwrap();
    assert_eq!(board.clone().of_file_in(Path::new("/boards")), board);
}

#[test]
fn openvino_drives_accelerators_without_a_provider() {
    let openvino = r#", "accelerators": [{"label": "G", "kind": "gpu"},
        {"label": "V", "kind": "gpu", "engine": "openvino", "device": "GPU.0", "same_device_as": "G"}]"#;
    let board = Board::from_json(&document("", openvino)).unwrap();
    let [shaders, openvino_device] = board.accelerators() else { panic!("two") };
    assert!(openvino_device.is_of_openvino() && !shaders.is_of_openvino());
    assert_eq!(["G", "V", "B"].map(|label| board.device_of(label)), ["G", "G", "B"]);
    let fingerprint = |text: &str| Board::from_json(&document("", text)).unwrap().fingerprint();
    assert_ne!(fingerprint(openvino), fingerprint(&openvino.replace("GPU.0", "GPU.1")));
    assert_ne!(fingerprint(openvino), fingerprint(&openvino.replace(r#", "same_device_as": "G""#, "")));
    let again = Board::from_json(&serde_json::to_string(&board.to_document()).unwrap()).unwrap();
    assert_eq!(again, board);
}

#[test]
fn engines_that_a_board_does_not_have_are_told_with_those_that_it_has() {
    let board = Board::from_json(&document("", TWO)).unwrap();
    let engines: EngineSet = "onnxruntime,xnnpak".parse().unwrap();
    let message = board.check_engines(&engines).unwrap_err().to_string();
    for part in [
        "'test'",
        "no engine 'xnnpak'",
        "onnxruntime, openvino, openvinoint8, openvinof16, openvinobf16, xnnpack, htp",
        "`providers` of a board file",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(board.check_engines(&"xnnpack,openvino".parse().unwrap()).is_ok());
    let xnnpack: EngineName = "xnnpack".parse().unwrap();
    // A processor runs an engine that its cluster has.
    let processor = Processor::new("B", [0]).with_engine(xnnpack);
    assert!(matches!(board.check(&processor), Err(BoardError::OtherEngine { .. })));
    let with = board.with_engines(&xnnpack.into());
    assert!(with.check(&processor).is_ok());
    assert!(Board::try_from(with.to_document()).is_ok());
}

#[test]
fn impossible_providers_name_the_field() {
    let refused = |cluster: &str, more: &str| Board::from_json(&document(cluster, more)).unwrap_err().to_string();
    let more = |from: &str, to: &str| {
        assert!(TWO.contains(from), "{from}");
        refused("", &TWO.replace(from, to))
    };
    let cases = [
        (more(r#""engine": "xnnpack""#, r#""engine": "htp""#), "providers[1].engine: is 'htp' a second time"),
        (
            more(r#""engine": "xnnpack""#, r#""engine": "openvinobf16""#),
            "providers[0].engine: is 'openvinobf16', which every board has",
        ),
        (more(r#""engine": "xnnpack""#, r#""engine": "all""#), "providers[0].engine: is 'all', which means several"),
        (more(r#""engine": "xnnpack""#, r#""engine": "xnn-pack""#), "'xnn-pack' can't be the name of an engine"),
        (more("XnnpackExecutionProvider", "Xnn pack"), "'Xnn pack' can't be the name of an execution provider"),
        (more(r#""backend_type""#, r#""""#), "providers[1].options: has ''"),
        (more(r#""htp"}}"#, "\"h\\u0000tp\"}}"), "providers[1].options: has 'backend_type'"),
        (more(r#""htp"}}"#, "1}}"), "providers[1].options.backend_type: invalid type: integer `1`, expected a string"),
        (more("/opt/qnn.so", ""), "providers[1].library: must be the path"),
        (more(r#""library": "/opt/qnn.so", "#, ""), "providers[1].device: is for plug-ins"),
        (more(r#""library""#, r#""path""#), "unknown field `path`"),
        (
            more(r#""npu", "engine": "htp""#, r#""npu", "engine": "tpu""#),
            "accelerators[0].engine: is 'tpu', which is neither openvino nor one of `providers`: xnnpack, htp",
        ),
        (
            more(r#""npu", "engine": "htp""#, r#""npu", "engine": "onnxruntime""#),
            "accelerators[0].engine: is 'onnxruntime', which is for cores: an accelerator has openvino, or a provider",
        ),
        (
            refused(r#", "engines": ["acl"]"#, TWO),
            "clusters[0].engines: names 'acl'; clusters may have onnxruntime, openvino, openvinoint8, openvinof16, openvinobf16, and what stands in `providers`: xnnpack, htp",
        ),
        (refused(r#", "engines": ["acl"]"#, ""), "what stands in `providers`: there are none"),
    ];

    for (message, expected) in cases {
        assert!(message.contains(expected), "{message} does not say {expected}");
    }
}

#[test]
fn impossible_devices_name_the_field() {
    let more = |from: &str, to: &str| {
        assert!(TWO.contains(from), "{from}");
        Board::from_json(&document("", &TWO.replace(from, to))).unwrap_err().to_string()
    };
    let cases = [
        (
            more(r#""npu", "engine": "htp""#, r#""npu", "engine": "htp", "device": "NPU""#),
            "accelerators[0].device: is for accelerators with the engine openvino",
        ),
        (
            more(r#""npu", "engine": "htp""#, r#""npu", "engine": "openvino", "device": "CPU""#),
            "accelerators[0].device: is the cores, which are no accelerator",
        ),
        (
            more(r#""npu", "engine": "htp""#, r#""npu", "engine": "htp", "same_device_as": "N""#),
            "accelerators[0].same_device_as: is 'N', the accelerator itself",
        ),
        (
            more(r#""npu", "engine": "htp""#, r#""npu", "engine": "htp", "same_device_as": "G""#),
            "accelerators[0].same_device_as: is 'G', which is no accelerator of the board",
        ),
        (
            more(
                r#"{"label": "N", "kind": "npu", "engine": "htp"}"#,
                r#"{"label": "N", "kind": "npu"}, {"label": "M", "kind": "npu", "same_device_as": "N"},
                   {"label": "L", "kind": "npu", "same_device_as": "M"}"#,
            ),
            "accelerators[2].same_device_as: is 'M', which is the same device as 'N': name that one",
        ),
    ];

    for (message, expected) in cases {
        assert!(message.contains(expected), "{message} does not say {expected}");
    }
}

#[test]
fn an_accelerator_that_is_gone_is_told_with_what_there_is() {
    use millstream_board::Processor;

    let board = Board::from_json(&document("", TWO)).unwrap();
    let message = board.check(&Processor::accelerator("V")).unwrap_err().to_string();
    assert!(message.contains("no cluster or accelerator 'V'; it has B, N"), "{message}");
}
