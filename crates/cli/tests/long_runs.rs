//! Runs of many frames take no more memory than short ones, and what they write is of use whenever they end.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Workplace, small_model, text};

/// A run of the small model with a trace and a table.
fn start(workplace: &Workplace, frames: &str) -> Child {
    let arguments = ["run", "--frames", frames, "--trace", "trace.json", "--csv", "frames.csv"];
    Command::new(env!("CARGO_BIN_EXE_millstream"))
        .args(arguments)
        .current_dir(workplace.path(""))
        .env("XDG_CACHE_HOME", workplace.path("cache"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn planned() -> Workplace {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["schedule", "--model", "small.onnx"]);
    workplace
}

/// The most memory that a run needs, in MiB.
fn peak_mib(workplace: &Workplace, frames: &str) -> f64 {
    let mut child = start(workplace, frames);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    loop {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = peak.max(kib.map_or(0.0, |kib| kib.trim().parse::<f64>().unwrap() / 1024.0));
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success());
            return peak;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn memory_does_not_grow_with_the_number_of_frames() {
    let workplace = planned();
    let [few, many] = ["1000", "12000"].map(|frames| peak_mib(&workplace, frames));
    let events: Vec<Value> = serde_json::from_str(&text(&workplace.path("trace.json"))).unwrap();
    assert!(events.len() > 12_000);
    assert_eq!(text(&workplace.path("frames.csv")).lines().count(), 12_001);
    // Frames that are kept for a trace take about 10 MiB.
    assert!(many - few < 4.0, "{few:.1} MiB for 1000 frames, {many:.1} MiB for 12000");
}

/// Ends a run by a signal once it has written something.
fn end(workplace: &Workplace, signal: &str) {
    let mut child = start(workplace, "1000000000");
    let begin = Instant::now();
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
    while size(&workplace.path("trace.json")) == 0 || size(&workplace.path("frames.csv")) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing was written");
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap();
}

#[test]
fn a_trace_is_whole_after_an_interruption_and_of_use_after_a_kill() {
    let workplace = planned();
    end(&workplace, "-INT");
    let whole: Vec<Value> = serde_json::from_str(&text(&workplace.path("trace.json"))).unwrap();
    assert!(whole.iter().filter(|event| event["ph"] == "X").count() > 100);

    std::fs::remove_file(workplace.path("trace.json")).unwrap();
    std::fs::remove_file(workplace.path("frames.csv")).unwrap();
    end(&workplace, "-KILL");
    let left = text(&workplace.path("trace.json"));
    let mended = format!("{}]", whole_lines(&left).trim_end().trim_end_matches(','));
    let events: Vec<Value> = serde_json::from_str(&mended).unwrap();
    assert!(events.iter().filter(|event| event["ph"] == "X").count() > 100);
    let table = text(&workplace.path("frames.csv"));
    let lines: Vec<_> = whole_lines(&table).lines().collect();
    assert!(lines.len() > 100 && lines.iter().all(|line| line.split(',').count() == 9));
}

/// All but a last line that has no end: the kernel stops a write between two pages when it kills the process.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..=end])
}
