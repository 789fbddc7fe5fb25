//! A library that is not there, or is none, gives an error that says what to do. Each is tried in a process of its own,
//! as a process can load one library only.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

mod fetched;

use std::path::Path;
use std::process::Command;

use millstream_backend::BackendError;
use millstream_backend_openvino::{OpenVino, VARIABLE};

use fetched::library;

/// What a process says that looks for the library in a folder.
fn said(folder: &Path) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]).env(VARIABLE, folder);
    let output = command.env_remove("LD_LIBRARY_PATH").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "what the other tests start"]
fn child() {
    match OpenVino::load() {
        Ok(library) => println!("loaded {}", library.version()),
        Err(error) => println!("{}", BackendError::from(error)),
    }
}

#[test]
fn a_library_that_is_not_there_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let text = said(folder.path());
    for part in ["'openvino' is not available", "libopenvino_c.so is not in", VARIABLE, "pip install 'openvino==2026"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn another_library_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libopenvino_c.so");
    std::fs::write(&file, b"\x7fELF and nothing else").unwrap();
    let text = said(folder.path());
    assert!(text.contains("none of OpenVINO's functions") && text.contains("set OPENVINO_INSTALL_DIR"), "{text}");
    // It has the name of a function, but can't be loaded.
    std::fs::write(&file, b"\x7fELF ov_get_openvino_version\0").unwrap();
    let text = said(folder.path());
    assert!(text.contains("is no OpenVINO that can be loaded"), "{text}");
}

/// A library that says that it is OpenVINO of this version, and can do nothing else, as a C compiler makes it.
#[cfg(target_os = "linux")]
fn library_of_version(folder: &Path, version: &str) {
    let source = folder.join("version.c");
    let code = format!(
        "typedef struct {{ const char *build_number, *description; }} ov_version_t;
         int ov_get_openvino_version(ov_version_t *v) {{ v->build_number = \"{version}\"; v->description = \"\"; return 0; }}
         void ov_version_free(ov_version_t *v) {{ (void)v; }}"
    );
    std::fs::write(&source, code).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o"]).arg(folder.join("libopenvino_c.so")).arg(&source);
    assert!(compile.status().unwrap().success(), "a C compiler makes the library");
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_of_another_version_is_told_with_both_versions() {
    for (version, told) in [
        ("2024.6.0-17404-4c0f47d2335-releases/2024/6", "2024.6.0"),
        ("2025.4.0-20398-8fdad55727d-releases/2025/4", "2025.4.0"),
        ("2027.1.0-30000-abc-releases/2027/1", "2027.1.0"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        library_of_version(folder.path(), version);
        let text = said(folder.path());
        for part in ["'openvino'", told, "2026", VARIABLE, "libopenvino_c.so"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

/// As of somebody who copied the libraries by hand. Links keep the file's own place from being found.
#[test]
fn a_library_without_its_plug_in_for_cores_is_told() {
    if library().is_none() {
        return;
    }
    let whole = std::path::PathBuf::from(std::env::var_os(VARIABLE).unwrap());
    let folder = tempfile::tempdir_in(whole.parent().unwrap()).unwrap();
    for entry in std::fs::read_dir(&whole).unwrap().filter_map(Result::ok) {
        let name = entry.file_name();
        if entry.path().is_file() && !name.to_string_lossy().contains("_cpu_plugin") {
            std::fs::hard_link(entry.path(), folder.path().join(name)).unwrap();
        }
    }
    let text = said(folder.path());
    for part in ["no plug-in for CPUs beside it", "libopenvino_c.so", VARIABLE] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_library_of_set_up_is_loaded_with_its_devices() {
    let Some(library) = library() else { return };
    assert!(library.version().starts_with("2026."), "{}", library.version());
    let devices = library.devices().unwrap();
    let cpu = devices.iter().find(|device| device.is_cpu()).unwrap();
    assert!(!cpu.name.is_empty() && cpu.version == library.version() && !cpu.is_gpu(), "{cpu:?}");
    let error = library.device("GPU.7").unwrap_err().to_string();
    assert!(error.contains("no device GPU.7") && error.contains("CPU"), "{error}");
}
