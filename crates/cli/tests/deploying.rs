//! `deploy` against an ssh server of this test's own: what comes back, what is left behind, and what is said when
//! something is wrong.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod ssh_server;
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use millstream_onnx::proto::{EXTERNAL, StringStringEntryProto};
use millstream_onnx::{ModelBuilder, Weight};
use ssh_server::place::{PATIENCE, Place};
use support::Workplace;

#[test]
fn reports_come_back_and_nothing_stays() {
    let Some(place) = Place::new() else { return };
    // As shells of users may do.
    fs::write(place.server.path("home").join(".bashrc"), "echo Welcome\n").unwrap();
    let told = place.succeed(&[]);
    fs::remove_file(place.server.path("home").join(".bashrc")).unwrap();
    assert!(
        told.contains("fingerprint") && told.contains("board: small as ") && told.contains("frames checked"),
        "{told}"
    );
    let of_format = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(place.workplace.path("deployed").join(name)).unwrap()).unwrap()
    };
    assert_eq!(of_format("board.json")["format"], "millstream-board");
    assert_eq!(of_format("profile.json")["format"], "millstream-profile");
    assert_eq!(of_format("schedule.json")["format"], "millstream-schedule");
    assert_eq!(of_format("run.json")["networks"][0]["frames"], 8);
    place.await_nothing(PATIENCE);

    // What the page on it says: measured there, planned and simulated here.
    let of_board = ["--model", "small.onnx", "--board", "deployed/board.json"];
    place
        .workplace
        .succeed(&[&["schedule", "--profile", "deployed/profile.json", "-o", "mine.json"], &of_board[..]].concat());
    place.workplace.succeed(
        &[&["simulate", "--profile", "deployed/profile.json", "--schedule", "mine.json"], &of_board[..]].concat(),
    );

    // Everything that may be said, and everything kept.
    place.workplace.write("it's one.npy", frame());
    let report =
        place.succeed(&["--input", "image=it's one.npy", "--keep", "--json", "--objective", "latency", "-o", "again"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["format"], &report["networks"][0]["has_own_frames"]),
        (&"millstream-run-report".into(), &true.into())
    );
    assert_eq!(place.server.left_behind().len(), 1);
    assert!(place.workplace.path("again/run.json").is_file());
}

#[test]
fn folders_are_named_from_the_home_as_well() {
    let Some(place) = Place::new() else { return };
    for folder in ["sub", "it's a folder/below"] {
        let there = place.server.path("home").join(folder);
        fs::create_dir_all(&there).unwrap();
        // What is of the same name from the root of the board is nobody's business.
        let told = place.succeed(&["--remote-folder", folder]);
        assert!(told.contains("frames checked"), "{told}");
        assert_eq!(fs::read_dir(&there).unwrap().count(), 0, "something is left in {folder}");
    }
}

/// A package whose program is that, in the folder of the desk.
fn package_with(place: &Place, program: &[u8]) -> String {
    let fake = place.workplace.path("fake");
    fs::create_dir_all(fake.join("millstream/bin")).unwrap();
    let path = fake.join("millstream/bin/millstream");
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let archive = place.workplace.path("other.tar.gz").display().to_string();
    let mut tar = Command::new("tar");
    assert!(tar.args(["-c", "-z", "-f", &archive, "-C"]).arg(&fake).arg("millstream").status().unwrap().success());
    archive
}

#[test]
fn packages_of_other_releases_and_architectures_are_refused() {
    let Some(place) = Place::new() else { return };
    let archive = package_with(&place, b"#!/bin/sh\necho millstream 9.9.9\n");
    let message = place.fail("board", &["--package", &archive]);
    let own = concat!("this program is ", env!("CARGO_PKG_VERSION"));
    assert!(message.contains("is millstream 9.9.9") && message.contains(own), "{message}");
    place.await_nothing(PATIENCE);

    // Before anything is copied: by what an ELF file begins with, whatever the name of the package says.
    let (machine, other) = if cfg!(target_arch = "x86_64") { (0xb7, "aarch64") } else { (0x3e, "x86_64") };
    let archive = package_with(&place, &[&b"\x7fELF"[..], &[0; 14], &[machine, 0]].concat());
    let message = place.fail("board", &["--package", &archive]);
    assert!(message.contains(&format!("is for {other}")) && !message.contains("copying"), "{message}");
}

/// A frame for the small network in NumPy's format.
fn frame() -> Vec<u8> {
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 8, 16, 16), }".to_owned();
    header.push_str(&" ".repeat(128 - 10 - 1 - header.len()));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend((0..8 * 16 * 16).flat_map(|index| (index as f32 / 2048.0).to_le_bytes()));
    file
}

#[test]
fn boards_that_do_not_let_anybody_in_are_told_with_a_remedy() {
    let Some(place) = Place::new() else { return };
    place.server.configure("other_key");
    let refused = place.fail("board", &[]);
    assert!(refused.contains("Permission denied") && refused.contains("ssh-copy-id board"), "{refused}");
    place.server.configure("key");
    place.server.forget();
    let unknown = place.fail("board", &[]);
    assert!(unknown.contains("Host key verification failed") && unknown.contains("ssh board"), "{unknown}");
    place.server.configure("key");
    let nobody = place.fail("nobody", &[]);
    assert!(nobody.contains("no ssh server answers there"), "{nobody}");
    assert!(place.fail("-oProxyCommand=true", &[]).contains("error"));
    assert!(place.server.left_behind().is_empty() && !place.workplace.path("deployed").exists());
}

#[test]
fn boards_that_can_not_take_the_package_are_told_before_it_is_copied() {
    let Some(place) = Place::new() else { return };
    let other = if cfg!(target_arch = "x86_64") { "aarch64" } else { "x86_64" };
    place.server.stand_in("uname", &format!("if [ $1 = -m ]; then echo {other}; else exec /bin/uname \"$@\"; fi"));
    let wrong = place.fail("board", &[]);
    assert!(
        wrong.contains(&format!("the board is {other}")) && wrong.contains(&format!("package --target {other}")),
        "{wrong}"
    );
    place.server.stand_in("uname", "if [ $1 = -m ]; then echo riscv64; else exec /bin/uname \"$@\"; fi");
    assert!(place.fail("board", &[]).contains("riscv64"));
    place.server.stand_in("uname", "exec /bin/uname \"$@\"");

    place.server.stand_in("getconf", "echo glibc 2.27");
    assert!(place.fail("board", &[]).contains("has glibc 2.27; packages need 2.28"));
    place.server.stand_in("getconf", "exec /usr/bin/getconf \"$@\"");

    place.server.stand_in("df", "echo Filesystem; echo /dev/root 10000 9000 1000 90% /");
    let full = place.fail("board", &[]);
    assert!(full.contains("0 MiB left in the home folder") && full.contains("--remote-folder"), "{full}");
    place.server.stand_in("df", "exec /bin/df \"$@\"");

    let folder = place.fail("board", &["--remote-folder", "/none/there"]);
    assert!(folder.contains("/none/there") && folder.contains("--remote-folder"), "{folder}");
    assert!(place.fail("board", &["--package", "none.tar.gz"]).contains("none.tar.gz"));
    assert!(place.fail("board", &["--model", "none.onnx"]).contains("none.onnx"));
    assert!(place.server.left_behind().is_empty());
}

#[test]
fn what_goes_wrong_on_the_board_is_told_and_removed() {
    let Some(place) = Place::new() else { return };
    let archive = package_with(&place, b"no program");
    let message = place.fail("board", &["--package", &archive]);
    assert!(message.contains("does not run on board") && message.contains("its architecture"), "{message}");
    place.await_nothing(PATIENCE);

    place.server.stand_in("sha256sum", "echo package.tar.gz: FAILED; exit 1");
    let message = place.fail("board", &[]);
    assert!(message.contains("is not what was sent") && message.contains("FAILED"), "{message}");
    place.await_nothing(PATIENCE);
    place.server.stand_in("sha256sum", "exec /usr/bin/sha256sum \"$@\"");

    place.server.stand_in("tar", "echo 'tar: x: Cannot write: No space left on device' >&2; exit 2");
    let message = place.fail("board", &[]);
    assert!(message.contains("No space left") && message.contains("--remote-folder"), "{message}");
    place.await_nothing(PATIENCE);
    place.server.stand_in("tar", "exec /bin/tar \"$@\"");

    // What was done until then comes back.
    let message = place.fail("board", &["--dim", "n=4,5"]);
    assert!(message.contains("one size each"), "{message}");
    place.server.stand_in("env", "for word; do [ \"$word\" = run ] && exit 7; done; exec /usr/bin/env \"$@\"");
    let message = place.fail("board", &[]);
    assert!(message.contains("'run'") && message.contains("failed on board"), "{message}");
    assert!(
        place.workplace.path("deployed/schedule.json").is_file() && !place.workplace.path("deployed/run.json").exists()
    );
    place.await_nothing(PATIENCE);

    // So does what a command writes that fails.
    place.server.stand_in(
        "env",
        "for word; do [ \"$word\" = run ] && { echo a part; exit 7; }; done; exec /usr/bin/env \"$@\"",
    );
    let message = place.fail("board", &[]);
    assert!(message.contains("failed on board"), "{message}");
    assert_eq!(fs::read_to_string(place.workplace.path("deployed/run.json")).unwrap(), "a part\n");
    place.await_nothing(PATIENCE);
}

/// A network with an open dimension, `far.onnx`, whose weights are in `far.bin` beside it.
fn open_model(workplace: &Workplace) {
    let mut builder = ModelBuilder::new("far");
    let tokens = builder.open_input("tokens", &["1", "sequence", "8"]);
    let matrix = builder.weight("matrix", &Weight::from_f32([8, 8], (0..64_u8).map(f32::from).collect()));
    let product = builder.node("MatMul", &[&tokens, &matrix]);
    let made = builder.node("Tanh", &[&product]);
    builder.output(&made);
    let mut model = builder.into_proto();
    for weight in &mut model.graph.as_mut().unwrap().initializer {
        workplace.write("far.bin", weight.raw_data.take().unwrap());
        let entry = StringStringEntryProto { key: Some("location".to_owned()), value: Some("far.bin".to_owned()) };
        (weight.external_data, weight.data_location) = (vec![entry], Some(EXTERNAL));
    }
    workplace.write("far.onnx", prost::Message::encode_to_vec(&model));
}

#[test]
fn what_is_asked_for_here_is_done_there() {
    let Some(place) = Place::new() else { return };
    open_model(&place.workplace);
    let log = place.server.path("words");
    place.server.stand_in("env", &format!("echo \"$@\" >> '{}'; exec /usr/bin/env \"$@\"", log.display()));
    let asked = ["--model", "far.onnx", "--dim", "sequence=4", "--max-weights", "3"];
    let how = ["--objective", "latency", "--budget", "150ms", "--keep", "-o", "asked"];
    place.succeed(&[&asked[..], &how].concat());

    let words = fs::read_to_string(log).unwrap();
    let of_verb = |verb: &str| words.lines().find(|line| line.contains(&format!("/millstream {verb} "))).unwrap_or("");
    for verb in ["profile", "schedule", "run"] {
        assert!(of_verb(verb).contains("--dim=sequence=4") && of_verb(verb).contains("--max-weights=3"), "{words}");
    }
    assert!(of_verb("profile").contains("--budget 0.15s"), "{words}");
    assert!(of_verb("run").contains("--frames 8"), "{words}");
    let report = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(place.workplace.path("asked").join(name)).unwrap()).unwrap()
    };
    assert_eq!(report("schedule.json")["objective"], "latency", "{}", report("schedule.json"));
    assert_eq!(report("run.json")["networks"][0]["dimensions"][0][1], 4);

    // What is kept is nobody else's business.
    let kept = place.server.left_behind().into_iter().find(|path| path.is_dir()).unwrap();
    assert!(kept.join("model/far.bin").is_file());
    for part in ["", "work", "package"] {
        let mode = fs::metadata(kept.join(part)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{part}: {mode:o}");
    }
}

/// Waits for the end of a command that should end.
fn end(child: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_connection_that_is_cut_ends_both_sides() {
    let Some(place) = Place::new() else { return };
    let mut child = place.start();
    place.await_run(&mut child);
    place.server.cut_connections();
    assert_eq!(end(&mut child).code(), Some(1));
    let log = fs::read_to_string(place.workplace.path("log")).unwrap();
    assert!(log.contains("error: board: ") && log.contains("connection was lost"), "{log}");
    place.await_nothing(PATIENCE);
    assert!(place.workplace.path("deployed/profile.json").is_file(), "what came before is kept");
}

#[test]
fn a_signal_ends_both_sides() {
    let Some(place) = Place::new() else { return };
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let mut child = place.start();
        place.await_run(&mut child);
        assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
        let status = end(&mut child);
        let log = fs::read_to_string(place.workplace.path("log")).unwrap();
        assert_eq!(status.code(), Some(code), "{log}");
        // Frames would flow for hours. How soon all ends is not for a test that others run beside.
        place.await_nothing(PATIENCE);
    }
}
