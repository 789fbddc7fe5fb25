//! Names the library for itself, so that a program that is linked with it looks for it by this name, wherever it was linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmillstream.so");
    }
}
