//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/stages_by_hand.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod stages_by_hand;

#[test]
fn stages_by_hand_shows_this() {
    let mut output = Vec::new();
    stages_by_hand::show(&mut output).unwrap();
    let expected = [
        "B1      a frame every 6.000 ms, each within 6.000 ms",
        "B1-s1   a frame every 6.000 ms, each within 10.000 ms",
        "(B1|s1) a frame every 4.500 ms, each within 18.000 ms",
    ];
    assert_eq!(String::from_utf8(output).unwrap().lines().collect::<Vec<_>>(), expected);
}
