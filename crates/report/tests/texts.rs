//! What the tables and traces look like.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::Board;
use millstream_report::{
    FlowStep, FrontRow, MeasuredStage, StageRow, TraceEvent, TraceTrack, TraceWriter, board_table, chrome_trace,
    front_table, measured_table, stage_table,
};
use millstream_schedule::StageId;

fn stage(number: usize, measured: Option<MeasuredStage>) -> StageRow {
    StageRow {
        stage: StageId::new(number - 1),
        processor: "B1 (core 0)".into(),
        operators: "Conv_0 .. Relu_9".into(),
        operator_count: 10,
        expected_seconds: 0.0051,
        measured,
    }
}

#[test]
fn stages_before_and_after_a_run() {
    let measured = MeasuredStage { seconds: 0.005, frames: 50, queue_wait_seconds: 0.0001, utilisation: 0.98 };
    let before = stage_table(&[stage(1, None), stage(2, None)]);
    let rows = [stage(1, Some(measured)), stage(2, None)];
    let after = measured_table(&rows);
    let text = format!("{before}\n\n{}\n\n{after}", stage_table(&rows));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_long_front_is_thinned_but_keeps_what_is_chosen() {
    let row = |index: usize| FrontRow {
        joules_per_frame: None,
        is_measured: false,
        configuration: format!("B1-s{index}"),
        period_seconds: 0.02 / (index + 1) as f64,
        latency_seconds: 0.01 + 0.001 * index as f64,
        chosen_for: if index == 31 { vec!["balanced".into()] } else { Vec::new() },
    };
    let rows: Vec<FrontRow> = (0..40).map(row).collect();
    let (table, left_out) = front_table(&rows);
    insta::assert_snapshot!(format!("{table}\n{left_out} left out"));
}

#[test]
fn boards() {
    let text = r#"{"format": "millstream-board", "version": 1, "name": "t", "clusters": [
        {"label": "B", "core_type": "Cortex-A73", "capacity": 1024, "cores": [{"id": 4}, {"id": 5}],
         "operating_points": [{"hertz": 2362000000}], "caches": [{"level": 2, "bytes": 2097152, "shared_by": 4}]},
        {"label": "s", "capacity": 341, "cores": [{"id": 0, "emulated_slowdown": 3.0}]}]}"#;
    insta::assert_snapshot!(board_table(&Board::from_json(text).unwrap()));
}

fn tracks() -> [TraceTrack; 2] {
    let track = |core: usize| TraceTrack { group: "cluster B".into(), name: format!("core {core}") };
    [track(0), track(1)]
}

#[test]
fn traces() {
    let events = [
        TraceEvent::Slice {
            name: "frame 7".into(),
            track: 1,
            start: 2.5,
            duration: 10.0,
            arguments: vec![("stage", 2.into()), ("type", "Conv".into())],
        },
        TraceEvent::Flow { id: 7, track: 1, at: 2.5, step: FlowStep::End },
        TraceEvent::Counter { name: "waiting before stage 2".into(), at: 2.5, value: 1.0 },
    ];
    let text = chrome_trace(&tracks(), &events);
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    insta::assert_json_snapshot!(parsed);
}

#[test]
fn a_trace_that_grows_is_a_document_at_every_moment() {
    let tracks = tracks();
    let event = |frame: usize| TraceEvent::Slice {
        name: format!("frame {frame}"),
        track: frame % 2,
        start: 2.5 * frame as f64,
        duration: 2.0,
        arguments: Vec::new(),
    };
    let mut trace = TraceWriter::new(Vec::new(), &tracks).unwrap();
    (0..3).for_each(|frame| trace.add(&event(frame)).unwrap());
    let text = String::from_utf8(trace.finish().unwrap()).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    let both: serde_json::Value =
        serde_json::from_str(&chrome_trace(&tracks, &[event(0), event(1), event(2)])).unwrap();
    assert_eq!(whole, both["traceEvents"], "the events are those of a trace that is written at once");

    // What a killed program leaves ends behind some event.
    let lines: Vec<&str> = text.lines().collect();
    for left in 2..lines.len() - 1 {
        let left = lines[..left].join("\n");
        let mended = format!("{}]", left.trim_end_matches(','));
        assert!(serde_json::from_str::<Vec<serde_json::Value>>(&mended).is_ok(), "{mended}");
    }

    let nothing = TraceWriter::new(Vec::new(), &[]).unwrap().finish().unwrap();
    assert_eq!(serde_json::from_slice::<Vec<serde_json::Value>>(&nothing).unwrap().len(), 1, "the counters' name");
    // Whoever does not come to finish it leaves a document all the same.
    let mut dropped = Vec::new();
    TraceWriter::new(&mut dropped, &tracks).unwrap().add(&event(7)).unwrap();
    let lines = serde_json::from_slice::<Vec<serde_json::Value>>(&dropped).unwrap();
    assert_eq!(lines.last().unwrap()["name"], "frame 7");
}
