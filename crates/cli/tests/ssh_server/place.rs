//! A desk and a board that is this computer as well, with a package for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::SshServer;
use crate::support::{Workplace, small_model};

/// Whatever is waited for comes long before.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A package for this computer: the program as it is built, and its engine.
static PACKAGE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let name = format!("millstream-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let engine = std::env::var_os("ORT_DYLIB_PATH").unwrap();
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(engine).canonicalize().unwrap();
    for (place, file) in
        [("bin/millstream", Path::new(env!("CARGO_BIN_EXE_millstream"))), ("lib/libonnxruntime.so", &engine)]
    {
        let link = folder.path().join(&name).join(place);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(file, link).unwrap();
    }
    let archive = folder.path().join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["-c", "-h", "--use-compress-program", "gzip -1", "-f"]).arg(&archive).arg("-C").arg(folder.path());
    assert!(tar.arg(&name).status().unwrap().success());
    (folder, archive)
});

/// A desk with a model, and a board.
pub(crate) struct Place {
    pub(crate) workplace: Workplace,
    pub(crate) server: SshServer,
}

impl Place {
    pub(crate) fn new() -> Option<Self> {
        let (workplace, server) = (Workplace::new(), SshServer::start()?);
        small_model(&workplace);
        Some(Self { workplace, server })
    }

    /// A command for a board, with more words; of a flag that is there as well, they replace the usual one.
    pub(crate) fn arguments(&self, host: &str, more: &[&str]) -> Vec<String> {
        let configuration = self.server.path("config").display().to_string();
        let package = PACKAGE.1.display().to_string();
        let usual = [
            ["--model", "small.onnx"],
            ["--budget", "200ms"],
            ["--frames", "8"],
            ["--ssh-config", &configuration],
            ["--package", &package],
        ];
        let usual = usual.iter().filter(|[flag, _]| !more.contains(flag)).flatten();
        ["deploy", host].iter().chain(usual).chain(more).map(|&word| word.to_owned()).collect()
    }

    pub(crate) fn succeed(&self, more: &[&str]) -> String {
        self.workplace.succeed(&self.arguments("board", more).iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn fail(&self, host: &str, more: &[&str]) -> String {
        self.workplace.fail(&self.arguments(host, more).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Runs for so long that nobody sees its end.
    pub(crate) fn start(&self) -> Child {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_millstream")]);
        command.args(self.arguments("board", &["--frames", "100000000"])).current_dir(self.workplace.path(""));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.workplace.path("log")).unwrap());
        command.spawn().unwrap()
    }

    /// Waits until the network runs on the board.
    pub(crate) fn await_run(&self, child: &mut Child) {
        let begin = Instant::now();
        while self.of_board(" run ").is_empty() {
            let log = || fs::read_to_string(self.workplace.path("log")).unwrap();
            assert!(begin.elapsed() < PATIENCE && child.try_wait().unwrap().is_none(), "{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        // Frames flow by then.
        std::thread::sleep(Duration::from_secs(1));
    }

    /// Processes whose program is in the board's home, with such words in their command.
    pub(crate) fn of_board(&self, words: &str) -> Vec<String> {
        let home = self.server.path("home").display().to_string();
        let processes =
            fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
        let commands = processes.map(|command| String::from_utf8_lossy(&command).replace('\0', " "));
        commands.filter(|command| command.starts_with(&home) && command.contains(words)).collect()
    }

    /// Waits until nothing runs on the board any more, and nothing is left there.
    pub(crate) fn await_nothing(&self, limit: Duration) {
        let begin = Instant::now();
        while !(self.of_board("").is_empty() && self.server.left_behind().is_empty()) {
            let left = (self.of_board(""), self.server.left_behind());
            assert!(begin.elapsed() < limit, "after {:?}, there is still {left:?}", begin.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
