//! Board files: what is accepted, what is refused and why, and slowed cores.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, BoardError, CoreId, Link};
use millstream_test_support::board;

fn document(clusters: &str) -> String {
    format!(r#"{{"format": "millstream-board", "version": 1, "name": "test", "clusters": {clusters}}}"#)
}

const TWO: &str = r#"[{"label": "s", "capacity": 400, "cores": [{"id": 2}]},
    {"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]}]"#;

#[test]
fn a_document_survives_a_round_trip() {
    let board = Board::from_json(&document(TWO)).unwrap();
    let text = serde_json::to_string(&board.to_document()).unwrap();
    let again = Board::from_json(&text).unwrap();
    assert_eq!(board, again);
    assert_eq!(board.fingerprint(), again.fingerprint());
    let classes: Vec<String> = board.processor_classes().map(|class| class.to_string()).collect();
    assert_eq!(classes, ["B1", "B2", "s1"]);
}

#[test]
fn impossible_documents_name_the_field() {
    let cases = [
        ("[]", "clusters"),
        (r#"[{"label": "B", "capacity": 1, "cores": []}]"#, "clusters[0].cores"),
        (r#"[{"label": "B", "capacity": 0, "cores": [{"id": 0}]}]"#, "clusters[0].capacity"),
        (r#"[{"label": "4", "capacity": 1, "cores": [{"id": 0}]}]"#, "clusters[0].label"),
        (r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}, {"id": 0}]}]"#, "core 0 a second time"),
        (
            r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}], "operating_points": [{"hertz": 0}]}]"#,
            "operating_points.hertz",
        ),
        (
            r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}], "operating_points": [{"hertz": -1000}]}]"#,
            "clusters[0].operating_points[0].hertz: invalid value: integer `-1000`",
        ),
        (
            r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}], "operating_points": [{"hertz": 2}, {"hertz": 1}]}]"#,
            "clusters[0].operating_points.hertz: must grow",
        ),
        (
            r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}], "operating_points": [{"hertz": 2, "volts": -1}]}]"#,
            "clusters[0].operating_points.volts: must be a positive number",
        ),
        (
            r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}], "thermal": {"ambient_celsius": 25, "limit_celsius": 20,
                "resume_celsius": 18, "kelvin_per_watt": 1, "time_constant_seconds": 1}}]"#,
            "clusters[0].thermal: must have ambient_celsius < resume_celsius < limit_celsius",
        ),
        (r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0}], "colour": "red"}]"#, "colour"),
        (r#"[{"label": "B", "capacity": 1, "cores": [{"id": 0, "emulated_slowdown": -1.0}]}]"#, "emulated_slowdown"),
    ];
    for (clusters, expected) in cases {
        let message = Board::from_json(&document(clusters)).unwrap_err().to_string();
        assert!(message.contains(expected), "{clusters}: {message}");
    }

    let newer = document(TWO).replace("\"version\": 1", "\"version\": 9");
    assert!(Board::from_json(&newer).unwrap_err().to_string().contains("version: is 9"));
    assert!(matches!(Board::from_json("{"), Err(BoardError::Malformed { .. })));
}

#[test]
fn links_memory_and_accelerators_are_checked_as_well() {
    let with = |more: &str| {
        let text = document(TWO);
        let text = format!("{}, {more}}}", text.trim_end_matches('}'));
        Board::from_json(&text.replace("}]}]}]", "}]}]")).unwrap_err().to_string()
    };
    let link = |more: &str| format!(r#""links": [{{"from": "B", "to": "G", {more}}}]"#);

    let message = with(&link(r#""bytes_per_second": 1e9, "latency_seconds": 0.0"#));
    assert!(message.contains("links[0].to: is 'G', which is neither a cluster nor an accelerator"), "{message}");
    let links = r#""links": [{"from": "B", "to": "s", "latency_seconds": 0.0, "bytes_per_second": 0.0}]"#;
    assert!(with(links).contains("links[0].bytes_per_second: must be a positive number"), "{}", with(links));
    let links = r#""links": [{"from": "B", "to": "s", "latency_seconds": 1e30, "bytes_per_second": 1e9}]"#;
    assert!(
        with(links).contains("links[0].latency_seconds: is 1000000000000000000000000000000, must be a day at the most"),
        "{}",
        with(links)
    );
    let links = r#""links": [{"from": "B", "to": "s", "latency_seconds": 0.0, "bytes_per_second": 1e-3}]"#;
    assert!(
        with(links).contains("links[0].bytes_per_second: is 0.001, must be at least a kilobyte a second"),
        "{}",
        with(links)
    );
    let twice = r#""links": [{"from": "B", "to": "s", "latency_seconds": 0.0, "bytes_per_second": 1000.0},
        {"from": "B", "to": "s", "latency_seconds": 86400.0, "bytes_per_second": 1000.0}]"#;
    assert!(with(twice).contains("links[1].to: is a second link from 'B' to 's'"), "{}", with(twice));

    let links = r#""links": [{"from": "B", "to": "B", "latency_seconds": 0.0, "bytes_per_second": 1000.0}]"#;
    assert!(with(links).contains("links[0].to: is 'B', where the link comes from"), "{}", with(links));

    let message = with(r#""memory": {"bytes_per_second": 100}"#);
    assert!(message.contains("memory.bytes_per_second: is 100, must be at least a megabyte a second"), "{message}");
    let message = with(r#""memory": {"bytes_per_second": 1e9, "bytes": 0}"#);
    assert!(message.contains("memory.bytes: is 0, must be positive"), "{message}");
    let message = with(r#""memory": {"bytes_per_second": 0}"#);
    assert!(message.contains("memory.bytes_per_second: must be a positive number"), "{message}");

    let message = with(r#""accelerators": [{"label": "G", "kind": "gpu", "volts": -1.0}]"#);
    assert!(message.contains("accelerators[0].volts: must be a positive number"), "{message}");
    let message = with(r#""accelerators": [{"label": "G", "kind": "gpu", "hertz": -5}]"#);
    assert!(message.contains("accelerators[0].hertz"), "{message}");
}

#[test]
fn a_slowed_core_becomes_the_slow_cluster() {
    let board = board("B2");
    let slowed = board.with_slowdown(&[(CoreId(1), 3.0)]).unwrap();
    let classes: Vec<String> = slowed.processor_classes().map(|class| class.to_string()).collect();
    assert_eq!(classes, ["B1", "s1"]);
    assert_eq!(slowed.cluster("s").unwrap().cores[0].id, CoreId(1));
    assert_eq!(slowed.cluster("s").unwrap().capacity, 341);
    assert_eq!(["B", "s", "G"].map(|label| slowed.is_slowed(label)), [false, true, false]);
    assert!(!board.is_slowed("B"));
    assert_ne!(board.fingerprint(), slowed.fingerprint());
    assert!(board.with_slowdown(&[(CoreId(7), 3.0)]).unwrap_err().to_string().contains("slow core 7"));
    assert!(board.with_slowdown(&[(CoreId(1), 0.5)]).is_err());
    // Once more, it is slower than it was.
    let slower = slowed.with_slowdown(&[(CoreId(1), 2.0)]).unwrap();
    assert_eq!(slower.cluster("s").unwrap().cores[0].emulated_slowdown, Some(6.0));
}

/// Threads of a container wait once its quota is used up, on whichever core.
#[test]
fn a_quota_slows_all_cores() {
    let board = board("B2+s1:500+G");
    let limited = board.with_quota(1.5).unwrap();
    assert_eq!(["B", "s", "G"].map(|label| limited.is_slowed(label)), [true, true, false]);
    assert_ne!(limited.fingerprint(), board.fingerprint());
    assert_ne!(limited.fingerprint(), board.with_quota(1.0).unwrap().fingerprint());
    assert_eq!(board.with_quota(3.0).unwrap(), board, "all that there is limits nothing");
    assert_eq!(board.with_quota(2.9).unwrap().quota_cores(), Some(2.9));

    let text = serde_json::to_string(&limited.to_document()).unwrap();
    assert_eq!(Board::from_json(&text).unwrap(), limited);
    for wrong in [0.0, -1.0, f64::NAN] {
        let message = board.with_quota(wrong).unwrap_err().to_string();
        assert!(message.contains("quota_cores: must be a positive number"), "{message}");
    }
}

/// What is slowed changes which cluster a label names, so that links between labels say nothing any more.
#[test]
fn a_slowed_board_has_no_links() {
    let mut document = board("B2+s1:500").to_document();
    let (from, to) = ("B".to_owned(), "s".to_owned());
    document.links.push(Link { from, to, bytes_per_second: 1e9, latency_seconds: 0.0, blocks: None });
    let board = Board::try_from(document).unwrap();
    assert_eq!(board.links().len(), 1);
    assert!(board.with_slowdown(&[(CoreId(0), 4.0)]).unwrap().links().is_empty());
}
