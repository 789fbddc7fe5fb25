//! The board files that come with the project.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use millstream_board::{AcceleratorKind, Board};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boards")
}

fn read(name: &str) -> Board {
    Board::from_json(&fs::read_to_string(folder().join(format!("{name}.json"))).unwrap()).unwrap()
}

#[test]
fn all_of_them_are_valid_and_have_their_sources_told() {
    let sources = fs::read_to_string(folder().join("README.md")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let board = read(name);
            assert!(board.processor_classes().count() >= 2, "{name}");
            let is_told = sources.contains(&format!("`{name}.json`"))
                || name.rsplit_once('-').is_some_and(|(family, _)| {
                    sources.contains(&format!("`{family}-*.json`")) || sources.contains(&format!("`{family}-1.json`"))
                });
            assert!(is_told, "the sources of {name} are missing");
            count += 1;
        }
    }
    assert!(count >= 30, "{count} boards are left");
}

#[test]
fn governor_settings_change_which_cluster_is_the_fastest() {
    let fastest = |setting: u32| read(&format!("jetson-tx2-{setting}")).clusters()[0].core_type.clone().unwrap();
    assert_eq!([1, 2, 3, 4].map(fastest), ["Denver 2", "Cortex-A57", "Denver 2", "Denver 2"]);
}

#[test]
fn accelerators_have_their_processing_elements() {
    for family in ["ultra96", "zed", "zcu104", "zcu106"] {
        for elements in [2, 4, 8] {
            let board = read(&format!("{family}-{elements}pe"));
            let accelerator = &board.accelerators()[0];
            assert_eq!((accelerator.kind, accelerator.processing_elements), (AcceleratorKind::Fpga, Some(elements)));
        }
    }
}
