//! What a kernel says of its cores.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use millstream_board::Board;
use millstream_machine::{detect_at, parse_cpu_list};
use tempfile::TempDir;

/// Files that detection reads, below the folder of all; `online` says which there are.
const FILES: [&str; 12] = [
    "devices/system/cpu/online",
    "devices/system/cpu/cpu0/cpu_capacity",
    "devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
    "devices/system/cpu/cpu0/cpufreq/related_cpus",
    "devices/system/cpu/cpu0/topology/physical_package_id",
    "devices/system/cpu/cpu0/topology/thread_siblings_list",
    "devices/system/cpu/cpu0/regs/identification/midr_el1",
    "devices/system/cpu/cpu1/cpu_capacity",
    "devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq",
    "devices/system/cpu/cpu1/topology/thread_siblings_list",
    "devices/cpu_core/cpus",
    "firmware/devicetree/base/model",
];

/// A folder with all the folders that the files need.
static FOLDER: LazyLock<Option<TempDir>> = LazyLock::new(|| {
    let folder = TempDir::new().ok()?;
    for path in FILES.iter().map(|file| folder.path().join(file)) {
        fs::create_dir_all(path.parent()?).ok()?;
    }
    Some(folder)
});

/// One line for each file, in the order of [`FILES`]; what is not there is an empty file.
pub(crate) fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(cores) = parse_cpu_list(text)
    {
        assert!(cores.len() <= 4097 * (1 + data.len() / 2), "a list names few cores: {}", cores.len());
    }
    let Some(folder) = &*FOLDER else { return };
    let mut lines = data.split(|&byte| byte == b'\n');
    let paths: Vec<PathBuf> = FILES.iter().map(|file| folder.path().join(file)).collect();
    for path in &paths {
        if fs::write(path, lines.next().unwrap_or_default()).is_err() {
            return;
        }
    }
    if let Ok(board) = detect_at(folder.path(), None) {
        let text = serde_json::to_string(&board.to_document()).unwrap_or_default();
        assert_eq!(Board::from_json(&text).ok(), Some(board), "a detected board can be written and read");
    }
}
