//! What an optimised session depends on: two sessions of the same key are the same.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

use millstream_backend::Segment;
use millstream_onnx::{Model, SubModel};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What tells one kind of processor from another in `/proc/cpuinfo`: the engine chooses kernels and layouts by it.
const PROCESSOR_FIELDS: &[&str] = &[
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
    "Features",
];

static MACHINE: LazyLock<String> =
    LazyLock::new(|| machine(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()));

/// The key of an optimised session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionKey {
    /// The build of ONNX Runtime.
    engine: String,
    /// The kind of machine, with a digest of what its processors can do.
    machine: String,
    /// Digest of the model, which covers the weights.
    model: String,
    /// Digest of the segment as the engine gets it, with its operators and portion: which of the model's weights it
    /// takes must not hang on how weights are named.
    segment: String,
    threads: usize,
}

impl SessionKey {
    pub(crate) fn new(engine: &str, model: &Model, segment: &Segment, sub_model: &SubModel, threads: usize) -> Self {
        let mut digest = Sha256::new();
        digest.update((sub_model.bytes.len() as u64).to_le_bytes());
        digest.update(&sub_model.bytes);
        for operator in &segment.operators {
            digest.update((operator.index() as u64).to_le_bytes());
        }
        digest.update(format!("{:?}", segment.portion));
        Self {
            engine: engine.to_owned(),
            machine: MACHINE.clone(),
            model: model.digest().to_owned(),
            segment: hexadecimal(&digest.finalize()),
            threads,
        }
    }

    /// The name that the session is kept under.
    pub(crate) fn name(&self) -> String {
        let mut digest = Sha256::new();
        for part in [&self.engine, &self.machine, &self.model, &self.segment, &self.threads.to_string()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        hexadecimal(&digest.finalize())
    }
}

/// Whether this could be the name of a key.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Describes the machine by what its system says of its processors. All kinds count where there are several.
fn machine(processors: &str) -> String {
    let lines: BTreeSet<(&str, &str)> = processors
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(field, value)| (field.trim(), value.trim()))
        .filter(|(field, _)| PROCESSOR_FIELDS.contains(field))
        .collect();
    let model = lines.iter().find(|(field, _)| *field == "model name").map_or("", |&(_, name)| name);
    let mut digest = Sha256::new();
    for (field, value) in &lines {
        digest.update(format!("{field}:{value}\n"));
    }
    let system = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
    format!("{system} {model} {}", hexadecimal(&digest.finalize()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESSORS: &str = "processor\t: 0\nmodel name\t: A\nflags\t\t: avx avx2\ncpu MHz\t\t: 1500.0\n\n\
                              processor\t: 1\nmodel name\t: A\nflags\t\t: avx avx2\ncpu MHz\t\t: 2700.0\n";

    #[test]
    fn a_machine_is_what_its_processors_can_do_not_how_many_or_how_fast_they_are() {
        let known = machine(PROCESSORS);
        assert!(known.contains(" A "), "{known}");
        let slower = PROCESSORS.replace("2700.0", "800.0");
        assert_eq!(machine(&slower), known);
        assert_eq!(machine(PROCESSORS.split("\n\n").next().unwrap()), known);
        assert_ne!(machine(&PROCESSORS.replace("avx2", "avx512f")), known);
        // A second kind of core, which is the last one.
        let second = PROCESSORS.rfind("avx2").unwrap();
        let mixed = format!("{}sve{}", &PROCESSORS[..second], &PROCESSORS[second + 4..]);
        assert_ne!(machine(&mixed), known);
    }

    #[test]
    fn every_part_of_a_key_is_in_its_name() {
        let text = |part: &str| part.to_owned();
        let key =
            SessionKey { engine: text("e"), machine: text("m"), model: text("d"), segment: text("s"), threads: 1 };
        assert!(is_name(&key.name()) && !is_name("notes.txt") && !is_name(&key.name().to_uppercase()));
        let others = [
            SessionKey { engine: text("em"), machine: text(""), ..key.clone() },
            SessionKey { machine: text("n"), ..key.clone() },
            SessionKey { model: text("e"), ..key.clone() },
            SessionKey { segment: text("t"), ..key.clone() },
            SessionKey { threads: 2, ..key.clone() },
        ];
        assert!(others.iter().all(|other| other.name() != key.name()));
    }
}
