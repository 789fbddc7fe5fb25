//! Recorded sysfs trees.

use std::fs;
use std::path::PathBuf;

use millstream_board::Board;
use millstream_machine::detect_at;
use tempfile::TempDir;

/// Lays a recorded tree out on disk.
pub(crate) fn tree(name: &str) -> TempDir {
    let recorded = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/sysfs/{name}.txt"));
    let root = TempDir::new().unwrap();
    for line in fs::read_to_string(recorded).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (path, content) = line.split_once(" = ").unwrap();
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{content}\n")).unwrap();
    }
    root
}

/// What detection makes of a recorded tree.
pub(crate) fn detect(name: &str) -> Board {
    detect_at(tree(name).path(), None).unwrap()
}
