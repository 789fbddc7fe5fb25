//! How many claims could fail and how many hold, paper by paper; and that every miss has its reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_reproduce::{Paper, PaperItem, Reproduction, Selection, reproduce};

/// Its table of papers has the same numbers.
const README: &str = include_str!("../../../README.md");

fn check(paper: Paper, selection: Selection, could_fail: usize, hold: usize) -> Reproduction {
    let reproduction = reproduce(paper, selection).unwrap();
    let faults: Vec<String> = reproduction.faults().map(|(claim, fault)| format!("{claim}: {fault}")).collect();
    assert!(faults.is_empty(), "every miss has a reason, and only misses have one:\n{}", faults.join("\n"));
    let tally = reproduction.tally();
    assert_eq!((tally.could_fail, tally.hold), (could_fail, hold), "{paper}");
    if selection == Selection::default() {
        let row = format!("| `reproduce {paper}` | {hold} of {could_fail} |");
        assert!(README.contains(&row), "README.md lacks: {row}");
    }

    let failed: Vec<_> = reproduction.misses().filter(|claim| !claim.counts()).collect();
    assert!(failed.is_empty(), "checks have no excuse: {failed:#?}");
    for section in &reproduction.sections {
        let shown = section.table.within(80);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{}\n{shown}", section.title());
    }
    for figure in &reproduction.figures {
        assert!(figure.svg.contains("</svg>") && figure.file.ends_with(".svg"));
    }
    reproduction
}

/// A snapshot of each section, so that a number that changes shows which table it is in.
fn assert_sections(paper: Paper, reproduction: &Reproduction) {
    for section in &reproduction.sections {
        let name = format!("{paper} {}", section.item).to_lowercase().replace(", ", "-").replace(' ', "-");
        let table = without_column(&section.table.to_string(), "seconds");
        let text = format!("{}\n{table}\n{}\n", section.title(), section.verdict().join("\n"));
        insta::assert_snapshot!(name, text);
    }
}

/// A printed table without what took other times in every run.
fn without_column(table: &str, name: &str) -> String {
    let cells = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<_>>();
    let Some(left_out) = table.lines().next().and_then(|head| cells(head).iter().position(|cell| cell.trim() == name))
    else {
        return table.to_owned();
    };
    let row = |line: &str| {
        let mut cells = cells(line);
        cells.remove(left_out);
        cells.join("|")
    };
    table.lines().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn co_scheduling() {
    // Table 5: mean, largest, and who waits; table 6: CPU and both; the ends of 7 ranges of figure 10, and of 2 of
    // figure 11.
    let reproduction = check(Paper::CoScheduling, Selection::default(), 3 + 2 + 2 * 7 + 2 * 2, 18);
    assert_sections(Paper::CoScheduling, &reproduction);
    assert_eq!(reproduction.figures.len(), 2);
}

#[test]
fn granularity() {
    // Regions; work and choice of 5 layers; scaling; times of 3 networks at 3 frequencies, their speedups twice, and
    // the energy of 2.
    let claims = 5 + 2 * 5 + 2 + 2 * 9 + 2 * 3 + 2;
    let reproduction = check(Paper::Granularity, Selection::default(), claims, 29);
    assert_sections(Paper::Granularity, &reproduction);
    assert_eq!(reproduction.figures.len(), 1);
}

#[test]
fn pipe_it() {
    // Layers, design points, pipelines; stages and rates of tables IV and VII and their means; 9 different pipelines of
    // tables V and VI; watts and frames per joule; 2 cuts of figure 8, and what figure 9 says of ResNet50.
    let claims = 5 + 1 + 1 + 2 * (2 * 5 + 1) + 9 + 2 * 5 + 2 + 4;
    let reproduction = check(Paper::PipeIt, Selection::default(), claims, 22);
    assert_sections(Paper::PipeIt, &reproduction);
}

#[test]
fn pipe_search() {
    // Table 3, 2 rows of 3 ranges in table 4, without hints in table 5; rank and choice of 4 settings and 3 rates; 10
    // ranks and variations.
    let claims = 6 + 6 + 1 + 2 * 4 + 3 + 2 * 10;
    let reproduction = check(Paper::PipeSearch, Selection::default(), claims, 25);
    assert_sections(Paper::PipeSearch, &reproduction);
}

#[test]
fn shisha() {
    // Figure 4; for each of 3 networks what is found and how much is tried, and the mean; figure 6; figures 7, 8 and 9.
    let reproduction = check(Paper::Shisha, Selection::default(), 4 + 2 * 3 + 1 + 4 + 3, 5);
    assert_sections(Paper::Shisha, &reproduction);
    assert_eq!(reproduction.figures.len(), 6);
}

#[test]
fn para_pipe() {
    // Table I; operators and gap of table III; stages and subgraphs of table II; figures 11, 2, 10, 12 and 13.
    let claims = 2 * 4 + 2 * 4 + 2 * 8 + 7 + 2 + 20 + 4 + 1;
    let reproduction = check(Paper::ParaPipe, Selection::default(), claims, 23);
    assert_sections(Paper::ParaPipe, &reproduction);
    assert_eq!(reproduction.figures.len(), 3);
    // HEFT, CPOP and the coarse program are never better; how long solving takes is for benchmarks.
    assert_eq!(reproduction.slowdowns.len(), 6 * 3);
    for slowdown in &reproduction.slowdowns {
        assert!(slowdown.relative >= 0.0, "{slowdown:?}");
    }
}

#[test]
fn what_is_left_out_is_named_with_the_whole_paper_only() {
    let whole = reproduce(Paper::CoScheduling, Selection::default()).unwrap();
    assert!(whole.left_out.iter().all(|own| !own.what.is_empty() && !own.reason.is_empty()));
    assert!(whole.left_out.iter().any(|own| own.what == "Table 1"));
    let part = reproduce(Paper::CoScheduling, Selection { table: Some(5), figure: None }).unwrap();
    assert!(part.left_out.is_empty());
}

#[test]
fn tables_and_figures_are_selected_by_number() {
    let items = |selection| -> Vec<PaperItem> {
        let sections = reproduce(Paper::CoScheduling, selection).unwrap().sections;
        sections.into_iter().map(|section| section.item).collect()
    };
    assert_eq!(items(Selection { table: Some(4), figure: None }), [PaperItem::Table(4)]);
    assert_eq!(items(Selection { table: None, figure: Some(10) }), [PaperItem::Figure(10)]);
    let error = reproduce(Paper::CoScheduling, Selection { table: Some(99), figure: None }).unwrap_err();
    assert!(error.to_string().contains("co-scheduling"), "{error}");
}

#[test]
fn papers_are_found_by_name() {
    for paper in Paper::ALL {
        assert_eq!(paper.to_string().parse::<Paper>().unwrap(), paper);
    }
    assert!(
        "pipe-dream"
            .parse::<Paper>()
            .unwrap_err()
            .to_string()
            .contains("co-scheduling, granularity, para-pipe, pipe-it")
    );
}
