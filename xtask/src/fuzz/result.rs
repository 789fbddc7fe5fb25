//! What libFuzzer says of a run.

use crate::folders::root;

/// What came of running a target.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Run {
    executions: u64,
    per_second: u64,
    /// Edges between blocks of code that inputs went along.
    edges: u64,
    /// The most memory, in mebibytes.
    memory: u64,
    /// Whether an input was found that something is wrong with.
    is_bad: bool,
}

impl Run {
    pub(super) const HEADER: &str = "target           executions   each second    edges  memory MiB  finds";

    /// Reads what libFuzzer writes: a line for each input that reaches new code, and statistics at the end.
    pub(super) fn read(log: &str) -> Self {
        let statistic = |name: &str| {
            let value = log.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        let edges =
            log.lines().filter_map(|line| line.split_once("cov: ")?.1.split(' ').next()?.parse().ok()).next_back();
        Self {
            executions: statistic("number_of_executed_units:"),
            per_second: statistic("average_exec_per_sec:"),
            edges: edges.unwrap_or(0),
            memory: statistic("peak_rss_mb:"),
            is_bad: written(log).is_some(),
        }
    }

    pub(super) fn row(&self, target: &str) -> String {
        let Self { executions, per_second, edges, memory, is_bad } = self;
        format!("{target:<15} {executions:>11} {per_second:>13} {edges:>8} {memory:>11} {:>6}", u8::from(*is_bad))
    }
}

/// The file that libFuzzer wrote an input to.
fn written(log: &str) -> Option<&str> {
    log.lines().find_map(|line| Some(line.split_once("Test unit written to ")?.1.trim()))
}

/// Why a target did not come to its end, and how to see it again.
pub(super) fn failure(target: &str, log: &str) -> String {
    // What a panic says comes before what libFuzzer says; addresses of code are of no use without symbols.
    let told: Vec<&str> = log
        .lines()
        .filter(|line| {
            line.contains("panicked at") || line.contains("ERROR: ") || line.contains("memory allocation of")
        })
        .collect();
    let after_panic = log.lines().skip_while(|line| !line.contains("panicked at")).nth(1).unwrap_or_default();
    let again = match written(log) {
        Some(file) => {
            let own = format!("{}/", root().display());
            format!("see it again with: cargo xtask fuzz {target} {}", file.strip_prefix(&own).unwrap_or(file))
        }
        None => log.lines().rev().take(5).collect::<Vec<_>>().join("\n"),
    };
    format!("{target}: {}\n{after_panic}\n{again}", told.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{Run, failure};

    const LOG: &str = "#2\tINITED cov: 7 ft: 8 corp: 1/1b exec/s: 0 rss: 27Mb\n\
        #964\tNEW    cov: 3139 ft: 8330 corp: 1402/275Kb lim: 4096 exec/s: 128024 rss: 34Mb L: 237/3882 MS: 2\n\
        stat::number_of_executed_units: 3474763\nstat::average_exec_per_sec:     165464\nstat::peak_rss_mb:              32\n";

    #[test]
    fn the_last_numbers_count() {
        let run = Run::read(LOG);
        let expected = Run { executions: 3_474_763, per_second: 165_464, edges: 3139, memory: 32, is_bad: false };
        assert_eq!(run, expected);
        assert_eq!(run.row("board").len(), Run::HEADER.len());
    }

    #[test]
    fn a_find_says_how_to_see_it_again() {
        let log = format!(
            "thread 'main' panicked at a.rs:1:2:\nindex out of bounds\n==1== ERROR: libFuzzer: deadly signal\n\
             artifact_prefix='x'; Test unit written to {}/fuzz/found/board/crash-1\n",
            crate::folders::root().display()
        );
        assert!(Run::read(&log).is_bad);
        let message = failure("board", &log);
        assert!(message.contains("index out of bounds"), "{message}");
        assert!(message.ends_with("cargo xtask fuzz board fuzz/found/board/crash-1"), "{message}");
    }
}
