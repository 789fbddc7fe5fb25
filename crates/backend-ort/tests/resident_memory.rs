//! The memory of a process whose schedules are replaced again and again. The only test of its process: others would be
//! counted too.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_onnx::{ModelBuilder, Weight};

/// Two matrices of this many rows and columns are 9 MB.
const SIZE: usize = 1060;
const ROUNDS: usize = 500;

/// What is resident: with what the allocator keeps for later, which differs from moment to moment.
fn resident_mib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap() / 1024.0
}

#[test]
fn memory_does_not_grow_with_the_number_of_schedules() {
    let mut builder = ModelBuilder::new("products");
    let mut last = builder.input("x", [1, SIZE]);
    for name in ["first", "second"] {
        let element = |index: usize| (index * 31 % 61) as f32 / 61.0;
        let weight = Weight::from_f32([SIZE, SIZE], (0..SIZE * SIZE).map(element).collect());
        let weight = builder.weight(name, &weight);
        last = builder.node("MatMul", &[&last, &weight]);
    }
    builder.output(&last);
    let model = Arc::new(builder.build().unwrap());
    let backend = OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model));
    let input = Tensor::from_f32([1, SIZE], vec![0.25; SIZE]);
    let core = Processor::new("B", [0]);

    println!("{:.0} MiB before the first schedule", resident_mib());
    let allocated_mib = || millstream_machine::allocated_bytes().map(|bytes| bytes as f64 / (1 << 20) as f64);
    let mut after_20 = (0.0, None);
    let mut current = Vec::new();
    for round in 1..=ROUNDS {
        backend.begin_schedule();
        let split = 20 + round * 37 % (SIZE - 40);
        let parts = |&operator| [0..split, split..SIZE].map(|part| Segment::part(model.graph(), vec![operator], part));
        let parts = model.graph().order().iter().flat_map(parts);
        let mut next: Vec<_> = parts.map(|part| backend.prepare(&part, &core).unwrap()).collect();
        next.iter_mut().for_each(|part| drop(part.run(std::slice::from_ref(&input)).unwrap()));
        current = next;
        if [1, 20, 60, 120, ROUNDS].contains(&round) {
            println!("{:.0} MiB after {round} schedules", resident_mib());
        }
        if round == 20 {
            after_20 = (resident_mib(), allocated_mib());
        }
    }
    assert_eq!(current.len(), 4);
    let (now, (resident, allocated)) = (resident_mib(), after_20);
    assert!(now <= 1.5 * resident, "{now:.0} MiB resident after {ROUNDS} schedules, {resident:.0} MiB after 20");
    for (now, then) in allocated_mib().into_iter().zip(allocated) {
        println!("{now:.1} MiB allocated after {ROUNDS} schedules, {then:.1} MiB after 20");
        assert!(now <= 1.02 * then, "{now:.1} MiB allocated after {ROUNDS} schedules, {then:.1} MiB after 20");
    }
}
