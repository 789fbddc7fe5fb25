//! Running the command and making small models for it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight, WeightStorage};
use tempfile::TempDir;

/// Longer than anything takes that a test waits for, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// Waits until something is so that a running command brings about. Where it ends before, or takes very long, the test
/// fails, and the command does not go on.
pub(crate) fn wait_until(child: &mut Child, what: &str, mut is_so: impl FnMut(&Child) -> bool) {
    let begin = Instant::now();
    while !is_so(child) {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("the command ended before {what}: {status}");
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("not within {PATIENCE:?}: {what}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder for one test: commands run in it, and their cache is in it.
pub(crate) struct Workplace {
    folder: TempDir,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Names of the files that are there.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name != "cache")
            .collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("millstream").unwrap();
        command
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("COLUMNS")
            .args(arguments);
        command
    }

    /// Runs the command, which must succeed, and returns its standard output.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    }

    /// Runs the command, which must fail with a message, and returns the message.
    pub(crate) fn fail(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).assert().failure();
        let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(message.contains("error: "), "{message}");
        assert!(!message.contains("panicked"), "{message}");
        message
    }
}

/// Whether set-up could fetch OpenVINO for this machine.
pub(crate) fn has_openvino() -> bool {
    std::env::var_os("OPENVINO_INSTALL_DIR").is_some_and(|folder| Path::new(&folder).exists())
}

/// Six convolutions of 3x3 with a branch in the middle.
pub(crate) fn builder() -> ModelBuilder {
    let mut builder = ModelBuilder::new("small");
    let mut value = builder.input("image", [1, 8, 16, 16]);
    for layer in 0..6_usize {
        let elements = (0..8 * 8 * 9).map(|index| ((index * 31 + layer * 7) % 17) as f32 / 17.0 - 0.5).collect();
        let filter = builder.weight("filter", &Weight::from_f32([8, 8, 3, 3], elements));
        let made = builder.node_with("Conv", &[&value, &filter], Attributes::new().ints("pads", &[1; 4]));
        let made = builder.node("Tanh", &[&made]);
        value = if layer == 3 { builder.node("Add", &[&made, &value]) } else { made };
    }
    builder.output(&value);
    builder
}

/// The model's bytes as a file has them.
pub(crate) fn bytes(model: &Model) -> Vec<u8> {
    model.segment(model.graph().order(), WeightStorage::Inline).unwrap().bytes
}

/// Writes the small model as `small.onnx`.
pub(crate) fn small_model(workplace: &Workplace) -> PathBuf {
    workplace.write("small.onnx", bytes(&builder().build().unwrap()))
}

/// A text without the ends of its lines: long ones are broken.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
