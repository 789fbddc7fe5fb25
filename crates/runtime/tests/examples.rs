//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/own_backend.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod own_backend;

#[test]
fn own_backend_shows_this() {
    let mut output = Vec::new();
    own_backend::show(&mut output).unwrap();
    let expected = ["256: 2", "6561: 3", "-1: stage 1: a number below 0 has no square root", "65536: 4"];
    assert_eq!(String::from_utf8(output).unwrap().lines().collect::<Vec<_>>(), expected);
}
