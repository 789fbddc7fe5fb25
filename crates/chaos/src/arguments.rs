//! What the caller asks for.

use crate::chaos::{Request, chaos};

/// Runs `stories` with `--from`, `--seeds` and `--frames`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (what, options) = arguments.split_first().ok_or("say what: stories")?;
    let option = |name: &str, default: u64| -> Result<u64, String> {
        let Some(place) = options.iter().position(|option| option == name) else { return Ok(default) };
        let text = options.get(place + 1).ok_or_else(|| format!("{name} needs a number"))?;
        text.parse().map_err(|_| format!("{name} needs a number, not '{text}'"))
    };
    match what.as_str() {
        "stories" => chaos(&Request {
            from: option("--from", 0)?,
            seeds: option("--seeds", 100)?,
            frames: option("--frames", 1000)?,
        }),
        other => Err(format!("there is no '{other}'")),
    }
}
