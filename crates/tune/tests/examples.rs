//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/searches.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod searches;

#[test]
fn searches_shows_this() {
    let mut output = Vec::new();
    searches::show(&mut output).unwrap();
    let expected = [
        "exhaustive: 32.000 ms after 110 trials",
        "Pipe-Search: 38.000 ms after 19 trials",
        "Shisha: 35.000 ms after 13 trials",
        "hill climbing: 32.000 ms after 300 trials",
        "simulated annealing: 32.000 ms after 300 trials",
        "model-guided: 32.000 ms after 3 trials",
    ];
    assert_eq!(String::from_utf8(output).unwrap().lines().collect::<Vec<_>>(), expected);
}
