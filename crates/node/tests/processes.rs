//! Hosts as processes that dora-rs starts. `MILLSTREAM_DORA` names its program, as `cargo xtask node-test` does.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use millstream_api::onnx::{ModelBuilder, Weight, WeightStorage};
use millstream_node::launch::{Running, launch};
use millstream_node::report::Report;
use support::{command, deployment, options, plan, plan_of, system};

/// Runs the command in a folder; what it printed, and what it said.
fn run(folder: &std::path::Path, arguments: &[&str]) -> (bool, String, String) {
    command(folder, &[&["run"], arguments].concat())
}

#[test]
fn frames_go_through_two_hosts_and_back() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let (is_right, report, said) = run(folder.path(), &["--system", "system.json", "--frames", "40", "--json"]);
    assert!(is_right, "{report}\n{said}");
    let report: Report = serde_json::from_str(&report).unwrap();
    assert!(report.is_right() && report.checked == 40, "{report:?}");
    assert!(!report.events.iter().any(|event| event.text.contains("sent again")), "nothing is lost: {report:?}");
    assert_eq!(report.stages.iter().map(|stage| stage.host.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn frames_of_ones_own_go_through() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    // Three images, which take turns.
    std::fs::create_dir(folder.path().join("photos")).unwrap();
    for (place, name) in ["a.png", "b.png", "c.png"].iter().enumerate() {
        std::fs::write(folder.path().join("photos").join(name), grey(place as u8)).unwrap();
    }
    let wanted = ["--system", "system.json", "--frames", "7", "--input", "photos", "--json"];
    let (is_right, report, said) = run(folder.path(), &wanted);
    assert!(is_right, "{report}\n{said}");
    let report: Report = serde_json::from_str(&report).unwrap();
    assert!(report.is_right() && (report.checked, report.different_frames) == (7, 3), "{report:?}");
    let said = run(folder.path(), &["--system", "system.json", "--input", "none.npy"]).2;
    assert!(said.contains("none.npy"), "{said}");
}

/// A PNG file of two by two pixels, all of one grey: stored, not compressed.
fn grey(level: u8) -> Vec<u8> {
    let rows = [0, level * 40, level * 40, 0, level * 40, level * 40];
    let adler = rows.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    let mut data = vec![0x78, 0x01, 0x01, 6, 0, 0xF9, 0xFF];
    data.extend(rows);
    data.extend((adler.1 << 16 | adler.0).to_be_bytes());
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let body = [&kind[..], data].concat();
        let sum = body.iter().fold(u32::MAX, |sum, &byte| {
            (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 & 0_u32.wrapping_sub(sum & 1)))
        });
        [&(data.len() as u32).to_be_bytes()[..], &body, &(!sum).to_be_bytes()].concat()
    };
    let header = [0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0];
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), chunk(b"IDAT", &data), chunk(b"IEND", &[])].concat()
}

/// A file that nobody else knows, by its path from the folder where the command is run; what comes of it is written where
/// it is asked for.
#[test]
fn a_network_of_ones_own_goes_through_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = ModelBuilder::new("own");
    let mut value = builder.input("x", [1, 8]);
    for layer in 0..4 {
        let elements = (0..64).map(|place| ((place * 7 + layer) % 11) as f32 / 11.0 - 0.5).collect();
        let weight = builder.weight("weight", &Weight::from_f32([8, 8], elements));
        value = builder.node("MatMul", &[&value, &weight]);
    }
    builder.output(&value);
    let model = builder.build().unwrap();
    let bytes = model.segment(model.graph().order(), WeightStorage::Inline).unwrap().bytes;
    std::fs::write(folder.path().join("own.onnx"), bytes).unwrap();
    system(folder.path(), &["a", "b"]);
    plan_of(folder.path(), "own.onnx", &[], "schedule.json");
    plan_of(folder.path(), "own.onnx", &["b"], "without-b.json");
    let names = ["schedule.json", "without-b.json"].map(|name| {
        // As `schedule` writes it where the command is run.
        let path = folder.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let own = format!("{}/own.onnx", folder.path().display());
        assert!(text.contains(&own));
        std::fs::write(&path, text.replace(&own, "own.onnx")).unwrap();
        name
    });

    let [schedule, fallback] = names;
    let wanted = ["--system", "system.json", "--schedule", schedule, "--fallback", fallback, "--frames", "20"];
    let written = ["--output", "report.json", "--trace", "trace.json"];
    let (is_right, shown, said) = run(folder.path(), &[&wanted[..], &written].concat());
    assert!(is_right && shown.contains("20 of 20 frames as in sequential inference"), "{shown}\n{said}");
    let report: Report =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("report.json")).unwrap()).unwrap();
    assert!(report.is_right() && report.stages.len() == 2, "{report:?}");
    let trace = std::fs::read_to_string(folder.path().join("trace.json")).unwrap();
    assert!(trace.contains("cluster a/B") && trace.contains("frame 19"), "{trace}");
    let (is_right, _, said) = run(folder.path(), &[&wanted[..], &["--trace", "nowhere/trace.json"]].concat());
    assert!(!is_right && said.contains("nowhere"), "{said}");
}

/// What leads to a host does not, from some moment on.
#[test]
fn a_host_that_stays_away_is_done_without() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    plan(folder.path(), &["b"], "without-b.json");
    let (bridge, script) = (folder.path().join("bridge"), folder.path().join("way.sh"));
    std::fs::write(&bridge, "").unwrap();
    std::fs::write(&script, format!("[ -f {} ] && exec \"$@\"\nexit 1\n", bridge.display())).unwrap();

    let mut options = options(env!("CARGO_BIN_EXE_millstream-node").into(), 120);
    options.via = vec![("b".to_owned(), vec!["sh".to_owned(), script.display().to_string()])];
    let deployed = deployment(folder.path(), &["schedule.json", "without-b.json"], 600);
    let begin = std::time::Instant::now();
    let mut is_cut = false;
    let cut = &mut |running: &Running<'_>| {
        if !is_cut && begin.elapsed().as_secs() >= 6 {
            is_cut = true;
            std::fs::remove_file(&bridge).unwrap();
            let daemon = running.daemon("b").unwrap().to_string();
            assert!(std::process::Command::new("kill").args(["-9", &daemon]).status().unwrap().success());
        }
    };
    let own = tempfile::tempdir().unwrap();
    let report = launch(&deployed, own.path(), &options, cut).unwrap();
    assert!(is_cut, "there were too few frames");
    assert!(report.is_right() && report.checked == 600, "{report:?}");
    let last = report.events.iter().rev().find(|event| event.text.starts_with("frames go by")).unwrap();
    assert!(!last.text.contains("b/B"), "{report:?}");
}

/// What of this computer goes on by itself when what started it ends, as programs behind ssh do.
#[test]
fn nothing_goes_on_elsewhere_when_all_is_over() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "lonely"]);
    plan(folder.path(), &[], "schedule.json");
    let wanted = ["--system", "system.json", "--frames", "10", "--json", "--via", "lonely=setsid --fork --wait"];
    let (is_right, report, said) = run(folder.path(), &wanted);
    assert!(is_right, "{report}\n{said}");
    let is_left = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line.windows(17).any(|part| part == b"--machine-id\0lone")).count()
    };
    let begin = std::time::Instant::now();
    while is_left() > 0 {
        assert!(begin.elapsed().as_secs() < 20, "a daemon goes on");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn links_are_measured_and_planned_over() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    let (is_right, shown, said) = command(folder.path(), &["measure-links", "--system", "system.json"]);
    assert!(is_right, "{said}");
    for row in [
        "| a    | b    | idle",
        "| b    | a    | idle",
        "| a    | b    | busy",
        "| b    | a    | busy",
        "| here | b    | idle",
    ] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    assert!(!shown.contains("| here | b    | busy"), "{shown}");

    // What a byte of a frame costs is much less than a microsecond, and more than nothing.
    let frames = shown.split("host b: ").nth(1).unwrap().lines().next().unwrap();
    let frames: serde_json::Value = serde_json::from_str(frames).unwrap();
    let cost = |name: &str| frames[name].as_f64().unwrap();
    assert!((1e-11..1e-7).contains(&cost("cpu_seconds_per_frame_byte")), "{frames}");
    assert!((1e-6..1e-2).contains(&cost("cpu_seconds_per_frame")), "{frames}");

    // What is printed goes into the file as it is.
    let links = &shown[shown.find("\"links\"").unwrap()..];
    let text = std::fs::read_to_string(folder.path().join("system.json")).unwrap();
    let fields = frames.to_string().trim_matches(['{', '}']).to_owned();
    let before =
        text[..text.find("\"links\"").unwrap()].replace("\"id\": \"b\",", &format!("\"id\": \"b\", {fields},"));
    std::fs::write(folder.path().join("system.json"), format!("{before}{links}}}")).unwrap();
    let hosts = millstream_api::Hosts::read(&folder.path().join("system.json")).unwrap();
    let [other, host] = hosts.system().hosts() else { panic!("{:?}", hosts.system()) };
    assert_eq!(host.cpu_seconds_per_frame, cost("cpu_seconds_per_frame"));
    assert!(host.frame_bytes_per_second.unwrap() > 1e6 && host.frame_latency_seconds >= 0.0, "{host:?}");
    assert_eq!(other.frame_bytes_per_second, None);
    let link = hosts.system().link("a", "b").unwrap();
    assert!(link.latency_seconds >= 0.0 && link.bytes_per_second > 1e6, "{link:?}");
    assert!(
        link.cpu_seconds_per_sent_byte.iter().chain(&link.cpu_seconds_per_message).all(|&cost| cost >= 0.0),
        "{link:?}"
    );
}

#[test]
fn what_does_not_fit_is_told_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let said = |arguments: &[&str]| run(folder.path(), &[&["--system", "system.json"], arguments].concat()).2;
    assert!(said(&["--model", "zoo:mobilenet-v1"]).contains("schedule.json"));
    assert!(said(&["--via", "c=ssh c"]).contains("the system has no host 'c', only a, b"));
    assert!(said(&["--dora", "/nonexistent"]).contains("python3 -m pip install dora-rs-cli==1.1.0"));
    assert!(said(&["--schedule", "none.json"]).contains("none.json"));
    let tunnel = said(&["--via", "b=env A=b", "--tunnel"]);
    assert!(tunnel.contains("a tunnel needs ssh, but 'env A=b' leads to 'b'"), "{tunnel}");
    let unreachable = said(&["--via", "b=sh -c false"]);
    assert!(unreachable.contains("on 'b', by 'sh -c false' failed"), "{unreachable}");
    assert!(said(&["--input", "none.npy", "--expect", "none.npz"]).contains("none.n"));
    // A link that nobody measured.
    let text = std::fs::read_to_string(folder.path().join("system.json")).unwrap();
    let without = &text[..text.find("\"links\"").unwrap()];
    std::fs::write(folder.path().join("system.json"), format!("{without}\"links\": []}}")).unwrap();
    assert!(said(&[]).contains("link"), "{}", said(&[]));
}
