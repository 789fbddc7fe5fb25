use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_backend::BackendError;
use ort::logging::LogLevel;

/// The loaded ONNX Runtime library. Cloning shares it.
#[derive(Clone)]
pub struct Environment {
    pub(crate) inner: Arc<ort::environment::Environment>,
}

/// The library can be loaded once per process.
static LOADED: Mutex<Option<Environment>> = Mutex::new(None);

impl Environment {
    /// Loads ONNX Runtime, or returns what was loaded before.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if the library is not found or is no ONNX Runtime.
    pub fn load() -> Result<Self, BackendError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = &*loaded {
            return Ok(environment.clone());
        }
        let library = std::env::var("ORT_DYLIB_PATH").unwrap_or_else(|_| default_name().to_owned());
        let unavailable = |detail: String| BackendError::Unavailable {
            backend: "onnxruntime".to_owned(),
            detail: format!("{detail}; run through `cargo xtask`, or set ORT_DYLIB_PATH to the library"),
        };
        if library.contains(std::path::MAIN_SEPARATOR) && !Path::new(&library).is_file() {
            return Err(unavailable(format!("there is no file {library}")));
        }
        let builder = ort::environment::init_from(&library).map_err(|error| unavailable(error.to_string()))?;
        let inner = builder.with_name("millstream").build().map_err(|error| unavailable(error.to_string()))?;
        // Errors are returned, and whoever asked for the session reports them.
        inner.set_log_level(LogLevel::Fatal);
        let environment = Self { inner: Arc::new(inner) };
        *loaded = Some(environment.clone());
        Ok(environment)
    }
}

fn default_name() -> &'static str {
    if cfg!(target_os = "macos") {
        "libonnxruntime.dylib"
    } else if cfg!(windows) {
        "onnxruntime.dll"
    } else {
        "libonnxruntime.so"
    }
}
