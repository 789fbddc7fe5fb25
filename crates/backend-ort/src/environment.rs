//! The ONNX Runtime library of this process: loading, version, plug-ins and telemetry.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use millstream_backend::BackendError;
use ort::LoadDynamicError;
use ort::logging::LogLevel;
use ort::session::Session;
use ort::session::builder::SessionBuilder;

use crate::library::Library;
use crate::lock::lock;

/// The loaded ONNX Runtime library. Cloning shares it.
#[derive(Clone)]
pub struct Environment {
    pub(crate) inner: Arc<ort::environment::Environment>,
    /// Tells one build of the library from another.
    pub(crate) build: Arc<str>,
    /// Its file.
    library: Arc<Path>,
    /// Files of plug-ins that are loaded; they stay so.
    plugins: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// The environment variable that, set to 1, lets ONNX Runtime collect usage data, which some of its builds do unless
/// told not to. They are told not to otherwise.
pub const TELEMETRY: &str = "MILLSTREAM_ORT_TELEMETRY";

/// The library can be loaded once per process.
static LOADED: Mutex<Option<Environment>> = Mutex::new(None);

impl Environment {
    /// The library's version, such as `1.31.1`, if its file tells: what the interface tells is how it was built.
    pub fn version(&self) -> Option<String> {
        const MARK: &[u8] = b"VERS_";
        let bytes = std::fs::read(&*self.library).ok()?;
        let after = bytes.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
        let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let version = bytes.get(after..)?.iter().copied().take_while(|byte| is_part(byte)).collect();
        String::from_utf8(version).ok().filter(|version| !version.is_empty())
    }

    /// Loads ONNX Runtime, or returns what was loaded before.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if the library is not found or is no ONNX Runtime.
    pub fn load() -> Result<Self, BackendError> {
        let mut loaded = lock(&LOADED);
        if let Some(environment) = &*loaded {
            return Ok(environment.clone());
        }

        let library = Library::find();
        let unavailable = |detail: String| BackendError::Unavailable {
            backend: "onnxruntime".to_owned(),
            detail: library.unavailable(&detail),
        };
        library.check().map_err(unavailable)?;
        let wants_telemetry = std::env::var(TELEMETRY).is_ok_and(|value| value == "1");
        if !wants_telemetry {
            opt_out_of_telemetry();
        }

        let builder = ort::environment::init_from(&library.name).map_err(|error| unavailable(not_loaded(&error)))?;
        let inner = builder
            .with_name("millstream")
            .with_telemetry(wants_telemetry)
            .build()
            .map_err(|error| unavailable(error.to_string()))?;
        // Errors are returned, and whoever asked for the session reports them.
        inner.set_log_level(LogLevel::Fatal);

        // Builds that were not made from a repository name no commit, so that the size has to tell them apart.
        let bytes = std::fs::metadata(&library.name).map_or(0, |data| data.len());
        let build = format!("{}, {bytes} bytes", ort::info()).into();
        let library = library.name.as_path().into();
        let environment = Self { inner: Arc::new(inner), build, library, plugins: Arc::default() };
        *loaded = Some(environment.clone());
        Ok(environment)
    }

    /// Settings of a session, as they are without any.
    pub(crate) fn session_builder(&self) -> Result<SessionBuilder, String> {
        Session::builder(&self.inner).map_err(|error| error.to_string())
    }

    /// Loads a plug-in that brings providers, unless it is loaded. Some call their provider as the caller calls the
    /// plug-in.
    pub(crate) fn register_plugin(&self, name: &str, library: &Path) -> Result<(), String> {
        let mut plugins = lock(&self.plugins);
        let file = library.canonicalize().unwrap_or_else(|_| library.to_owned());
        if plugins.contains(&file) {
            return Ok(());
        }
        self.inner.register_ep_library(name, &file).map_err(|error| {
            let path = library.display();
            if !library.is_file() {
                return format!(
                    "there is no file {path} here, and no library of this name where ONNX Runtime looks: {error}; give \
                     `library` of the provider the plug-in's whole path"
                );
            }
            format!(
                "{path} is no plug-in that this ONNX Runtime can use: {error}; look whether it is made for this version"
            )
        })?;
        plugins.insert(file);
        Ok(())
    }
}

/// Why a library could not be loaded, and what to do about it.
fn not_loaded(error: &LoadDynamicError) -> String {
    let oldest = format!("1.{}", ort::MINOR_VERSION);
    match error {
        LoadDynamicError::BadVersion { version_str, path } => format!(
            "{} is ONNX Runtime {version_str}, and this program needs {oldest} or newer, such as that of pip's \
             onnxruntime>={oldest}",
            path.display()
        ),
        other => other.to_string(),
    }
}

/// Tells ONNX Runtime to collect nothing. The switch of its interface comes too late: an identifier of the device is
/// written, and an event sent, before there is anything to switch. It reads this variable while the environment is
/// made.
#[expect(unsafe_code, reason = "the library can be told in no other way")]
fn opt_out_of_telemetry() {
    const OPT_OUT: &str = "ORT_DISABLE_TELEMETRY";
    if std::env::var_os(OPT_OUT).is_none() {
        // SAFETY: Rust's own readers of the environment take the same lock. Only foreign code that reads it on another
        // thread at this very moment could see it change; whoever runs such code sets the variable before, and then
        // nothing is changed here.
        unsafe { std::env::set_var(OPT_OUT, "1") };
    }
}
