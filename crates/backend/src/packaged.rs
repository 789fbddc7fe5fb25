//! Where a package puts libraries that a program loads.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder `lib` beside the folder of the file that this code was loaded from, whatever links led there:
/// `/opt/millstream/lib` for the program `/opt/millstream/bin/millstream`, and for the library
/// `/opt/millstream/lib/libmillstream.so` in somebody else's program. It need not exist.
pub fn library_folder() -> Option<PathBuf> {
    let file = own_file().or_else(|| std::env::current_exe().ok())?;
    beside(&file.canonicalize().unwrap_or(file))
}

fn beside(file: &Path) -> Option<PathBuf> {
    Some(file.parent()?.parent()?.join("lib"))
}

/// The program or library that has this code, where the system lists what is in the process's memory.
fn own_file() -> Option<PathBuf> {
    let address = own_file as fn() -> Option<PathBuf> as usize;
    fs::read_to_string("/proc/self/maps").ok()?.lines().find_map(|line| mapped(line, address))
}

/// The file of a line of the list, such as `7f00-7f80 r-xp 00001000 fe:01 1234    /usr/lib/libc.so.6`, if it has this
/// address.
fn mapped(line: &str, address: usize) -> Option<PathBuf> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let is_there = (number(start)?..number(end)?).contains(&address);
    is_there.then(|| Some(PathBuf::from(&rest[rest.find('/')?..]))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_stand_beside_the_programs_folder() {
        assert_eq!(beside(Path::new("/opt/millstream/bin/millstream")), Some(PathBuf::from("/opt/millstream/lib")));
        assert_eq!(beside(Path::new("/opt/millstream/lib/libm.so")), Some(PathBuf::from("/opt/millstream/lib")));
        assert_eq!(beside(Path::new("/millstream")), None);
        assert!(library_folder().is_some_and(|folder| folder.ends_with("lib") && folder.is_absolute()));
    }

    #[test]
    fn code_is_found_in_the_file_that_it_was_loaded_from() {
        let line = "7f00-7f80 r-xp 00001000 fe:01 1234                       /a place/libx.so";
        assert_eq!(mapped(line, 0x7f00), Some(PathBuf::from("/a place/libx.so")));
        assert_eq!((mapped(line, 0x7eff), mapped(line, 0x7f80)), (None, None));
        assert_eq!(mapped("7f00-7f80 rw-p 00000000 00:00 0", 0x7f10), None, "no file");
        assert_eq!(mapped("nonsense", 1), None);
        #[cfg(target_os = "linux")]
        assert_eq!(own_file(), std::env::current_exe().ok(), "a test is a program");
    }
}
