//! Whether a library's file is all there, and made for this kind of computer.

use std::fs::File;
use std::path::Path;

use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, ProgramHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};

/// Says what is wrong with a library that was cut off, as by a full disk: the system maps it all the same and ends the
/// process when it comes to what is missing. One for other computers the system calls missing, though it is there, and
/// of what is none it does not say so: a page of a server that had no such file, or what stands for a file that is kept
/// elsewhere. ELF files that are not of 64 bits are left to the system.
pub(crate) fn fault(library: &Path) -> Option<String> {
    let file = File::open(library).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let data = ReadCache::new(file);
    let starts = |magic: &[u8]| data.read_bytes_at(0, magic.len() as u64).is_ok_and(|start| start == magic);
    if cfg!(target_os = "linux") && !starts(b"\x7fELF") {
        let path = library.display();
        return Some(format!("{path} is no library: it has {length} bytes, and does not begin as a library does"));
    }
    if !starts(b"\x7fELF\x02") {
        return None;
    }
    if let Some(machine) = machine(&data).filter(|&machine| Some(machine) != own_machine()) {
        let (path, arch) = (library.display(), std::env::consts::ARCH);
        return Some(format!("{path} is for {}, and this program for {arch}; fetch the one for {arch}", name(machine)));
    }
    let is_whole = extent(&data).is_some_and(|extent| extent <= length);
    (!is_whole).then(|| format!("{} is not whole: it has {length} bytes; fetch it again", library.display()))
}

/// The architecture that it is for, if that can be told and this program's own is known.
fn machine<'data>(data: impl ReadRef<'data>) -> Option<u16> {
    own_machine()?;
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    Some(header.e_machine(header.endian().ok()?))
}

fn own_machine() -> Option<u16> {
    match std::env::consts::ARCH {
        "x86_64" => Some(EM_X86_64),
        "aarch64" => Some(EM_AARCH64),
        _ => None,
    }
}

fn name(machine: u16) -> String {
    match machine {
        EM_X86_64 => "x86_64".to_owned(),
        EM_AARCH64 => "aarch64".to_owned(),
        other => format!("architecture {other} of ELF"),
    }
}

/// How long a library has to be for all that is mapped of it, and for its table of sections, which comes last; `None`
/// if not even that can be read.
fn extent<'data>(data: impl ReadRef<'data>) -> Option<u64> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = u64::from(header.e_shnum(endian)) * u64::from(header.e_shentsize(endian));
    let sections_end = header.e_shoff(endian).checked_add(sections)?;
    let segments = header.program_headers(endian, data).ok()?;
    let end = |segment: &ProgramHeader64<Endianness>| segment.p_offset(endian).checked_add(segment.p_filesz(endian));
    segments.iter().map(end).try_fold(sections_end, |longest, end| Some(longest.max(end?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// A library that every one of these machines has: the test itself.
    #[cfg(target_os = "linux")]
    #[test]
    fn every_part_that_is_missing_is_noticed() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        std::fs::write(&path, &program).unwrap();
        assert_eq!(fault(&path), None);
        for kept in [5, 63, 64, 200, program.len() / 3, program.len() - 1] {
            std::fs::write(&path, &program[..kept]).unwrap();
            let fault = fault(&path).unwrap();
            assert!(fault.contains("lib.so is not whole") && fault.contains(&format!("{kept} bytes")), "{fault}");
        }
    }

    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[test]
    fn a_library_for_other_computers_is_noticed() {
        let mut program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        for (machine, name) in [(EM_X86_64, "x86_64"), (EM_AARCH64, "aarch64"), (243, "architecture 243")] {
            program[18..20].copy_from_slice(&machine.to_le_bytes());
            std::fs::write(&path, &program).unwrap();
            let is_own = name == std::env::consts::ARCH;
            assert_eq!(fault(&path).is_none(), is_own);
            assert!(is_own || fault(&path).unwrap().contains(&format!("lib.so is for {name}")));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_library_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        for text in ["", "\x7fEL", "<html>There is no such file.</html>"] {
            std::fs::write(&path, text).unwrap();
            let expected = format!("{} is no library: it has {} bytes,", path.display(), text.len());
            assert!(fault(&path).is_some_and(|fault| fault.starts_with(&expected)), "{text}");
        }
    }

    #[test]
    fn other_files_are_left_to_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        std::fs::write(&path, "\x7fELF\x01 of 32 bits").unwrap();
        assert_eq!(fault(&path), None);
        assert_eq!(fault(&folder.path().join("none")), None);
        assert_eq!(fault(folder.path()), None, "a folder can't be read");
    }
}
