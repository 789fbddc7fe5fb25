//! Files and folders of the workspace, and failures that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::folders::root;

/// What went wrong with a file.
pub(crate) fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| failed(path, &error))
}

/// The source files of a crate, by the name of its folder.
pub(crate) fn sources(name: &str) -> Result<Vec<PathBuf>, Failure> {
    ending(&root().join("crates").join(name).join("src"), ".rs")
}

/// A file's path in the repository, as people read it.
pub(crate) fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

/// Copies a file, or a folder with all that is in it, and makes the folders above it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if from.is_dir() {
        return entries(from)?
            .iter()
            .try_for_each(|entry| copy(entry, &to.join(entry.file_name().unwrap_or_default())));
    }
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    fs::copy(from, to).map(drop).map_err(|error| failed(from, &error))
}

/// What is in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut entries = read().map_err(|error| failed(folder, &error))?;
    entries.sort();
    Ok(entries)
}

/// All that is below a folder but folders, sorted: links as well, which are not followed.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            let is_folder = fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?.is_dir();
            if is_folder { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// Those below a folder whose names end so.
pub(crate) fn ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Failure> {
    Ok(below(folder)?.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn all_that_is_below_a_folder_is_found_and_copied() {
        let told = || -> Result<Vec<String>, Failure> {
            let scratch = Scratch::new("files-test")?;
            let one = scratch.path().join("one");
            let write = |name: &str| {
                let file = scratch.path().join(name);
                fs::write(&file, name).map_err(|error| failed(&file, &error))
            };
            fs::create_dir_all(one.join("in")).map_err(|error| failed(&one, &error))?;
            ["one/z.md", "one/in/a.md", "one/in/b.rs"].into_iter().try_for_each(write)?;
            std::os::unix::fs::symlink("in", one.join("link")).map_err(|error| failed(&one, &error))?;

            let names = |folder: &Path, paths: Vec<PathBuf>| {
                let below = paths.iter().map(|path| path.strip_prefix(folder).unwrap_or(path).display().to_string());
                below.collect::<Vec<_>>().join(" ")
            };
            let two = scratch.path().join("new/two");
            copy(&one, &two)?;
            let read = read(&two.join("in/a.md"))?;
            Ok(vec![
                names(&one, below(&one)?),
                names(&one, ending(&one, ".md")?),
                names(&two, below(&two)?),
                read,
                below(&scratch.path().join("none")).err().map_or_else(String::new, |Failure(message)| message),
            ])
        };

        let told = told().unwrap_or_else(|Failure(message)| vec![message]);
        assert_eq!(told[..2], ["in/a.md in/b.rs link z.md", "in/a.md z.md"], "{told:?}");
        assert_eq!(told[2..4], ["in/a.md in/b.rs link/a.md link/b.rs z.md", "one/in/a.md"], "{told:?}");
        assert!(told[4].contains("none: No such file"), "{told:?}");
    }
}
