//! Which file the library is loaded from.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use crate::whole_library::fault;

/// The variable that names the library.
pub(crate) const VARIABLE: &str = "ORT_DYLIB_PATH";

/// The library's file, or a name that the system looks up, and where it was looked for before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Library {
    pub(crate) name: PathBuf,
    /// A package has it here, but this is none.
    missing: Option<PathBuf>,
}

impl Library {
    /// What the variable names; else the library that a package has beside the program; else what the system finds by
    /// its name.
    pub(crate) fn find() -> Self {
        let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        Self::among(named, millstream_backend::library_folder().as_deref())
    }

    fn among(named: Option<PathBuf>, packaged: Option<&Path>) -> Self {
        if let Some(name) = named {
            return Self { name, missing: None };
        }
        match packaged.map(|folder| folder.join(file_name())) {
            Some(file) if file.is_file() => Self { name: file, missing: None },
            missing => Self { name: file_name().into(), missing },
        }
    }

    /// Says what is wrong with a file before it is loaded; names that the system looks up are left to the system.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.name.display().to_string().contains(MAIN_SEPARATOR) {
            return Ok(());
        }
        if self.name.is_dir() {
            return Err(format!("{} is a folder, not the library's file", self.name.display()));
        }
        if !self.name.is_file() {
            return Err(format!("there is no file {}", self.name.display()));
        }
        fault(&self.name).map_or(Ok(()), Err)
    }

    /// Why it can't be used, with where it was looked for and what to do.
    pub(crate) fn unavailable(&self, detail: &str) -> String {
        match &self.missing {
            Some(file) => format!(
                "there is no {}, and by its name: {detail}; put the library there, or set {VARIABLE} to its file",
                file.display()
            ),
            None => format!("{detail}; set {VARIABLE} to the library"),
        }
    }
}

fn file_name() -> &'static str {
    if cfg!(target_os = "macos") {
        "libonnxruntime.dylib"
    } else if cfg!(windows) {
        "onnxruntime.dll"
    } else {
        "libonnxruntime.so"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_variable_comes_before_the_package_and_that_before_the_system() {
        let package = tempfile::tempdir().unwrap();
        let packaged = package.path().join(file_name());
        let found = |named: Option<&str>| Library::among(named.map(PathBuf::from), Some(package.path()));
        assert_eq!(found(None), Library { name: file_name().into(), missing: Some(packaged.clone()) });
        std::fs::write(&packaged, "").unwrap();
        assert_eq!(found(None), Library { name: packaged, missing: None });
        assert_eq!(found(Some("/else/where.so")).name, Path::new("/else/where.so"));
        assert_eq!(Library::among(None, None).name, Path::new(file_name()));
    }

    #[test]
    fn a_missing_library_is_told_with_the_place_and_the_remedy() {
        let package = tempfile::tempdir().unwrap();
        let message = Library::among(None, Some(package.path())).unavailable("the loader has none");
        let place = package.path().join(file_name()).display().to_string();
        for part in [place.as_str(), "the loader has none", VARIABLE, "put the library there"] {
            assert!(message.contains(part), "{message} does not say {part}");
        }
        let named = Library::among(Some(package.path().join("none.so")), None);
        assert!(named.check().unwrap_err().contains("none.so"));
        let folder = Library::among(Some(package.path().to_owned()), None);
        assert!(folder.check().unwrap_err().ends_with("is a folder, not the library's file"));
    }
}
