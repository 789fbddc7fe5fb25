//! The library as it is built, programs that are linked with it, and small networks.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use millstream_onnx::{Attributes, ModelBuilder, Weight, WeightStorage};
use tempfile::TempDir;

/// A compiler with what it is strict about.
#[derive(Clone, Copy)]
pub(crate) enum Language {
    C,
    Cpp,
}

/// A folder for one test, with a cache of its own.
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

    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Compiles a file of this crate and links it with the library in a folder, which it remembers.
    pub(crate) fn compile(&self, language: Language, source: &str, library: &Path) -> PathBuf {
        let rpath = format!("-Wl,-rpath,{}", library.display());
        self.compile_with(language, source, &["-L", library.to_str().unwrap(), "-lmillstream", &rpath])
    }

    /// Compiles a file of this crate in C and links the static library into it, with what that needs of the system, and
    /// the solver where it is a library of its own.
    pub(crate) fn compile_static(&self, source: &str) -> PathBuf {
        let archive = library().join("libmillstream.a");
        let solver = solver();
        let words = std::iter::once(archive.to_str().unwrap()).chain(solver.split_whitespace());
        let words: Vec<&str> = words.chain(["-lstdc++", "-lm", "-lpthread", "-ldl"]).collect();
        self.compile_with(Language::C, source, &words)
    }

    fn compile_with(&self, language: Language, source: &str, linked: &[&str]) -> PathBuf {
        let (compiler, standard) = match language {
            Language::C => ("cc", "-std=c99"),
            Language::Cpp => ("c++", "-std=c++17"),
        };
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.path(Path::new(source).file_stem().unwrap().to_str().unwrap());
        let mut command = Command::new(compiler);
        command.args([standard, "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread", "-I"]);
        command.arg(crate_folder.join("include")).arg(crate_folder.join(source)).arg("-o").arg(&program).args(linked);
        let output =
            command.output().unwrap_or_else(|error| panic!("a compiler for C and C++ is needed: {compiler}: {error}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    }

    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env("XDG_CACHE_HOME", self.path("cache"));
        // Cargo names its own folders, which would come before the one that the program remembers.
        command.env_remove("LD_LIBRARY_PATH");
        command
    }

    /// Runs a program, which must succeed, and returns what it printed.
    pub(crate) fn succeed(&self, program: &Path, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Whatever a program printed.
pub(crate) fn told(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    format!("{}\n{stdout}{stderr}", output.status)
}

/// Where it is set, the folder in which the library was built before the tests.
const BUILT: &str = "MILLSTREAM_C_LIBRARY";

/// The folder with the library, which cargo builds for no test by itself.
pub(crate) fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        if let Some(built) = std::env::var_os(BUILT) {
            return PathBuf::from(built);
        }
        let test_program = std::env::current_exe().unwrap();
        let folder = test_program.parent().and_then(Path::parent).unwrap().to_owned();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            profile => profile,
        };
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--profile", profile, "--target-dir"]);
        let output = build.arg(folder.parent().unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
        assert!(folder.join("libmillstream.so").is_file() || folder.join("libmillstream.dylib").is_file());
        folder
    })
}

/// What pkg-config says of the solver that the library was linked with; nothing if that was compiled into it.
fn solver() -> String {
    let variable =
        |name: &str| std::env::var_os(name).map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path));
    let Some((pkg_config, path)) = variable("HOST_PKG_CONFIG").zip(variable("HOST_PKG_CONFIG_PATH")) else {
        return String::new();
    };
    let output = Command::new(pkg_config).args(["--libs", "highs"]).env("PKG_CONFIG_PATH", path).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8(output.stdout).unwrap())
}

/// Six convolutions of 3x3 with a branch in the middle; sums are exact nowhere, so that results tell.
pub(crate) fn small_network() -> Vec<u8> {
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
    let model = builder.build().unwrap();
    model.segment(model.graph().order(), WeightStorage::Inline).unwrap().bytes
}
