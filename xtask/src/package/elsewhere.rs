//! Whether another architecture computes what this one does: results of a network, and tests of crates that need
//! nothing of others.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture, cargo, run};
use crate::cross::{GLIBC, Target, zig};
use crate::folders::{root, target_folder};
use crate::native;

use crate::files::failed;

/// A frame of the network, in folders of both computers.
pub(super) const FRAME: &str = "frame.npy";
/// The example of the workspace that writes the network, and the side of its pictures.
const EXAMPLE: (&str, u32) = ("small_network", 32);
/// Crates without native code whose tests take seconds also where a processor is emulated.
const PURE: [&str; 6] = ["graph", "board", "machine", "cost", "schedule", "partition"];
/// Tests of the kernel's scheduler, of which QEMU shows programs nothing.
const OF_KERNEL: [&str; 2] = ["niceness_and_class_are_kept", "only_cores_of_the_affinity_mask_are_detected"];

/// Writes a network that is small enough for an emulated processor, and returns its path.
pub(super) fn write_network(path: &Path) -> Result<String, Failure> {
    let example = ["run", "--release", "--quiet", "--package", "millstream-onnx", "--example", EXAMPLE.0];
    let text = path.display().to_string();
    capture(cargo().args(example).arg(&text))?;
    Ok(text)
}

/// Runs a network on a frame by the program of this computer, in a folder of its own, and returns nothing but `results`
/// there.
pub(super) fn results_of_here(network: &str, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    write_frame(&folder.join(FRAME))?;
    let library = native::prepare()?;
    run(cargo().args(["build", "--release", "--quiet", "--package", "millstream"]))?;
    let program = target_folder().join("release/millstream");
    let steps: [&[&str]; 3] = [
        &["profile", "--no-sweep", "--model", network, "--budget", "1s"],
        &["schedule", "--model", network, "--profile", "profile.json"],
        &["run", "--input", FRAME, "--output", "results"],
    ];
    for step in steps {
        let mut command = Command::new(&program);
        command.args(step).current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
        capture(command.envs(native::environment(library.clone())))?;
    }
    Ok(())
}

/// Writes a picture of which no two rows are the same, as numpy does.
pub(super) fn write_frame(path: &Path) -> Result<(), Failure> {
    let side = EXAMPLE.1;
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, {side}, {side}), }}");
    // With what stands before it, it is a multiple of 64 bytes long, and ends a line.
    header.push_str(&" ".repeat(63 - (header.len() + 10) % 64));
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or_default();
    let elements = (0..3 * side * side).map(|index| (index * 7919 % 1009) as f32 / 1009.0);
    let parts = [b"\x93NUMPY\x01\x00".to_vec(), length.to_le_bytes().to_vec(), header.into_bytes()];
    let bytes = parts.into_iter().flatten().chain(elements.flat_map(f32::to_le_bytes)).collect::<Vec<u8>>();
    fs::write(path, bytes).map_err(|error| failed(path, &error))
}

/// Compiles tests of crates for a target, and runs them by a program that runs its programs.
pub(super) fn test(target: Target, runner: &[std::path::PathBuf]) -> Result<(), Failure> {
    let triple = target.triple();
    let mut command = Command::new(zig::cargo_zigbuild()?);
    command.args(["test", "--locked", "--profile", "dist", "--lib", "--tests", "--quiet"]).current_dir(root());
    command.args(PURE.map(crate::command::package).iter().flat_map(|name| ["--package", name]));
    command.args(["--target", &format!("{triple}.{}.{}", GLIBC.0, GLIBC.1)]).envs(zig::variables(target)?);
    let words: Vec<String> = runner.iter().map(|word| word.display().to_string()).collect();
    let variable = format!("CARGO_TARGET_{}_RUNNER", triple.replace('-', "_").to_uppercase());
    eprintln!("tests of {}", PURE.join(", "));
    run(command.env(variable, words.join(" ")).arg("--").args(OF_KERNEL.iter().flat_map(|name| ["--skip", name])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_long_as_its_head_says() {
        let path = std::env::temp_dir().join(format!("millstream-frame-{}.npy", std::process::id()));
        assert!(write_frame(&path).is_ok());
        let bytes = fs::read(&path).unwrap_or_default();
        let _ = fs::remove_file(&path);
        assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!((start % 64, bytes[start - 1]), (0, b'\n'));
        assert_eq!(bytes.len() - start, 3 * 32 * 32 * 4);
    }
}
