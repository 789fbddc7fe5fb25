//! Running the blocks of a page in one shell.

use std::path::Path;
use std::process::Command;

use image::RgbImage;
use millstream_onnx::{Attributes, ModelBuilder, Weight};

use crate::blocks::Block;
use crate::support::{Workplace, bytes};

/// What is typed at once, and what it should print if that is shown.
struct Typed {
    command: String,
    shown: Option<Vec<String>>,
}

/// Runs all blocks of a page that are for a shell, and compares what they print with what is shown.
///
/// What is measured is kept in `cache` for the pages that follow.
pub(crate) fn run(blocks: &[Block], cache: &Path) -> Result<(), String> {
    let workplace = workplace();
    let typed: Vec<Typed> = blocks.iter().filter(|block| block.is_run_in_shell()).flat_map(typed).collect();
    let output = Command::new("sh")
        .args(["-e", "-c", &script(&typed)])
        .current_dir(workplace.path(""))
        .env("PATH", path(&workplace))
        .env("XDG_CACHE_HOME", cache)
        // As whoever has installed the command reads it.
        .env("MILLSTREAM_COMMAND", "")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    let last = |name: &str| std::fs::read_to_string(workplace.path(name)).unwrap_or_default();
    if !output.status.success() {
        let place = last("place").trim().parse().unwrap_or(0_usize);
        let messages = last(&format!("messages{place}")) + &String::from_utf8_lossy(&output.stderr);
        return Err(format!("this fails:\n{}\n{messages}", typed[place].command));
    }
    for (place, Typed { command, shown }) in typed.iter().enumerate() {
        let printed = last(&format!("printed{place}"));
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if shown.as_ref().is_some_and(|shown| !is_as_shown(shown, &printed)) {
            return Err(format!("{command}\nprints something else than the page shows:\n{}", printed.join("\n")));
        }
    }
    Ok(())
}

fn typed(block: &Block) -> Vec<Typed> {
    if block.language == "sh" {
        return vec![Typed { command: block.text.clone(), shown: None }];
    }
    let mut typed: Vec<Typed> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), typed.last_mut()) {
            (Some(command), _) => typed.push(Typed { command: command.to_owned(), shown: Some(Vec::new()) }),
            (None, Some(Typed { shown: Some(shown), .. })) => shown.push(line.trim_end().to_owned()),
            _ => panic!("a block of `console` begins with `$ `: {line}"),
        }
    }
    typed
}

/// One shell for the whole page, so that variables stay. What each part prints goes into files of its own.
fn script(typed: &[Typed]) -> String {
    // In the repository, `cargo xtask` stands for the command.
    let mut script = "cargo() { shift; millstream \"$@\"; }\n".to_owned();
    for (place, Typed { command, .. }) in typed.iter().enumerate() {
        script += &format!("echo {place} > place\n{{\n{command}\n}} > printed{place} 2> messages{place}\n");
    }
    script
}

/// The shown lines in order; `...` stands for any.
pub(crate) fn is_as_shown(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|skipped| is_as_shown(rest, &printed[skipped..]))
        }
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| first == line && is_as_shown(rest, others))
        }
    }
}

/// Measures the pages' own network for a moment, so that they need not do it for longer.
pub(crate) fn measure(cache: &Path) {
    let arguments = ["profile", "--no-sweep", "--model", "my.onnx", "--budget", "1s", "-o", "profile.json"];
    workplace().command(&arguments).env("XDG_CACHE_HOME", cache).assert().success();
}

/// A folder with the files that pages take for granted.
fn workplace() -> Workplace {
    let workplace = Workplace::new();
    let mut builder = ModelBuilder::new("my");
    let mut value = builder.input("image", [1, 3, 16, 16]);
    for layer in 0..4_usize {
        let elements = (0..3 * 3 * 9).map(|index| ((index * 31 + layer * 7) % 17) as f32 / 17.0 - 0.5).collect();
        let filter = builder.weight("filter", &Weight::from_f32([3, 3, 3, 3], elements));
        let made = builder.node_with("Conv", &[&value, &filter], Attributes::new().ints("pads", &[1; 4]));
        value = builder.node("Tanh", &[&made]);
    }
    builder.output(&value);
    workplace.write("my.onnx", bytes(&builder.build().unwrap()));
    std::fs::create_dir(workplace.path("frames")).unwrap();
    for (name, red) in [("photo.jpg", 90), ("frames/1.jpg", 10), ("frames/2.jpg", 200)] {
        RgbImage::from_pixel(20, 16, image::Rgb([red, 40, 70])).save(workplace.path(name)).unwrap();
    }
    workplace
}

/// Where the shell looks for programs: first for the command as it was built.
fn path(workplace: &Workplace) -> String {
    let command = workplace.command(&[]);
    let folder = Path::new(command.get_program()).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn dots_stand_for_any_lines() {
    let is_shown = |shown: &str, printed: &str| {
        let shown: Vec<String> = shown.split(' ').map(str::to_owned).collect();
        is_as_shown(&shown, &printed.split(' ').collect::<Vec<_>>())
    };
    assert!(is_shown("a ... d", "a b c d") && is_shown("... d ...", "d") && is_shown("a b", "a b"));
    assert!(!is_shown("a", "a b") && !is_shown("a ... c", "a b") && !is_shown("b a", "a b"));
}
