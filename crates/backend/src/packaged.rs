//! Where a package puts libraries that a program loads.

use std::path::{Path, PathBuf};

/// The folder `lib` beside the folder of this program's own file, whatever links it was started by: `/opt/millstream/lib` for
/// `/opt/millstream/bin/millstream`. It need not exist.
pub fn library_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    beside(&program.canonicalize().unwrap_or(program))
}

fn beside(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join("lib"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_stand_beside_the_programs_folder() {
        assert_eq!(beside(Path::new("/opt/millstream/bin/millstream")), Some(PathBuf::from("/opt/millstream/lib")));
        assert_eq!(beside(Path::new("/millstream")), None);
        assert!(library_folder().is_some_and(|folder| folder.ends_with("lib") && folder.is_absolute()));
    }
}
