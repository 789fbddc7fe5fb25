//! What the help says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::Workplace;

#[test]
fn every_command_explains_itself() {
    let workplace = Workplace::new();
    let mut texts = vec![workplace.succeed(&["--help"])];
    for command in [
        "board",
        "boards",
        "profile",
        "fit",
        "calibrate",
        "schedule",
        "run",
        "tune",
        "simulate",
        "compare",
        "reproduce",
    ] {
        let text = workplace.succeed(&[command, "--help"]);
        assert!(text.contains("Example:\n  cargo xtask "), "{text}");
        assert!(text.contains("--json"), "{text}");
        texts.push(text);
    }
    insta::assert_snapshot!(texts.join("\n----\n"));
}
