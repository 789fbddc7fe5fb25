//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/beside_heft.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod beside_heft;

#[test]
fn beside_heft_shows_this() {
    let mut output = Vec::new();
    beside_heft::show(&mut output).unwrap();
    let expected = [
        "HEFT: done after 39 ns; no mapping takes less than 28 ns",
        "  processor 0: camera, detect, segment, fuse, plan",
        "  processor 1: lidar",
        "CPOP: done after 39 ns; no mapping takes less than 28 ns",
        "  processor 0: camera, detect, segment, fuse, plan",
        "  processor 1: lidar",
        "bounded: done after 37 ns; no mapping takes less than 37 ns",
        "  processor 0: camera, segment, detect",
        "  processor 1: lidar, fuse, plan",
    ];
    assert_eq!(String::from_utf8(output).unwrap().lines().collect::<Vec<_>>(), expected);
}
