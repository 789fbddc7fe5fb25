//! Everything that is held to the papers' numbers agrees with them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_reproduce::{Paper, Reproduction, reproduce};

fn check(paper: Paper, claims: usize) -> Reproduction {
    let reproduction = reproduce(paper).unwrap();
    let misses: Vec<_> = reproduction.misses().collect();
    assert!(misses.is_empty(), "{misses:#?}");
    let found: usize = reproduction.sections.iter().map(|section| section.claims.len()).sum();
    assert_eq!(found, claims, "{paper}");
    for figure in &reproduction.figures {
        assert!(figure.svg.contains("</svg>") && figure.file.ends_with(".svg"));
    }
    reproduction
}

fn text(reproduction: &Reproduction) -> String {
    let section = |section: &millstream_reproduce::Section| format!("{}\n{}\n", section.title, section.table);
    reproduction.sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

#[test]
fn co_scheduling() {
    // 32 errors of table 4; for each of 4 platforms 2 speedups with 2, 4 and 8 processing elements, and 1 more with 2.
    let reproduction = check(Paper::CoScheduling, 32 + 4 * (2 + 2 + 2 + 1));
    insta::assert_snapshot!(text(&reproduction));
    assert_eq!(reproduction.figures.len(), 1);
}

#[test]
fn granularity() {
    let reproduction = check(Paper::Granularity, 3 + 3 + 2);
    insta::assert_snapshot!(text(&reproduction));
    assert_eq!(reproduction.figures.len(), 1);
}

#[test]
fn pipe_it() {
    let reproduction = check(Paper::PipeIt, 5 + 1);
    insta::assert_snapshot!(text(&reproduction));
}

#[test]
fn papers_are_found_by_name() {
    for paper in Paper::ALL {
        assert_eq!(paper.to_string().parse::<Paper>().unwrap(), paper);
    }
    assert!("pipe-dream".parse::<Paper>().unwrap_err().to_string().contains("co-scheduling, granularity, pipe-it"));
}
