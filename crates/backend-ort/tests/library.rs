//! A library of another version gives an error that says what to do. Each is tried in a process of its own, as a process
//! can load one library only.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use millstream_backend_ort::Environment;

/// What a process says that loads a library.
fn said(library: &Path) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]).env("ORT_DYLIB_PATH", library);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "what the other tests start"]
fn child() {
    match Environment::load() {
        Ok(environment) => println!("loaded {:?}", environment.version()),
        Err(error) => println!("{error}"),
    }
}

/// A library as a C compiler makes it.
fn compiled(folder: &Path, code: &str) -> PathBuf {
    let (source, library) = (folder.join("library.c"), folder.join("libonnxruntime.so"));
    std::fs::write(&source, code).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compile.status().unwrap().success(), "a C compiler makes the library");
    library
}

/// ONNX Runtime of this version, which has no interface that a newer program asks for.
fn of_version(folder: &Path, version: &str) -> PathBuf {
    let code = format!(
        "typedef struct {{ const void *(*get_api)(unsigned); const char *(*version)(void); }} base_t;
         static const void *get_api(unsigned version) {{ (void)version; return 0; }}
         static const char *version(void) {{ return \"{version}\"; }}
         static const base_t base = {{ get_api, version }};
         const base_t *OrtGetApiBase(void) {{ return &base; }}"
    );
    compiled(folder, &code)
}

#[test]
fn an_older_library_is_told_with_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let library = of_version(folder.path(), "1.10.0");
    let text = said(&library);
    let library = format!("{} is ONNX Runtime 1.10.0, and this program needs 1.", library.display());
    for part in ["'onnxruntime' is not available", &library, "pip's onnxruntime>=1.", "ORT_DYLIB_PATH"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("ort 2"), "users know no such thing: {text}");
}

#[test]
fn a_library_that_is_no_onnx_runtime_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let library = compiled(folder.path(), "int nothing(void) { return 0; }");
    let text = said(&library);
    for part in ["'onnxruntime' is not available", "ORT_DYLIB_PATH", "libonnxruntime.so"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
