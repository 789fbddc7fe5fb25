//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/own_costs.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod own_costs;

#[test]
fn own_costs_shows_this() {
    let mut output = Vec::new();
    own_costs::show(&mut output).unwrap();
    let expected = ["(B1|s1): a frame every 4.500 ms"];
    assert_eq!(String::from_utf8(output).unwrap().lines().collect::<Vec<_>>(), expected);
}
