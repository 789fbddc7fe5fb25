//! The header in the repository is what the source says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

/// The version of the header, in numbers that C can compare.
fn version() -> String {
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    format!(
        "
/* The version of this header; ms_version tells that of the library. */
#define MILLSTREAM_VERSION_MAJOR {major}
#define MILLSTREAM_VERSION_MINOR {minor}
#define MILLSTREAM_VERSION_PATCH {patch}
#define MILLSTREAM_VERSION \"{}\"",
        env!("CARGO_PKG_VERSION")
    )
}

#[test]
fn the_header_is_what_cbindgen_makes_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut configuration = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    configuration.after_includes = Some(version());
    let made = cbindgen::Builder::new().with_src(folder.join("src/border/text.rs"));
    let made = ["status", "tensor", "session", "stream", "result"]
        .iter()
        .fold(made, |made, name| made.with_src(folder.join(format!("src/border/{name}.rs"))));
    let mut text = Vec::new();
    made.with_config(configuration).generate().unwrap().write(&mut text);
    let (made, file) = (String::from_utf8(text).unwrap(), folder.join("include/millstream.h"));
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == made, "include/millstream.h is out of date; `cargo xtask snapshots` makes it anew");
}
