//! What is copied to the board: the package, the model with the files of its weights, and frames.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use millstream::onnx::weight_files;
use tempfile::TempDir;

/// The last file: if it has arrived, all others have.
pub(super) const LAST: &str = "complete";
/// The package's name on the board.
pub(super) const PACKAGE: &str = "package.tar.gz";
/// A package takes so many times its size, unpacked and packed.
const UNPACKED: u64 = 5;

/// Links to all that is copied, laid out as it will be on the board.
pub(super) struct Freight {
    folder: TempDir,
    /// How the model is named on the board, from the folder `work`.
    pub(super) model: String,
    /// How frames are.
    pub(super) inputs: Vec<String>,
    /// What it takes there, roughly, in bytes.
    pub(super) bytes: u64,
    /// What is copied, in bytes.
    pub(super) copied_bytes: u64,
}

impl Freight {
    /// Gathers the files.
    pub(super) fn gather(archive: &Path, model: &str, inputs: &[String]) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for what is copied")?;
        let mut freight = Self { folder, model: model.to_owned(), inputs: Vec::new(), bytes: 0, copied_bytes: 0 };
        freight.add(archive, Path::new(PACKAGE))?;
        freight.bytes *= UNPACKED;
        if !model.starts_with("zoo:") {
            freight.model = freight.add_model(Path::new(model))?;
        }
        for (number, input) in inputs.iter().enumerate() {
            let (name, path) = input.split_once('=').map_or((None, input.as_str()), |(name, path)| (Some(name), path));
            let to = freight.add_named(Path::new(path), &format!("inputs/{number}"))?;
            freight.inputs.push(name.map_or_else(|| to.clone(), |name| format!("{name}={to}")));
        }
        fs::write(freight.folder.path().join(LAST), "").context("cannot write what is copied")?;
        Ok(freight)
    }

    fn add_model(&mut self, model: &Path) -> Result<String> {
        let parent = model.parent().unwrap_or(Path::new(""));
        for file in weight_files(model).map_err(millstream::Error::from)? {
            self.add(&parent.join(&file), &Path::new("model").join(&file))?;
        }
        self.add_named(model, "model")
    }

    /// Adds a file or folder by its own name, below a folder; returns how it is named from the folder `work`.
    fn add_named(&mut self, path: &Path, below: &str) -> Result<String> {
        let Some(name) = path.file_name() else { bail!("{} names no file", path.display()) };
        let Some(name) = name.to_str() else { bail!("the name of {} is not UTF-8: rename it", path.display()) };
        self.add(path, &Path::new(below).join(name))?;
        Ok(format!("../{below}/{name}"))
    }

    fn add(&mut self, path: &Path, to: &Path) -> Result<()> {
        let read = || format!("cannot read {}", path.display());
        let real = fs::canonicalize(path).with_context(read)?;
        let bytes = size(&real).with_context(read)?;
        self.bytes += bytes;
        self.copied_bytes += bytes;
        let link = self.folder.path().join(to);
        let parent = link.parent().unwrap_or(&link);
        fs::create_dir_all(parent)
            .and_then(|()| symlink(&real, &link))
            .with_context(|| format!("cannot link {}", path.display()))
    }

    /// The program that writes it all to its standard output.
    pub(super) fn tar(&self) -> Result<Command> {
        let mut names: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(self.folder.path()).context("cannot read what is copied")? {
            names.push(PathBuf::from(entry.context("cannot read what is copied")?.file_name()));
        }
        names.sort_by_key(|name| (name.as_os_str() == LAST, name.clone()));
        let mut tar = Command::new("tar");
        tar.args(["-c", "-h", "-f", "-", "-C"]).arg(self.folder.path()).args(names);
        Ok(tar)
    }
}

/// The bytes of a file, or of all files in a folder.
fn size(path: &Path) -> std::io::Result<u64> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn files_arrive_by_their_names_and_the_last_one_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("package"), "12345").unwrap();
        fs::create_dir(path("my frames")).unwrap();
        fs::write(path("my frames/1.npy"), "67").unwrap();
        fs::write(path("x.npy"), "8").unwrap();
        let inputs = [format!("image={}", path("my frames").display()), path("x.npy").display().to_string()];
        let freight = Freight::gather(&path("package"), "zoo:squeezenet", &inputs).unwrap();
        assert_eq!(freight.model, "zoo:squeezenet");
        assert_eq!(freight.inputs, ["image=../inputs/0/my frames", "../inputs/1/x.npy"]);
        assert_eq!(
            (freight.bytes, freight.copied_bytes),
            (5 * 5 + 3, 5 + 3),
            "the package is there packed and unpacked"
        );

        let archive = freight.tar().unwrap().output().unwrap().stdout;
        fs::write(path("all.tar"), archive).unwrap();
        let list = Command::new("tar").arg("-tf").arg(path("all.tar")).output().unwrap().stdout;
        let list = String::from_utf8(list).unwrap();
        let names: Vec<&str> = list.lines().filter(|name| !name.ends_with('/')).collect();
        assert_eq!(names, ["inputs/0/my frames/1.npy", "inputs/1/x.npy", PACKAGE, LAST]);
        let missing = Freight::gather(&path("none"), "zoo:squeezenet", &[]);
        assert!(missing.is_err_and(|error| error.to_string().contains("none")));
    }
}
