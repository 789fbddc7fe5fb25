//! What becomes of what was there.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use millstream_files::{ScratchFolder, WholeFile, abandon_unfinished, check_folder, check_writable, write};
use tempfile::TempDir;

/// Set for a process that a test starts: what it writes.
const TARGET: &str = "MILLSTREAM_TEST_TARGET";

fn folder() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, move |name: &str| path.join(name))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn modes_are_kept() {
    let (_folder, path) = folder();
    write(&path("new"), b"new").unwrap();
    // As the user's mask has it for any other file.
    fs::write(path("plain"), "plain").unwrap();
    assert_eq!(mode(&path("new")), mode(&path("plain")));
    for bits in [0o600, 0o640, 0o664, 0o755] {
        fs::set_permissions(path("new"), Permissions::from_mode(bits)).unwrap();
        write(&path("new"), b"other").unwrap();
        assert_eq!((mode(&path("new")), fs::read(path("new")).unwrap()), (bits, b"other".to_vec()));
    }
}

#[test]
fn links_are_followed() {
    let (folder, path) = folder();
    fs::create_dir(path("far")).unwrap();
    symlink("far/file", path("near")).unwrap();
    symlink("near", path("link")).unwrap();
    for text in ["made through a link", "replaced through a link"] {
        write(&path("link"), text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(path("far/file")).unwrap(), text);
        assert!(path("link").is_symlink() && path("near").is_symlink());
    }
    assert_eq!(
        (names(folder.path()), names(&path("far"))),
        (vec!["far".into(), "link".into(), "near".into()], vec!["file".into()])
    );
    symlink("circle", path("circle")).unwrap();
    assert!(write(&path("circle"), b"").is_err());
}

#[test]
fn what_is_dropped_leaves_no_trace() {
    let (folder, path) = folder();
    fs::write(path("file"), "as it was").unwrap();
    let mut file = WholeFile::create(&path("file")).unwrap();
    file.write_all(b"half").unwrap();
    // Whoever looks meanwhile sees the old file, and on Linux no other.
    assert_eq!(fs::read_to_string(path("file")).unwrap(), "as it was");
    if cfg!(target_os = "linux") {
        assert_eq!(names(folder.path()), ["file"]);
    }
    drop(file);
    check_writable(&path("file")).unwrap();
    check_writable(&path("other")).unwrap();
    check_folder(&path("some/folder")).unwrap();
    assert_eq!(
        (names(folder.path()), fs::read_to_string(path("file")).unwrap()),
        (vec!["file".into()], "as it was".into())
    );
    assert!(check_writable(folder.path()).unwrap_err().to_string().contains("it is a folder"));
    assert!(check_writable(&path("no/file")).is_err());
}

/// In the process that a test starts: overwrites a file, says why not.
#[test]
#[ignore = "what the other tests start"]
fn a_process_writes() {
    let Some(target) = std::env::var_os(TARGET).map(PathBuf::from) else { return };
    check_writable(&target).unwrap();
    write(&target, b"short").unwrap();
    assert!(check_writable(&target.with_file_name("new")).is_err(), "the folder can't be written to");
}

#[test]
fn a_file_in_a_folder_that_may_not_be_written_to_is_overwritten() {
    let (_folder, path) = folder();
    let inner = path("own");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("file"), "longer than what comes").unwrap();
    fs::set_permissions(inner.join("file"), Permissions::from_mode(0o666)).unwrap();
    let is_superuser = fs::metadata(&inner).unwrap().uid() == 0;
    for folder in [inner.parent().unwrap(), &inner] {
        fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    }
    // Nothing is forbidden to the superuser.
    let mut command = Command::new(if is_superuser { "setpriv" } else { "env" });
    command.args(if is_superuser { &["--reuid=65534", "--regid=65534", "--clear-groups"][..] } else { &[] });
    command
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_writes", "--ignored"])
        .env(TARGET, inner.join("file"));
    let output = command.output().unwrap();
    fs::set_permissions(inner.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_to_string(inner.join("file")).unwrap(), "short");
}

/// In the process that another test starts: is killed in the middle of a file, or abandons it.
#[test]
#[ignore = "what the other tests start"]
fn a_process_ends_in_the_middle() {
    let Some(target) = std::env::var_os("MILLSTREAM_TEST_HALF").map(PathBuf::from) else { return };
    let scratch = ScratchFolder::new().unwrap();
    fs::write(scratch.path().join("trace"), "half").unwrap();
    let mut file = WholeFile::create(&target).unwrap();
    file.write_all(b"half").unwrap();
    if std::env::var_os("MILLSTREAM_TEST_KILLED").is_some() {
        Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status().unwrap();
    }
    abandon_unfinished(std::time::Duration::from_secs(1));
    std::process::exit(7);
}

#[test]
fn nothing_is_left_of_a_process_that_ends_in_the_middle() {
    for killed in [None, Some("1")] {
        // Where files without names are not known, only those are gone that are abandoned.
        if killed.is_some() && !cfg!(target_os = "linux") {
            continue;
        }
        let (folder, path) = folder();
        fs::write(path("file"), "as it was").unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "a_process_ends_in_the_middle", "--ignored"])
            .env("MILLSTREAM_TEST_HALF", path("file"));
        command.envs(killed.map(|value| ("MILLSTREAM_TEST_KILLED", value)));
        let temporary = tempfile::tempdir().unwrap();
        command.env("TMPDIR", temporary.path());
        let status = command.output().unwrap().status;
        assert_eq!(status.code(), killed.is_none().then_some(7), "{status}");
        // A folder has its name, so that one stays after a kill.
        assert_eq!(names(temporary.path()).len(), usize::from(killed.is_some()));
        assert_eq!(names(folder.path()), ["file"]);
        assert_eq!(fs::read_to_string(path("file")).unwrap(), "as it was");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    assert!(write(Path::new("/dev/full"), b"text").unwrap_err().to_string().contains("No space left"));
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_gone_on_with() {
    let (_folder, path) = folder();
    let script = "echo before; exec \"$0\" --exact a_process_writes_to_standard_output --nocapture --ignored";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap()).env("MILLSTREAM_TEST_STREAM", "1");
    let status = command.stdout(fs::File::create(path("printed")).unwrap()).status().unwrap();
    let printed = fs::read_to_string(path("printed")).unwrap();
    assert!(status.success() && printed.starts_with("before\n") && printed.contains("a document"), "{printed}");
}

#[test]
#[ignore = "what the other tests start"]
fn a_process_writes_to_standard_output() {
    if std::env::var_os("MILLSTREAM_TEST_STREAM").is_some() {
        write(Path::new("/dev/stdout"), b"a document\n").unwrap();
    }
}

#[test]
fn a_scratch_folder_is_gone_with_all_that_is_in_it() {
    let scratch = ScratchFolder::new().unwrap();
    let path = scratch.path().to_owned();
    fs::create_dir(path.join("inner")).unwrap();
    fs::write(path.join("inner/file"), "text").unwrap();
    drop(scratch);
    assert!(!path.exists());
}

/// A reader that waits for a writer gets all that is written, and not the end of a writer who only looked.
#[test]
fn a_named_pipe_is_opened_once() {
    let (_folder, path) = folder();
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    let mut reader = Command::new("cat").arg(path("pipe")).stdout(std::process::Stdio::piped()).spawn().unwrap();
    check_writable(&path("pipe")).unwrap();
    write(&path("pipe"), b"all of it").unwrap();
    let mut read = String::new();
    std::io::Read::read_to_string(reader.stdout.as_mut().unwrap(), &mut read).unwrap();
    assert!(reader.wait().unwrap().success());
    assert_eq!(read, "all of it");
}
