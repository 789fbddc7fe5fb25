//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/camera.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod camera;

#[test]
fn camera_shows_this() {
    let mut output = Vec::new();
    camera::show(&mut output).unwrap();
    let expected = [
        "B1-s1: a frame every 18.000 ms, each within 33.000 ms",
        "25 frames/s: 25.0 come out, each at most 33.000 ms after it arrived",
        "50 frames/s: 50.0 come out, each at most 33.000 ms after it arrived",
        "55 frames/s: 55.0 come out, each at most 33.000 ms after it arrived",
        "60 frames/s: 55.6 come out, each at most 298.333 ms after it arrived",
    ];
    assert_eq!(String::from_utf8(output).unwrap().lines().collect::<Vec<_>>(), expected);
}
