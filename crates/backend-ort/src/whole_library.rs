//! Whether a library's file is all there.

use std::fs::File;
use std::path::Path;

use object::elf::{FileHeader64, ProgramHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};

/// Says what is wrong with a library that was cut off, as by a full disk: the system maps it all the same and ends the process when it comes
/// to what is missing. Files that are not ELF ones of 64 bits are left to the system.
pub(crate) fn fault(library: &Path) -> Option<String> {
    let file = File::open(library).ok()?;
    let length = file.metadata().ok()?.len();
    let data = ReadCache::new(file);
    if !data.read_bytes_at(0, 5).is_ok_and(|start| start == b"\x7fELF\x02") {
        return None;
    }
    let is_whole = extent(&data).is_some_and(|extent| extent <= length);
    (!is_whole).then(|| format!("{} is not whole: it has {length} bytes; fetch it again", library.display()))
}

/// How long a library has to be for all that is mapped of it, and for its table of sections, which comes last; `None` if not even that can
/// be read.
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
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        std::fs::write(&path, &own).unwrap();
        assert_eq!(fault(&path), None);
        for kept in [5, 63, 64, 200, own.len() / 3, own.len() - 1] {
            std::fs::write(&path, &own[..kept]).unwrap();
            let fault = fault(&path).unwrap();
            assert!(fault.contains("lib.so is not whole") && fault.contains(&format!("{kept} bytes")), "{fault}");
        }
    }

    #[test]
    fn other_files_are_left_to_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        for text in ["", "no library", "\x7fELF\x01 of 32 bits"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(fault(&path), None);
        }
        assert_eq!(fault(&folder.path().join("none")), None);
    }
}
