//! Folders that are there for a while.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;

/// Where it is set, folders stay, to be looked at.
const KEEP: &str = "MILLSTREAM_KEEP";

/// An empty folder that goes, with all that is in it, however its use ends.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one among the system's temporary files; the name says what it is for.
    pub(crate) fn new(name: &str) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("millstream-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::env::var_os(KEEP).is_some() {
            eprintln!("kept: {}", self.0.display());
        } else if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{} could not be removed: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_when_its_use_fails() {
        let mut folder = PathBuf::new();
        let mut fails = || {
            let scratch = Scratch::new("scratch-test")?;
            scratch.path().clone_into(&mut folder);
            fs::write(folder.join("file"), "text").map_err(|error| Failure(error.to_string()))?;
            assert!(folder.is_dir());
            Err::<(), _>(Failure("it fails".to_owned()))
        };
        assert!(fails().is_err_and(|Failure(message)| message == "it fails"));
        assert!(folder.is_absolute() && !folder.exists());
    }
}
