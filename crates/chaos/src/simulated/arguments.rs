//! What the caller asks for.

use super::chaos::{Request, chaos};
use super::interleavings::{MODELS, interleavings};

/// Runs `scenarios` with `--from`, `--seeds` and `--frames`, or `interleavings` with `--model`, `--from` and
/// `--schedules`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (what, options) = arguments.split_first().ok_or("say what: scenarios or interleavings")?;
    let text = |name: &str| {
        let place = options.iter().position(|option| option == name)?;
        Some(options.get(place + 1).map(String::as_str).unwrap_or_default())
    };
    let number = |name: &str, default: u64| {
        let parse = |text: &str| text.parse().map_err(|_| format!("{name} needs a number, not '{text}'"));
        text(name).map_or(Ok(default), parse)
    };
    match what.as_str() {
        // The second is what it was called first.
        "scenarios" | "stories" => chaos(&Request {
            from: number("--from", 0)?,
            seeds: number("--seeds", 100)?,
            frames: number("--frames", 1000)?.max(1),
        }),
        "interleavings" => {
            let asked = text("--model");
            let known = || MODELS.map(|(name, _)| name).join(", ");
            if let Some(name) = asked.filter(|asked| MODELS.iter().all(|(name, _)| name != asked)) {
                return Err(format!("there is no model '{name}'; there are {}", known()));
            }
            let (from, schedules) = (number("--from", 0)?, number("--schedules", 10_000)?);
            let asked = MODELS.iter().filter(|(name, _)| asked.is_none_or(|asked| asked == *name));
            asked.into_iter().try_for_each(|&(name, model)| interleavings(name, model, from, schedules))
        }
        other => Err(format!("there is no '{other}': say scenarios or interleavings")),
    }
}
