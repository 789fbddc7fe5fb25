//! Published algorithms and measured accelerators, through the program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::{Workplace, text};

fn fixture(folder: &str, name: &str) -> String {
    format!("{}/../../fixtures/{folder}/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// Flags that name a board that is not here and its costs.
fn board(name: &str) -> [String; 4] {
    ["--board".to_owned(), fixture("boards", name), "--cost".to_owned(), fixture("costs", name)]
}

fn on<'a>(command: &[&'a str], board: &'a [String; 4]) -> Vec<&'a str> {
    command.iter().copied().chain(board.iter().map(String::as_str)).collect()
}

fn schedule(workplace: &Workplace) -> Value {
    serde_json::from_str(&text(&workplace.path("schedule.json"))).unwrap()
}

/// What the solver of the fine program finds in its time is not the same everywhere.
#[cfg(feature = "highs")]
fn without_the_clock(shown: &str) -> String {
    shown.lines().filter(|line| !line.starts_with("| fine-ilp")).collect::<Vec<_>>().join("\n")
}

#[test]
#[cfg(feature = "highs")]
fn all_algorithms_stand_beside_the_exact_front() {
    let (workplace, board) = (Workplace::new(), board("khadas-vim3"));
    let all = on(&["schedule", "--model", "zoo:squeezenet", "--algorithm", "all"], &board);
    let shown = workplace.succeed(&all);
    let (front, table) = shown.split_once("\nPublished algorithms").unwrap();
    assert!(front.contains("Latency/throughput front") && front.contains("Bound:"), "{front}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    insta::assert_snapshot!(without_the_clock(table));
    let exact = schedule(&workplace);
    assert_eq!(exact["algorithm"], "teams-by-bounds-then-simulated");

    // The exact search is the same without the others, and all of this is in JSON as well.
    workplace.succeed(&on(&["schedule", "--model", "zoo:squeezenet"], &board));
    assert_eq!(schedule(&workplace)["stages"], exact["stages"]);
    let report: Value = serde_json::from_str(&workplace.succeed(&[all, vec!["--json"]].concat())).unwrap();
    let algorithms = report["algorithms"].as_array().unwrap();
    assert_eq!(algorithms.len(), 1 + millstream::PublishedAlgorithm::ALL.len());
    assert_eq!(algorithms[0]["configuration"], exact["configuration"]);
    let heft = algorithms.iter().find(|own| own["algorithm"] == "heft").unwrap();
    assert!(
        heft["beside_ours"].as_f64().unwrap() > 0.0 && heft["source"].as_str().unwrap().contains("Topcuoglu"),
        "{heft}"
    );
    assert!(report["front"].as_array().unwrap().len() > 1);
}

#[test]
fn schedules_of_published_algorithms_are_simulated_as_predicted() {
    let (workplace, board) = (Workplace::new(), board("khadas-vim3"));
    for (name, stages) in
        [("heft", "B4+s2+G1"), ("co-scheduling", "G1+B4"), ("pipe-it", ""), ("para-pipe-hybrid-t", "")]
    {
        let shown = workplace.succeed(&on(&["schedule", "--model", "zoo:squeezenet", "--algorithm", name], &board));
        assert!(shown.contains("Bound:      no schedule by these costs has a period below"), "{shown}");
        let document = schedule(&workplace);
        let own = name.trim_start_matches("para-pipe-");
        assert_eq!(document["algorithm"], own);
        assert!(shown.contains(&format!("\n{own} (")), "{shown}");
        assert!(stages.is_empty() || document["configuration"] == stages, "{}", document["configuration"]);
        let simulated = workplace.succeed(&on(&["simulate", "--frames", "100"], &board));
        assert!(simulated.contains(" predicted: as predicted\n"), "{simulated}");
    }
}

#[test]
fn what_an_algorithm_can_not_serve_is_told_with_the_remedy() {
    let workplace = Workplace::new();
    let hikey = board("hikey-970");
    let refused = |flags: &[&str]| workplace.fail(&on(&[&["schedule", "--algorithm"], flags].concat(), &hikey));
    let cases: [(&[&str], &str); 12] = [
        (&["co-scheduling"], "board 'HiKey970' has no accelerator; add it to `accelerators` of the board file"),
        (&["hybrid-l"], "needs three processors or more, and there are only B4, s4; name others"),
        (&["heft", "--processors", "B4-G1"], "the board has no cluster 'G'"),
        (&["cpop", "--max-latency", "3ms"], "cpop knows no limits"),
        (&["all", "--min-throughput", "3"], "know no limits"),
        (&["pipe-it", "--objective", "latency"], "pipe-it has an objective of its own, throughput"),
        (&["heft", "--clocks"], "know no clocks"),
        (&["heft", "--certificate", "c.json"], "a certificate is of Millstream's own search"),
        (&["heft", "--model", "zoo:alexnet", "--model", "zoo:squeezenet"], "schedule one network"),
        (&["exact", "--processors", "B4"], "--processors is for published algorithms"),
        (&["dream"], "possible values: millstream, pipe-it, para-pipe-pipe-only"),
        (&["layer-switched", "--processors", "B4-B1"], "needs more cores of cluster 'B'"),
    ];
    for (flags, expected) in cases {
        let message = refused(flags);
        assert!(message.contains(expected), "{flags:?}: {message}");
    }
    assert!(workplace.files().is_empty(), "nothing is written");
    // With processors named, there is a hybrid.
    let named = ["schedule", "--algorithm", "hybrid-l", "--processors", "B2-B2-s4"];
    assert!(workplace.succeed(&on(&named, &hikey)).contains("hybrid-l (Zhang et al."));
}

#[test]
#[cfg(not(feature = "highs"))]
fn without_the_solver_programs_say_which_feature_they_need() {
    let (workplace, board) = (Workplace::new(), board("hikey-970"));
    for name in ["coarse-ilp", "fine-ilp"] {
        let message = workplace.fail(&on(&["schedule", "--algorithm", name], &board));
        assert!(message.contains(&format!("{name} needs the feature `highs`")), "{message}");
    }
    let shown = workplace.succeed(&on(&["schedule", "--algorithm", "all"], &board));
    assert!(shown.contains("coarse-ilp, fine-ilp: each needs the feature `highs`"), "{shown}");
}

const PHASES: &str = "name,input_elements,filter_elements,output_elements,filters,computation_seconds,transfer_seconds,\
    flush_seconds,invalidation_seconds,total_seconds\n\
    first,51984,16,3249,64,9.6e-2,2.6e-3,4.7e-4,1.8e-3,1.01e-1\n\
    second,51984,144,3249,64,7.6e-1,2.7e-3,5.4e-4,1.8e-3,7.7e-1\n\
    third,26912,288,841,128,7.8e-1,1.7e-3,5.6e-4,9.5e-4,7.8e-1\n\
    fourth,14400,576,225,256,8.3e-1,2.2e-3,1.4e-3,5.1e-4,8.3e-1\n";

#[test]
fn measured_phases_become_costs_of_the_accelerator() {
    let workplace = Workplace::new();
    workplace.write("phases.csv", PHASES);
    let (base, file) = (fixture("costs", "ultra96-4pe"), fixture("boards", "ultra96-4pe"));
    let fit = ["fit", "--accelerator", "phases.csv", "--base", &base];
    let shown = workplace.succeed(&fit);
    assert!(shown.contains("Accelerator F by 4 convolutions: 4 processing elements"), "{shown}");
    assert!(shown.contains("Equation 9's totals are"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    insta::assert_snapshot!(shown);
    let planned = |cost: &str| {
        let flags = ["--board", &file, "--cost", cost, "--model", "zoo:tiny-darknet", "--algorithm", "co-scheduling"];
        workplace.succeed(&[&["schedule"], &flags[..]].concat());
        schedule(&workplace)["predicted"]["period_seconds"].as_f64().unwrap()
    };
    let (before, after) = (planned(&base), planned("cost.json"));
    assert!(after > 0.0 && (after / before - 1.0).abs() > 1e-3, "{before} {after}");
    // Nothing but the accelerator's model is another one.
    let read = |path: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    let (known, written) = (read(&base), read(workplace.path("cost.json").to_str().unwrap()));
    assert_eq!(known["processors"], written["processors"]);
    assert_ne!(known["accelerators"], written["accelerators"]);
    // Transfers while it computes take no time of their own.
    workplace.succeed(&[&fit[..], &["--double-buffering", "-o", "double.json"]].concat());
    assert!(planned("double.json") < after);
}

#[test]
fn phases_that_can_not_be_used_are_told_with_line_and_column() {
    let workplace = Workplace::new();
    let fit = |content: &str, board: &str, more: &[&str]| {
        workplace.write("phases.csv", content);
        let base = fixture("costs", board);
        let flags = ["fit", "--accelerator", "phases.csv", "--base", &base];
        workplace.fail(&[&flags[..], more].concat())
    };
    let cases = [
        (PHASES.replace("filters,", ""), "phases.csv: there is no column 'filters'; the columns are"),
        (PHASES.replace("2.7e-3", "-2.7e-3"), "phases.csv: line 3, column 'transfer_seconds': is '-2.7e-3', must be"),
        (PHASES.replace("third,26912", "third,"), "phases.csv: line 4, column 'input_elements': is empty"),
        (PHASES.replace("third", "\nthird"), "line 4 is empty"),
        (PHASES.lines().take(2).collect::<Vec<_>>().join("\n"), "there are 1 convolutions and 3 are needed"),
        (String::new(), "no column 'input_elements'"),
    ];
    for (content, expected) in cases {
        let message = fit(&content, "ultra96-4pe", &[]);
        assert!(message.contains(expected), "{expected}: {message}");
    }

    assert!(fit(PHASES, "hikey-970", &[]).contains("board 'HiKey970' has no accelerator; add it"));
    assert!(fit(PHASES, "khadas-vim3", &[]).contains("add `processing_elements` to it"));
    assert!(fit(PHASES, "bst-a1000-like", &[]).contains("say which of N, D, E"));
    assert!(fit(PHASES, "ultra96-4pe", &["--label", "N"]).contains("no accelerator 'N'; it has F"));
    let other = fixture("boards", "zed-2pe");
    assert!(fit(PHASES, "ultra96-4pe", &["--board", &other]).contains("not of 'Zed with 2"));
    let message = workplace.fail(&["fit", "--accelerator", "phases.csv"]);
    assert!(message.contains("--base") && message.contains("cannot read profile.json"), "{message}");
    assert!(workplace.fail(&["fit", "--label", "F"]).contains("--accelerator"));
    assert_eq!(workplace.files(), ["phases.csv"]);
}
