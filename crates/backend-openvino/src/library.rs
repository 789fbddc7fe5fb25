//! Finding and loading the library.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use openvino::Core;

use crate::device_ids::CPU;
use crate::error::OpenVinoError;
use crate::lock::lock;
use crate::versions::{SUPPORTED_YEARS, VARIABLE};

/// Where libraries are in the folder that the variable names: there, as in the Python package, and as pip installs that
/// package.
const PLACES: [&str; 3] = ["", "libs", "openvino/libs"];
/// The library of the C interface, with a version behind it or without.
const LIBRARY: &str = "libopenvino_c.so";
/// What is said of a library without the plug-in for the cores, as of one that was not copied in whole.
const NO_CORES: &str = "it has no plug-in for CPUs beside it, such as libopenvino_intel_cpu_plugin.so";
/// A function that every such library has; its name stands in the file.
const FUNCTION: &[u8] = b"ov_get_openvino_version\0";

/// The loaded OpenVINO library. Cloning shares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenVino {
    version: Arc<str>,
}

/// The library can be loaded once per process.
static LOADED: Mutex<Option<OpenVino>> = Mutex::new(None);

impl OpenVino {
    /// Loads OpenVINO, or returns what was loaded before.
    ///
    /// The library keeps the affinity of the thread that uses it first, and moves every thread that computes later to
    /// those cores. So the first to use it is a thread made for that here, which may run on all cores; who calls this
    /// may be pinned.
    ///
    /// # Errors
    /// [`OpenVinoError::Missing`], [`OpenVinoError::NotLoaded`] or [`OpenVinoError::WrongVersion`].
    pub fn load() -> Result<Self, OpenVinoError> {
        let mut loaded = lock(&LOADED);
        if let Some(library) = &*loaded {
            return Ok(library.clone());
        }
        let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        let path = find(named.as_deref(), millstream_backend::library_folder().as_deref())?;
        check_file(&path)?;
        let not_loaded = |detail: String| OpenVinoError::NotLoaded { path: path.clone(), detail };

        let load = || {
            millstream_machine::spread_current_thread();
            openvino_sys::library::load_from(&path).map_err(|detail| match version_in(&detail) {
                Some(version) => OpenVinoError::WrongVersion { path: path.clone(), version: version.to_owned() },
                None => not_loaded(detail),
            })?;
            let version = openvino::version().build_number;
            if !is_supported(&version) {
                return Err(OpenVinoError::WrongVersion { path: path.clone(), version });
            }
            let library = Self { version: short(&version).into() };
            let core = working_core()?;
            let devices = core.available_devices().map_err(|error| no_devices(&error))?;
            if !devices.iter().any(|device| device.as_ref() == CPU) {
                return Err(not_loaded(NO_CORES.to_owned()));
            }
            Ok(library)
        };
        let first = thread::scope(|scope| scope.spawn(load).join());
        let library = first.map_err(|_| not_loaded("it is not what it seems to be".to_owned()))??;
        *loaded = Some(library.clone());
        Ok(library)
    }

    /// Its version, such as `2026.4.1`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// The library's engine, which can say what devices there are only if it works.
pub(crate) fn working_core() -> Result<Core, OpenVinoError> {
    let core = Core::new().map_err(|error| no_devices(&error))?;
    core.available_devices().map_err(|error| no_devices(&error))?;
    Ok(core)
}

/// Why it can't be said which devices there are.
pub(crate) fn no_devices(error: &dyn std::fmt::Display) -> OpenVinoError {
    OpenVinoError::Failed { what: "OpenVINO can't say which devices there are", detail: error.to_string() }
}

/// The library's file: in the folder that was named, or if none was, beside this program where packages have libraries;
/// or else where the system has it.
fn find(named: Option<&Path>, packaged: Option<&Path>) -> Result<PathBuf, OpenVinoError> {
    let folder = named.or(packaged);
    let known = folder.and_then(|folder| PLACES.iter().find_map(|place| in_folder(&folder.join(place))));
    if let Some(file) = known {
        return Ok(file);
    }
    openvino_sys::library::find().ok_or_else(|| {
        let looked = match (named, packaged) {
            (Some(folder), _) => {
                format!("{LIBRARY} is not in {} ({VARIABLE}), nor in the system's folders", folder.display())
            }
            (None, Some(folder)) => format!(
                "{VARIABLE} is not set, and {LIBRARY} is neither in {} nor in the system's folders",
                folder.display()
            ),
            (None, None) => format!("{VARIABLE} is not set, and {LIBRARY} is not in the system's folders"),
        };
        OpenVinoError::Missing { looked }
    })
}

/// The library in a folder, where it may have a version behind its name; the last by name if there are several.
fn in_folder(folder: &Path) -> Option<PathBuf> {
    let plain = folder.join(LIBRARY);
    if plain.is_file() {
        return Some(plain);
    }
    let files = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let is_library = |file: &PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.strip_prefix(LIBRARY).is_some_and(|rest| rest.starts_with('.')) && file.is_file()
    };
    files.filter(is_library).max()
}

/// Whether the file is the library at all: the functions of another one would be missing only when they are called.
fn check_file(path: &Path) -> Result<(), OpenVinoError> {
    let not_loaded = |detail: String| OpenVinoError::NotLoaded { path: path.to_owned(), detail };
    let bytes = fs::read(path).map_err(|error| not_loaded(error.to_string()))?;
    if bytes.windows(FUNCTION.len()).any(|window| window == FUNCTION) {
        Ok(())
    } else {
        Err(not_loaded("it has none of OpenVINO's functions".to_owned()))
    }
}

/// The version that the library `openvino` names when it finds one too old.
fn version_in(detail: &str) -> Option<&str> {
    detail.starts_with("OpenVINO version is too old").then(|| detail.rsplit(": ").next().map_or(detail, short))
}

fn is_supported(version: &str) -> bool {
    let year = version.split('.').next().and_then(|year| year.parse().ok());
    year.is_some_and(|year| SUPPORTED_YEARS.contains(&year))
}

/// A version without what tells builds apart: `2026.4.1` of `2026.4.1-22982-e213a147257-releases/2026/4`.
fn short(version: &str) -> &str {
    version.split('-').next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_library_is_found_as_packages_lay_it_out() {
        for (place, name) in
            [("", LIBRARY), ("libs", "libopenvino_c.so.2641"), ("openvino/libs", "libopenvino_c.so.2700")]
        {
            let folder = tempfile::tempdir().unwrap();
            let inner = folder.path().join(place);
            fs::create_dir_all(&inner).unwrap();
            fs::write(inner.join("libopenvino_c.sock"), "").unwrap();
            fs::write(inner.join("libopenvino_c.so.2600"), "").unwrap();
            fs::write(inner.join(name), "").unwrap();
            assert_eq!(find(Some(folder.path()), None).unwrap(), inner.join(name));
            assert_eq!(find(None, Some(folder.path())).unwrap(), inner.join(name));
            let other = tempfile::tempdir().unwrap();
            assert_eq!(find(Some(folder.path()), Some(other.path())).unwrap(), inner.join(name));
        }
    }

    #[test]
    fn another_library_is_told_before_it_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(LIBRARY);
        assert!(matches!(check_file(&file), Err(OpenVinoError::NotLoaded { .. })), "there is none");
        fs::write(&file, [0; 1000]).unwrap();
        let error = check_file(&file).unwrap_err().to_string();
        assert!(error.contains("none of OpenVINO's functions") && error.contains(VARIABLE), "{error}");
        fs::write(&file, [&[0; 99][..], FUNCTION, &[0; 9]].concat()).unwrap();
        assert_eq!(check_file(&file), Ok(()));
    }

    #[test]
    fn versions_are_told_apart() {
        let whole = "2026.4.1-22982-e213a147257-releases/2026/4";
        assert_eq!((is_supported(whole), short(whole)), (true, "2026.4.1"));
        for other in ["2025.4.0-1-a", "2027.0.0-1-a", "", "custom_build"] {
            assert!(!is_supported(other), "{other}");
        }
        let old =
            "OpenVINO version is too old (see https://github.com/intel/openvino-rs/issues/167): 2024.6.0-17404-abc";
        assert_eq!((version_in(old), version_in("something else")), (Some("2024.6.0"), None));
    }
}
