//! What the help says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::Workplace;

/// The commands that the help names.
fn commands(help: &str) -> Vec<&str> {
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // Longer explanations go on in lines that begin further right.
    let named = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[test]
fn every_command_explains_itself() {
    let workplace = Workplace::new();
    let help = workplace.succeed(&["--help"]);
    let mut texts = vec![help.clone()];
    for command in commands(&help) {
        let text = workplace.succeed(&[command, "--help"]);
        assert!(text.contains("Example:\n  cargo xtask "), "{text}");
        assert!(text.contains("--json"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        texts.push(text);
    }
    assert!(texts.len() > 10, "{help}");
    insta::assert_snapshot!(texts.join("\n----\n"));
}

#[test]
fn shells_complete_the_names_of_objectives() {
    let workplace = Workplace::new();
    workplace.succeed(&["manual", "share"]);
    let script = support::text(&workplace.path("share/bash-completion/completions/millstream.bash"));
    for command in ["schedule", "deploy"] {
        let (_, own) = script.split_once(&format!("millstream__subcmd__{command})")).unwrap();
        let (_, after) = own.split_once("--objective)").unwrap();
        let (choices, _) = after.split_once("return 0").unwrap();
        assert!(choices.contains("\"throughput latency balanced energy\""), "{command}: {choices}");
    }
    let message = workplace.fail(&["schedule", "--objective", "speed"]);
    assert!(message.contains("'speed'") && message.contains("throughput, latency, balanced, energy"), "{message}");
}

/// Examples and the README say `cargo xtask` before every command.
#[test]
fn xtask_hands_on_every_command() {
    let help = Workplace::new().succeed(&["--help"]);
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/src/verbs.rs")).unwrap();
    let source: String = source.split_whitespace().collect();
    for command in commands(&help) {
        assert!(source.contains(&format!("forwarded(\"{command}\",\"")), "{command} is not handed on");
        assert!(!source.contains(&format!("forwarded(\"{command}\",\"\"")), "{command} is not in the help of xtask");
    }
}

#[test]
fn colours_are_shown_where_they_are_wanted() {
    let workplace = Workplace::new();
    let shown = |variables: &[(&str, &str)]| {
        let mut command = workplace.command(&["boards"]);
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        let output = command.envs(variables.iter().copied()).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let plain = shown(&[]);
    assert!(!plain.contains('\u{1b}') && plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
    let coloured = shown(&[("CLICOLOR_FORCE", "1")]);
    assert!(coloured.contains("\u{1b}[1m| name"), "{coloured}");
    assert_eq!(shown(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
    // Wider where somebody says so.
    let wide = shown(&[("COLUMNS", "300")]);
    assert!(wide.lines().count() < plain.lines().count(), "{wide}");
}
