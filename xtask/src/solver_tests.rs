//! How HiGHS is fetched and laid out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

/// A folder of this test's own, empty.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("millstream-solver-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("lib")).unwrap();
    fs::create_dir_all(folder.join("include")).unwrap();
    folder
}

#[test]
fn the_release_is_the_one_whose_headers_the_crate_has() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    assert!(lock.contains(&format!("name = \"highs-sys\"\nversion = \"{HIGHS}\"")), "{HIGHS}");
}

#[test]
fn cargo_is_told_where_the_library_is() {
    let config = fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
    for (name, place) in
        [("HOST_PKG_CONFIG_PATH", FOLDER.to_owned()), ("HOST_PKG_CONFIG", format!("{FOLDER}/pkg-config"))]
    {
        let line = format!("\n{name} = {{ value = \"{place}\", relative = true }}\n");
        assert!(config.contains(&line), "{line}");
    }
}

#[test]
fn a_way_can_be_chosen() {
    let of = |choice: &str| wanted(Some(OsStr::new(choice)));
    assert_eq!(wanted(None).ok(), Some(None));
    assert_eq!(of("").ok(), Some(None));
    assert_eq!(of("wheel").ok(), Some(Some(Way::Wheel)));
    assert_eq!(of("compile").ok(), Some(Some(Way::Compile)));
    assert!(of("Wheel").is_err_and(|Failure(message)| message.contains("'wheel' or 'compile'")));
}

#[test]
fn the_description_names_the_library_and_the_crates_own_headers() {
    let text = description(Path::new("/home/a b/highs"));
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap();
    assert_eq!(line("prefix="), "/home/a\\ b/highs", "blanks separate flags");
    assert_eq!(line("Version: "), HIGHS);
    assert_eq!(line("Libs: "), "-L${prefix}/lib -lhighs");
    assert_eq!(line("Cflags: "), "-I${prefix}/include -IHiGHS/highs");
}

#[test]
fn only_what_is_complete_and_in_its_place_counts_as_laid_out() {
    let folder = scratch("layout");
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    assert_eq!(laid_out(&folder), None);
    write("version", &stamp(Way::Wheel, &folder));
    for file in ["lib/libhighs.so", "include/HConfig.h", "highs.pc", "pkg-config"] {
        assert_eq!(laid_out(&folder), None, "{file} is missing");
        write(file, "");
    }
    assert_eq!(laid_out(&folder), Some(Way::Wheel));
    write("version", &stamp(Way::Wheel, Path::new("/elsewhere")));
    assert_eq!(laid_out(&folder), None, "copied from another place");
    write("version", &stamp(Way::Compile, &folder));
    assert_eq!(laid_out(&folder), Some(Way::Compile));
    write("version", "wheel 0.1");
    assert_eq!(laid_out(&folder), None, "another release");
    fs::remove_dir_all(&folder).unwrap();
}
