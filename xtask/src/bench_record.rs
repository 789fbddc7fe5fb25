//! The series of benchmarks: `cargo xtask bench --record` adds a line for each to a table, which `docs/benchmarks.md`
//! explains.

use std::fs;

use crate::command::{Failure, capture, cargo, package};
use crate::commit::commit;
use crate::files::{failed, read};
use crate::folders::root;
use crate::native;

/// Where the series is kept.
const TABLE: &str = "docs/benchmarks.csv";
const HEADING: &str = "date,commit,machine,load,benchmark,median_ns,fastest_ns,samples";
/// Crates and their benchmarks that print times with their median, without a device or an engine.
const RECORDED: [(&str, &str); 4] =
    [("pipeline", "exact"), ("predict", "table"), ("runtime", "hand_over"), ("sim", "simulation")];

/// Runs the benchmarks that are recorded, or those of one crate, and adds what they took.
pub(crate) fn record(crates: &[String]) -> Result<(), Failure> {
    native::prepare()?;
    let chosen = chosen(crates)?;
    let origin = [date()?, commit(TABLE)?, machine()?, load()].map(|field| field.replace(',', ";")).join(",");

    let mut rows = Vec::new();
    for (name, bench) in chosen {
        eprintln!("running the benchmark {bench} of {name} ...");
        let printed = capture(cargo().args(["bench", "--quiet", "--package", &package(name), "--bench", bench]))?;
        println!("{printed}");
        let found = measurements(&printed);
        if found.is_empty() {
            return Err(Failure(format!("the benchmark {bench} of {name} printed no times")));
        }
        rows.extend(found.iter().map(|own| format!("{origin},{}\n", own.fields(name))));
    }

    let path = root().join(TABLE);
    let before = if path.is_file() { read(&path)? } else { format!("{HEADING}\n") };
    fs::write(&path, before + &rows.concat()).map_err(|error| failed(&path, &error))?;
    eprintln!("added {} lines to {TABLE}", rows.len());
    Ok(())
}

fn chosen(crates: &[String]) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    if let Some(other) = crates.iter().find(|name| !RECORDED.iter().any(|(known, _)| known == name)) {
        let known = RECORDED.map(|(name, _)| name).join(", ");
        return Err(Failure(format!("benchmarks are recorded of {known}; '{other}' is none of them")));
    }
    Ok(RECORDED.into_iter().filter(|(name, _)| crates.is_empty() || crates.iter().any(|own| own == name)).collect())
}

fn date() -> Result<String, Failure> {
    Ok(capture(std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_owned())
}

/// The processor's name and how many cores the program may use.
fn machine() -> Result<String, Failure> {
    let cores = std::thread::available_parallelism().map_err(|error| Failure(format!("cores: {error}")))?;
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    Ok(format!("{}; {cores} cores", model.unwrap_or(std::env::consts::ARCH)))
}

/// How many threads wanted to run over the last minute, before the benchmarks: on a busy machine they take longer.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// What a benchmark took.
#[derive(Debug, PartialEq)]
struct Measurement {
    name: String,
    median_ns: f64,
    fastest_ns: f64,
    samples: u64,
}

impl Measurement {
    fn fields(&self, of: &str) -> String {
        let name = self.name.replace(',', ";");
        format!("{of}/{name},{:.0},{:.0},{}", self.median_ns, self.fastest_ns, self.samples)
    }
}

/// The rows of the tree that divan prints, each under the names of those above it. Rows without a name have rates and
/// are passed over.
fn measurements(printed: &str) -> Vec<Measurement> {
    let mut above: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in printed.lines() {
        let cells: Vec<&str> = line.rsplitn(6, '│').map(str::trim).collect();
        let [_, samples, _, median, _, head] = cells[..] else { continue };
        let Some((depth, head)) = node(line, head) else { continue };
        above.truncate(depth);
        let Some(samples) = samples.parse().ok() else {
            above.push(head.to_owned());
            continue;
        };
        let mut words = head.rsplitn(3, ' ');
        let (unit, number) = (words.next(), words.next());
        let fastest = unit.zip(number).and_then(|(unit, number)| nanoseconds(&format!("{number} {unit}")));
        if let (Some(name), Some(fastest_ns), Some(median_ns)) = (words.next(), fastest, nanoseconds(median)) {
            let path = above.iter().map(String::as_str).chain([name.trim()]);
            found.push(Measurement { name: path.collect::<Vec<_>>().join("/"), median_ns, fastest_ns, samples });
        }
    }
    found
}

/// How deep a row stands in the tree, and its text after the branch.
fn node<'a>(line: &str, head: &'a str) -> Option<(usize, &'a str)> {
    let branch = ['├', '╰'];
    let (_, text) = head.split_once(branch)?;
    let depth = line.chars().position(|letter| branch.contains(&letter))? / 3;
    Some((depth, text.trim_start_matches('─').trim()))
}

/// A time with its unit.
fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let unit = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Timer precision: 10 ns
exact               fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ chain                          │               │               │               │         │
│  ├─ 28            83.38 µs      │ 186.5 µs      │ 86.04 µs      │ 90.04 µs      │ 100     │ 100
│  ╰─ 8 + 16 cores  1.2 s         │ 1.5 s         │ 1.25 s        │ 1.3 s         │ 3       │ 3
├─ events           2 ms          │ 3 ms          │ 2.5 ms        │ 2.6 ms        │ 20      │ 20
│                   100 Mitem/s   │ 66 Mitem/s    │ 80 Mitem/s    │ 77 Mitem/s    │         │
╰─ hop                            │               │               │               │         │
   ╰─ 2             7.5 ns        │ 9 ns          │ 8 ns          │ 8 ns          │ 100     │ 12800
";

    #[test]
    fn times_are_found_under_the_names_above_them() {
        let told: Vec<String> = measurements(PRINTED).iter().map(|own| own.fields("pipeline")).collect();
        let expected = [
            "pipeline/chain/28,86040,83380,100",
            "pipeline/chain/8 + 16 cores,1250000000,1200000000,3",
            "pipeline/events,2500000,2000000,20",
            "pipeline/hop/2,8,8,100",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn only_recorded_crates_can_be_named() {
        let of = |name: &str| chosen(&[name.to_owned()]).ok().map(|chosen| chosen.len());
        assert_eq!(
            (of("sim"), of("zoo"), chosen(&[]).ok().map(|all| all.len())),
            (Some(1), None, Some(RECORDED.len()))
        );
    }
}
