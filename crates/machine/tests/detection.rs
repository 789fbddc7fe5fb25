//! Detection on recorded sysfs trees.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod recorded;

use std::path::Path;

use millstream_board::{Board, CoreId};
use millstream_machine::{MachineError, detect_at};
use recorded::{detect, tree};

/// `label: core type x cores, capacity, megahertz, outermost cache`, one line a cluster.
fn summary(board: &Board) -> String {
    let mut lines = vec![board.name().to_owned()];
    for cluster in board.clusters() {
        let cores: Vec<u32> = cluster.cores.iter().map(|core| core.id.0).collect();
        let megahertz = cluster.operating_points.last().map(|point| point.hertz / 1_000_000);
        let cache = cluster.caches.last().map(|cache| (cache.level, cache.bytes >> 10, cache.shared_by));
        lines.push(format!(
            "{}: {} {cores:?}, capacity {}, {megahertz:?} MHz, cache {cache:?}",
            cluster.label,
            cluster.core_type.as_deref().unwrap_or("?"),
            cluster.capacity
        ));
    }
    lines.join("\n")
}

#[test]
fn every_recorded_board_is_recognised() {
    let names = ["hikey-970", "khadas-vim3", "rk3588", "raspberry-pi-5", "jetson-tx2", "alder-lake-laptop", "plain-vm"];
    let summaries: Vec<String> = names.iter().map(|name| summary(&detect(name))).collect();
    insta::assert_snapshot!(summaries.join("\n\n"));
}

#[test]
fn cores_outside_the_cpuset_are_left_out() {
    let allowed = [CoreId(0), CoreId(5), CoreId(6)];
    let board = detect_at(tree("hikey-970").path(), Some(&allowed)).unwrap();
    let labels: Vec<(&str, usize)> =
        board.clusters().iter().map(|cluster| (cluster.label.as_str(), cluster.cores.len())).collect();
    assert_eq!(labels, [("B", 2), ("s", 1)]);
}

#[test]
fn when_the_first_hyper_thread_is_not_allowed_its_sibling_stands_in() {
    let board = detect_at(tree("alder-lake-laptop").path(), Some(&[CoreId(1), CoreId(2), CoreId(3)])).unwrap();
    assert_eq!(board.cores().map(|core| core.id).collect::<Vec<_>>(), [CoreId(1), CoreId(2)]);
}

/// A number of kilohertz that is no number of hertz: what the system says of the clock is then as good as nothing.
#[test]
fn clocks_beyond_all_numbers_are_no_clocks() {
    let tree = tree("plain-vm");
    let clock = tree.path().join("devices/system/cpu/cpu0/cpufreq");
    std::fs::create_dir_all(&clock).unwrap();
    std::fs::write(clock.join("cpuinfo_max_freq"), "6666666666666666666").unwrap();
    assert!(detect_at(tree.path(), None).unwrap().cores().any(|core| core.id == CoreId(0)));
}

#[test]
fn no_usable_core_is_an_error() {
    assert!(matches!(detect_at(Path::new("/does/not/exist"), None), Err(MachineError::NoCores { .. })));
    let error = detect_at(tree("plain-vm").path(), Some(&[CoreId(9)])).unwrap_err();
    assert!(error.to_string().contains("9"), "{error}");
}

#[test]
fn this_machine_has_cores() {
    assert!(millstream_machine::detect().unwrap().cores().count() >= 1);
}

#[test]
fn recorded_boards_are_what_detection_makes_of_them() {
    for name in ["hikey-970", "khadas-vim3", "rk3588", "raspberry-pi-5", "alder-lake-laptop"] {
        let (file, found) = (fixture(name), detect(name));
        assert_eq!(file.name(), found.name());
        let clusters = |board: &Board| -> Vec<_> {
            let described = |cluster: &millstream_board::Cluster| {
                let cores: Vec<u32> = cluster.cores.iter().map(|core| core.id.0).collect();
                (cluster.label.clone(), cluster.core_type.clone(), cluster.capacity, cores)
            };
            board.clusters().iter().map(described).collect()
        };
        assert_eq!(clusters(&file), clusters(&found), "{name}");
    }
}

/// A board file that comes with the project.
fn fixture(name: &str) -> Board {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/boards/{name}.json"));
    Board::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}
