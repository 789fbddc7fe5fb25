//! Names the library for itself, so that a program that is linked with it looks for it by this name, wherever it was
//! linked.

/// Packages have a name with a number, and a link to it for linkers; here, the file that cargo makes is all there is.
const VARIABLE: &str = "MILLSTREAM_SONAME";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let name = std::env::var(VARIABLE).unwrap_or_else(|_| "libmillstream.so".to_owned());
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    }
}
