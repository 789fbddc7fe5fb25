//! Networks of the zoo on a core and a graphics device together: convolutions divided between both, other operators
//! here and there. The results are those of plain sequential inference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::Arc;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_wgpu::{Gpu, WgpuBackend};
use millstream_board::Processor;
use millstream_graph::{Along, Graph, OperatorId, TileRegion};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use millstream_test_support::not_tested;

/// Operators that are divided, spread over the network: an emulated device takes its time.
const MOST_SPLITS: usize = 16;

/// Every so many-th operator with a sixteenth of its channels on the device, or as a whole if it can't be divided.
fn shared(graph: &Graph, supports: impl Fn(OperatorId) -> bool) -> Replica {
    let heads = graph.operator_ids().filter(|&id| supports(id) && graph.channel_units(id).is_some()).count();
    let step = heads.div_ceil(MOST_SPLITS).max(1);
    let (mut core, mut device, mut splits) = (Vec::new(), Vec::new(), Vec::new());
    let mut placed = HashSet::new();
    let mut seen = 0;
    for &id in graph.order() {
        if placed.contains(&id) {
            continue;
        }
        let units = graph.channel_units(id).filter(|_| supports(id));
        seen += usize::from(units.is_some());
        match units {
            Some(units) if seen % step == 0 => {
                let mut operators = vec![id];
                operators.extend(graph.channel_followers(id).into_iter().take_while(|&next| supports(next)));
                placed.extend(operators.iter().copied());
                core.extend(&operators);
                device.extend(&operators);
                let device_share = (units.channels / units.unit / 16).max(1) * units.unit;
                splits.push(OperatorSplit {
                    operators,
                    along: Along::Channels,
                    shares: vec![units.channels - device_share, device_share],
                });
            }
            None if supports(id) && graph.operator(id).work.macs < 1_000_000 && id.index() % 3 == 0 => device.push(id),
            _ => core.push(id),
        }
    }

    replica(core, device, splits)
}

fn replica(core: Vec<OperatorId>, device: Vec<OperatorId>, splits: Vec<OperatorSplit>) -> Replica {
    let assignments = vec![
        Assignment { processor: Processor::new("B", [0]), operators: core },
        Assignment { processor: Processor::accelerator("G"), operators: device },
    ];
    Replica { assignments, splits }
}

/// A few neighbours at a time with an eighth of their rows, or of their columns, on the device, spread over the network.
fn tiled(graph: &Graph, supports: impl Fn(OperatorId) -> bool) -> Replica {
    let order = graph.order();
    let (mut core, mut device, mut splits) = (Vec::new(), Vec::new(), Vec::new());
    let mut place = 0;
    while place < order.len() {
        let along = if splits.len() % 2 == 0 { Along::Rows } else { Along::Columns };
        let region = |count: usize| {
            let operators = order.get(place..place + count)?;
            let region = TileRegion::new(graph, operators, along).filter(|region| region.rows() >= 8)?;
            operators.iter().all(|&id| supports(id)).then(|| (operators.to_vec(), region.rows()))
        };
        let longest = (2..=6).rev().find_map(region).filter(|_| splits.len() < MOST_SPLITS);
        let Some((operators, rows)) = longest else {
            core.push(order[place]);
            place += 1;
            continue;
        };
        place += operators.len();
        core.extend(&operators);
        device.extend(&operators);
        splits.push(OperatorSplit { operators, along, shares: vec![rows - rows / 8, rows / 8] });
        // Some on the core alone.
        let apart = (order.len() / MOST_SPLITS).min(order.len() - place);
        core.extend(&order[place..place + apart]);
        place += apart;
    }
    replica(core, device, splits)
}

fn check(name: &str, shared: impl Fn(&Graph, &dyn Fn(OperatorId) -> bool) -> Replica) {
    let gpu = match Gpu::open(None) {
        Ok(gpu) => gpu,
        Err(error) => return not_tested("GPU", error),
    };
    let model = Arc::new(millstream_zoo::build(name).unwrap());
    let graph = model.graph();
    let cpu: Arc<dyn Backend> = Arc::new(OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
    let device: Arc<dyn Backend> = Arc::new(WgpuBackend::new(&gpu, "G", Arc::clone(&model)));
    let replica = shared(graph, &|id| device.supports(id, &Processor::accelerator("G")));
    assert!(replica.splits.len() > 3, "{name}");

    let frame: Vec<Tensor> = graph
        .inputs()
        .iter()
        .map(|&value| {
            let shape = graph.value(value).shape.clone().unwrap();
            let elements = (0..shape.elements()).map(|index| (index * 37 % 101) as f32 / 101.0).collect();
            Tensor::from_f32(shape, elements)
        })
        .collect();
    let whole = Segment::whole(graph);
    let expected = cpu.prepare(&whole, &Processor::new("B", [0])).unwrap().run(&frame).unwrap();
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let engine = Engine::new(graph, &schedule, &[cpu, device], &EngineOptions::default()).unwrap();
    for result in engine.run(std::iter::repeat_n(frame, 2)) {
        let outputs = result.outcome.unwrap();
        for (value, found) in graph.outputs().iter().zip(&outputs) {
            let place = whole.boundary.outputs.iter().position(|output| output == value).unwrap();
            let (found, expected) = (found.as_f32().unwrap(), expected[place].as_f32().unwrap());
            let scale = expected.iter().fold(1e-9_f32, |largest, value| largest.max(value.abs()));
            let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f32::max);
            assert!(apart < 1e-3, "{name}: {apart}");
        }
    }
}

macro_rules! networks {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name, |graph, supports| shared(graph, supports));
        })*
    };
}

networks! {
    alexnet: "alexnet",
    vgg16: "vgg16",
    vgg19: "vgg19",
    googlenet: "googlenet",
    squeezenet: "squeezenet",
    mobilenet_v1: "mobilenet-v1",
    mobilenet_v2: "mobilenet-v2",
    resnet50: "resnet50",
    inception_v3: "inception-v3",
    inception_v4: "inception-v4",
    inception_resnet_v2: "inception-resnet-v2",
    yolov3: "yolov3",
    tiny_darknet: "tiny-darknet",
    synthnet: "synthnet",
}

#[test]
fn maps_are_divided_by_rows_and_by_columns() {
    for name in ["squeezenet", "tiny-darknet", "mobilenet-v2", "googlenet"] {
        check(name, |graph, supports| tiled(graph, supports));
    }
}
