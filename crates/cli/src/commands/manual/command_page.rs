//! The page about commands: what `--help` says of each, as Markdown.

use std::fmt::Write;

use clap::{Arg, Command};

/// All commands that help shows, with their options and examples.
pub(super) fn page(program: &Command) -> String {
    let mut program = program.clone();
    program.build();
    let mut page = String::new();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    for command in shown {
        page += &section(command);
    }
    page
}

fn section(command: &Command) -> String {
    let name = command.get_name();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("## {name}\n\n{}\n\n", escaped(&about));
    if let Some(example) = command.get_after_help() {
        let example = example.to_string();
        let lines = example.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line));
        text += &format!("```sh\n{}\n```\n\n", lines.collect::<Vec<_>>().join("\n"));
    }
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set() && !is_everywhere(argument));
    for argument in shown {
        text += &item(argument);
    }
    text + "\n"
}

/// What every command has is said once, at the head of the page.
fn is_everywhere(argument: &Arg) -> bool {
    argument.is_global_set() || ["help", "version"].contains(&argument.get_id().as_str())
}

fn item(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{}`: {}", spelling(argument), escaped(&help));
    let possible = argument.get_possible_values();
    let names: Vec<String> =
        possible.iter().filter(|value| !value.is_hide_set()).map(|value| format!("`{}`", value.get_name())).collect();
    // What is on or off has `true` and `false`, which nobody types.
    if argument.get_action().takes_values() && !names.is_empty() {
        let _ = write!(text, " One of {}.", names.join(", "));
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if argument.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(text, " Default: {}.", defaults.join(", "));
    }
    text + "\n"
}

/// The option as one types it, with the names of its values.
fn spelling(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes_values = argument.get_action().takes_values();
    let values = argument.get_value_names().unwrap_or_default().iter().filter(|_| takes_values);
    let values = values.map(|value| if names.is_empty() { value.to_string() } else { format!(" {value}") });
    names.join(", ") + &values.collect::<String>()
}

/// Text whose characters mean nothing in Markdown, except those of code between backticks, and that ends as a sentence
/// does.
fn escaped(text: &str) -> String {
    let pieces = text.split('`').enumerate().map(|(index, piece)| {
        let is_code = index % 2 == 1;
        let mut made = String::new();
        for character in piece.chars() {
            let is_special = !is_code && matches!(character, '<' | '>' | '*' | '_' | '[' | ']' | '\\');
            if is_special {
                made.push('\\');
            }
            made.push(character);
        }
        made
    });
    let text = pieces.collect::<Vec<_>>().join("`");
    let is_sentence = text.ends_with(['.', '!', '?', ':']) || text.is_empty();
    if is_sentence { text } else { text + "." }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn characters_of_markdown_are_text_but_in_code() {
        assert_eq!(escaped("a_b, <FILE> and `c_d`"), "a\\_b, \\<FILE\\> and `c_d`.");
    }

    #[test]
    fn every_command_and_option_has_its_place() {
        let command = Arguments::command();
        let page = page(&command);
        let about = command.find_subcommand("schedule").and_then(Command::get_about).expect("what schedule does");
        assert!(!page.contains("## manual") && !page.contains("## help"), "{page}");
        assert!(page.contains(&format!("## schedule\n\n{}\n", escaped(&about.to_string()))), "{page}");
        assert!(page.contains("- `--board FILE|NAME`: A board file"), "{page}");
        assert!(page.contains("- `--json`: "), "{page}");
        assert!(!page.contains("--help"), "{page}");
    }
}
