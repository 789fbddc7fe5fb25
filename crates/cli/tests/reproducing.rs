//! The papers' tables through the program: on the terminal, as a page, and as drawings.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Workplace, text};

#[test]
fn a_paper_becomes_a_page_with_drawings() {
    let workplace = Workplace::new();
    let shown = workplace.succeed(&["reproduce", "granularity", "--html", "page.html", "--figures", "figures"]);
    assert!(shown.contains("Table 2") && shown.contains("agree with it."), "{shown}");
    let page = text(&workplace.path("page.html"));
    assert!(page.contains("<table>") && page.contains("<svg") && page.contains("numbers that are held to the paper"));
    assert!(text(&workplace.path("figures/granularity-figure-9.svg")).contains("</svg>"));
    let same = workplace.succeed(&["reproduce", "granularity", "--all"]);
    assert_eq!(same, shown);
    let json = workplace.succeed(&["reproduce", "granularity", "--table", "5", "--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap().as_array().unwrap().len(), 2);
}

#[test]
fn what_is_not_there_is_refused() {
    let workplace = Workplace::new();
    assert!(workplace.fail(&["reproduce"]).contains("PAPER"));
    assert!(
        workplace.fail(&["reproduce", "granularity", "--table", "99"]).contains("there is no such table or figure")
    );
    let message = workplace.fail(&["reproduce", "granularity", "--html", "nowhere/page.html"]);
    assert!(message.contains("nowhere"), "{message}");
}
