//! Files that a command reads and writes: no two of them may be the same, or one would be lost.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The files that a command names, with the flags that name them.
#[derive(Default)]
pub(crate) struct NamedFiles {
    read: Vec<(&'static str, PathBuf)>,
    written: Vec<(&'static str, PathBuf)>,
}

impl NamedFiles {
    pub(crate) fn reads<'a>(mut self, flag: &'static str, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        self.read.extend(paths.into_iter().map(|path| (flag, path.to_owned())));
        self
    }

    /// Models of the zoo are no files.
    pub(crate) fn reads_models<'a>(self, models: impl IntoIterator<Item = &'a str>) -> Self {
        let files = models.into_iter().filter(|model| !model.starts_with("zoo:"));
        self.reads("--model", files.map(Path::new))
    }

    /// Files of frames, each after the name of its input where it has one.
    pub(crate) fn reads_inputs(self, inputs: &[String]) -> Self {
        let path = |input: &String| PathBuf::from(input.split_once('=').map_or(input.as_str(), |(_, path)| path));
        let paths: Vec<PathBuf> = inputs.iter().map(path).collect();
        self.reads("--input", paths.iter().map(PathBuf::as_path))
    }

    pub(crate) fn writes<'a>(mut self, flag: &'static str, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        self.written.extend(paths.into_iter().map(|path| (flag, path.to_owned())));
        self
    }

    /// Refuses a file that is written and named once more. Devices and pipes may be named as often as one likes.
    pub(crate) fn check(&self) -> Result<()> {
        for (place, (flag, path)) in self.written.iter().enumerate() {
            let Some(written) = identity(path) else { continue };
            let others = self.written.iter().skip(place + 1).chain(&self.read);
            for (other_flag, other) in others {
                if identity(other).as_ref() == Some(&written) {
                    bail!("{flag} {} is the file that {other_flag} names: name another one", path.display());
                }
            }
        }
        Ok(())
    }
}

/// Which file a name stands for, whether it exists or not; `None` for what is no regular file, and for a name in no
/// folder.
fn identity(path: &Path) -> Option<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(file) => file.is_file().then(|| linked(&file).unwrap_or(file)),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
        }
    }
}

/// The same for all names of one file.
#[cfg(unix)]
fn linked(file: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(file).ok()?;
    (metadata.nlink() > 1).then(|| PathBuf::from(format!("{}:{}", metadata.dev(), metadata.ino())))
}

#[cfg(not(unix))]
fn linked(_: &Path) -> Option<PathBuf> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn one_file_by_several_names_is_refused_where_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        std::fs::hard_link(path("file"), path("hard")).unwrap();
        std::os::unix::fs::symlink("file", path("soft")).unwrap();
        std::fs::create_dir(path("in")).unwrap();
        let files = |read: &str, written: [&str; 2]| {
            let [first, second] = written.map(path);
            NamedFiles::default()
                .reads("--model", [path(read).as_path()])
                .writes("--csv", [first.as_path()])
                .writes("--trace", [second.as_path()])
                .check()
                .map_err(|error| error.to_string())
        };
        for same in ["file", "hard", "soft", "in/../file"] {
            let message = files(same, ["new", "file"]).unwrap_err();
            assert!(message.starts_with("--trace") && message.contains("--model"), "{message}");
        }
        let message = files("file", ["new", "in/../new"]).unwrap_err();
        assert!(message.starts_with("--csv") && message.contains("--trace"), "{message}");
        assert_eq!(files("file", ["new", "other"]), Ok(()));
        assert_eq!(files("file", ["/dev/null", "/dev/null"]), Ok(()));
    }
}
