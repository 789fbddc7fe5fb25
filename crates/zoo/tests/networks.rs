//! The networks are the published ones: multiply-accumulates, parameters and weighted layers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_graph::Graph;

/// Network, weighted layers, giga-MACs of convolutions and fully connected layers, million parameters.
///
/// AlexNet, VGG, GoogLeNet, SqueezeNet, MobileNet and ResNet-50 as stated in their papers or the models they published;
/// MobileNet v1 has 28 layers (Pipe-it, table I); ResNet-50 has 54 (ibid.), GoogLeNet 58, SqueezeNet 26.
const EXPECTED: &[(&str, usize, f64, f64)] = &[
    ("alexnet", 8, 0.724, 61.0),
    ("vgg16", 16, 15.47, 138.4),
    ("vgg19", 19, 19.63, 143.7),
    ("googlenet", 58, 1.58, 7.0),
    ("squeezenet", 26, 0.82, 1.25),
    ("mobilenet-v1", 28, 0.569, 4.2),
    ("mobilenet-v2", 53, 0.300, 3.5),
    ("resnet50", 54, 3.86, 25.5),
    ("inception-v3", 95, 5.71, 23.8),
    ("inception-v4", 150, 12.27, 42.7),
    ("inception-resnet-v2", 245, 13.16, 55.8),
    ("yolov3", 75, 32.8, 61.9),
    ("tiny-darknet", 16, 0.485, 1.04),
    ("resnet50-int8", 54, 3.86, 25.5),
    ("mobilenet-v2-int8", 53, 0.300, 3.5),
];

fn weighted(graph: &Graph) -> impl Iterator<Item = &millstream_graph::Operator> {
    graph
        .operators()
        .iter()
        .filter(|operator| operator.kind.convolution().is_some() || operator.kind.has_weight_matrix())
}

#[test]
fn networks_are_the_published_ones() {
    // Three more are only like published ones, and one is synthetic.
    assert_eq!(EXPECTED.len() + 4, millstream_zoo::networks().len());
    for &(name, layers, giga_macs, million_parameters) in EXPECTED {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        assert_eq!(weighted(graph).count(), layers, "{name}: weighted layers");
        let macs = weighted(graph).map(|operator| operator.work.macs).sum::<u64>() as f64 / 1e9;
        assert!((macs / giga_macs - 1.0).abs() < 0.02, "{name}: {macs:.3} giga-MACs, expected {giga_macs}");
        // Of 8 bits or of 32; scales and the like are those of quantised networks alone.
        let is_weighted =
            |operator: &&millstream_graph::Operator| !name.ends_with("-int8") || operator.work.gemm.is_some();
        let bytes: u64 = graph.operators().iter().filter(is_weighted).map(|operator| operator.work.weight_bytes).sum();
        let parameters = bytes as f64 / if name.ends_with("-int8") { 1e6 } else { 4e6 };
        assert!((parameters / million_parameters - 1.0).abs() < 0.03, "{name}: {parameters:.2} million parameters");
        assert!(graph.values().iter().all(|value| value.shape.is_some() && value.data_type.is_some()), "{name}");
    }
}

#[test]
fn transformer_networks_have_the_sizes_that_para_pipe_evaluates() {
    // Para-Pipe, table III.
    for (name, operators) in [("petr-like", 337), ("bevformer-like", 257)] {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        assert_eq!(graph.operators().len(), operators, "{name}");
        assert!(graph.values().iter().all(|value| value.shape.is_some() && value.data_type.is_some()), "{name}");
    }
}

/// Shisha, section 7.1: a chain of eighteen convolutions.
#[test]
fn the_synthetic_network_is_a_chain_of_eighteen_convolutions() {
    let model = millstream_zoo::build("synthnet").unwrap();
    let graph = model.graph();
    assert_eq!(weighted(graph).count(), 18);
    assert!(graph.operators().iter().all(|operator| operator.inputs.len() == 1));
}

#[test]
fn the_same_name_gives_the_same_model() {
    let digest = || millstream_zoo::build("squeezenet").unwrap().digest().to_owned();
    assert_eq!(digest(), digest());
    assert_ne!(digest(), millstream_zoo::build("tiny-darknet").unwrap().digest());
}

/// Profiles, schedules and sessions that were kept know a network by its digest. YOLOv3 has layers that several cores
/// draw.
#[test]
fn networks_stay_what_they_were() {
    for (name, digest) in [
        ("squeezenet", "b60fb15733fb0a902a6303f8e06cba653b715499f4866dd398c9890919e21d20"),
        ("yolov3", "368634d7ef51e9cc7f8dfbf47d88886e7367ab4c09706f82ba2f0b52c70e3145"),
    ] {
        assert_eq!(millstream_zoo::build(name).unwrap().digest(), digest, "{name}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let message = millstream_zoo::build("lenet").unwrap_err().to_string();
    assert!(message.contains("'lenet'") && message.contains("squeezenet"), "{message}");
}

#[test]
fn the_sweep_covers_every_family_and_is_reproducible() {
    use millstream_graph::Family;
    let models: Vec<_> = millstream_zoo::Sweep::new().take(10).map(|model| model.unwrap()).collect();
    let operators = || models.iter().flat_map(|model| model.graph().operators());
    for family in Family::ALL.into_iter().filter(|&family| family != Family::Opaque) {
        let shapes: std::collections::HashSet<_> = operators()
            .filter(|operator| operator.kind.family() == family)
            .map(|operator| (operator.work.macs, operator.work.input_bytes, operator.work.output_bytes))
            .collect();
        assert!(shapes.len() >= 4, "{family}: {} shapes", shapes.len());
    }
    for model in &models {
        let graph = model.graph();
        assert!(graph.values().iter().all(|value| value.shape.is_some()), "{}", graph.name());
        assert!(graph.macs() < 15_000_000_000, "{}: {}", graph.name(), graph.macs());
    }
    let again = millstream_zoo::Sweep::new().nth(3).unwrap().unwrap();
    assert_eq!(again.digest(), models[3].digest());
}
