//! A computer of another architecture, as far as programs see it: QEMU, the C library of Debian, and system files that
//! were recorded of a board.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::folders::root;

use super::debian::{self, Packages};
use super::target::Target;
use super::{failed, zig};

/// The board whose system files are shown, as `fixtures/sysfs` has them, and what it calls itself.
pub(crate) const RECORDED: (&str, &str) = ("rk3588", "Radxa ROCK 5B");
/// What every system has.
const SYSTEM: [&str; 5] = ["libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1"];

/// How many cores it has, and the first of each cluster.
const CORES: u32 = 8;
const FIRST_CORES: [u32; 3] = [0, 4, 6];

/// Cores of the board that a program may use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cores {
    All,
    /// As many as there are clusters: threads that wait for each other on more cores than this computer has take for
    /// ever.
    OneOfEachCluster,
}

/// A folder that stands before the system's own for programs that QEMU runs.
pub(crate) struct EmulatedBoard {
    qemu: PathBuf,
    guest: PathBuf,
}

impl EmulatedBoard {
    /// Lays a system out in the folder `guest`, with `more` packages of Debian and those that they depend on whose
    /// names begin as `with` says.
    pub(crate) fn new(target: Target, guest: &Path, more: &[&str], with: &[&str]) -> Result<Self, Failure> {
        let tools = super::fetched_folder().join("qemu");
        let qemu =
            Packages { architecture: Target::own()?.debian(), release: None, names: &["qemu-user-static"], with: &[] };
        debian::unpack(&qemu, &tools)?;
        let names = [&SYSTEM[..], more].concat();
        let kept = super::fetched_folder().join(target.name()).join(names.join("+"));
        debian::unpack(&Packages { architecture: target.debian(), release: None, names: &names, with }, &kept)?;
        let _ = fs::remove_dir_all(guest);
        let parent = guest.parent().unwrap_or(guest);
        fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
        capture(Command::new("cp").arg("--archive").arg(&kept).arg(guest))?;
        show(guest)?;
        let qemu = tools.join("usr/bin").join(format!("qemu-{}-static", target.name()));
        Ok(Self { qemu, guest: guest.to_owned() })
    }

    /// Words that a program's path and arguments follow, to be run there, with as many of the board's cores as this
    /// computer has.
    pub(crate) fn words(&self) -> Vec<PathBuf> {
        vec![self.qemu.clone(), "-L".into(), self.guest.clone()]
    }

    /// The same with these cores of the board, whatever this computer has. Where a thread really runs is then the
    /// system's choice.
    pub(crate) fn words_with(&self, cores: Cores, target: Target) -> Result<Vec<PathBuf>, Failure> {
        let mask = match cores {
            Cores::All => (1_u64 << CORES) - 1,
            Cores::OneOfEachCluster => FIRST_CORES.iter().map(|core| 1 << core).sum(),
        };
        let library = self.guest.join(format!("cores-{mask:x}.so"));
        let mut compile = zig::compiler(target)?;
        compile.args(["-shared", "-fPIC", "-O1", &format!("-DCORES={mask}"), "-o"]).arg(&library);
        capture(compile.arg(root().join("xtask/src/cross/cores.c")))?;
        let variable = format!("LD_PRELOAD={}", library.display());
        Ok([self.words(), vec!["-E".into(), variable.into()]].concat())
    }
}

/// Lays the recorded system files out, and what the kernel says of such processors: ONNX Runtime reads it.
fn show(guest: &Path) -> Result<(), Failure> {
    let recording = root().join(format!("fixtures/sysfs/{}.txt", RECORDED.0));
    let text = fs::read_to_string(&recording).map_err(|error| failed(&recording, &error))?;
    let files = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    for (path, content) in files {
        write(&guest.join("sys").join(path), &format!("{content}\n"))?;
    }
    let core = |number: u32| {
        let part = if number < 4 { "0xd05" } else { "0xd0b" };
        format!(
            "processor\t: {number}\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid \
             asimdrdm lrcpc dcpop asimddp\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x2\nCPU part\t: {part}\nCPU revision\t: 0\n\n"
        )
    };
    // This computer may give a container a part of its time only, which is not the board's business.
    write(&guest.join("proc/self/cgroup"), "")?;
    write(&guest.join("proc/cpuinfo"), &(0..CORES).map(core).collect::<String>())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).and_then(|()| fs::write(path, text)).map_err(|error| failed(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_has_as_many_cores_as_were_recorded() {
        let recording = root().join(format!("fixtures/sysfs/{}.txt", RECORDED.0));
        let text = fs::read_to_string(recording).unwrap_or_default();
        let of_core = |number: u32| text.contains(&format!("devices/system/cpu/cpu{number}/"));
        assert_eq!((of_core(CORES - 1), of_core(CORES)), (true, false));
    }
}
