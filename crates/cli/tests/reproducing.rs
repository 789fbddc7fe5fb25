//! The papers' tables through the program: on the terminal, as a page, and as drawings.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Workplace, text};

#[test]
fn a_paper_becomes_a_page_with_drawings() {
    let workplace = Workplace::new();
    let shown = workplace.succeed(&["reproduce", "granularity", "--html", "page.html", "--figures", "figures"]);
    // Misses are told with their reasons, and are no failure.
    let miss = "Misses: granularity for Inception_4c_1x1: 8 here, 4 in the paper.";
    assert!(shown.contains("Table 2") && shown.contains(miss) && shown.contains("Why: by the lines"), "{shown}");
    assert!(shown.contains("Not computed"), "{shown}");
    let last = "43 claims could fail: 29 hold, 14 miss.";
    assert_eq!(shown.lines().last(), Some(last));
    let page = text(&workplace.path("page.html"));
    assert!(page.contains("<table>") && page.contains("<svg") && page.contains(miss) && page.contains("Not computed"));
    let end = format!("<p>{last}</p></body></html>");
    assert!(page.ends_with(&end), "{}", &page[page.len().saturating_sub(200)..]);
    assert!(text(&workplace.path("figures/granularity-figure-9.svg")).contains("</svg>"));
    let same = workplace.succeed(&["reproduce", "granularity", "--all"]);
    assert_eq!(same, shown);
    let json = workplace.succeed(&["reproduce", "granularity", "--table", "5", "--json"]);
    let claims = serde_json::from_str::<serde_json::Value>(&json).unwrap();
    let held: Vec<bool> = claims.as_array().unwrap().iter().map(|claim| claim["reason"].is_null()).collect();
    // The energy of GoogLeNet misses, that of SqueezeNet holds.
    assert_eq!(held, [false, true]);
    assert_eq!(claims[0]["holds"], false);
    assert_eq!(claims[1]["evidence"], "compared with the paper");
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
