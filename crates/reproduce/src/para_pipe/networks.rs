//! Para-Pipe's networks and the sizes that it prints.

/// A network of tables I and III: name, ours, subgraphs, parallelism, operators, and what solving took.
pub(super) struct Network {
    pub(super) name: &'static str,
    pub(super) model: &'static str,
    pub(super) subgraphs: usize,
    pub(super) parallelism: usize,
    pub(super) operators: usize,
    pub(super) minutes: &'static str,
    /// Whether ours was built so that it has these sizes: the paper does not describe its transformers operator by
    /// operator.
    pub(super) is_made_to_size: bool,
}

pub(super) const NETWORKS: [Network; 6] = [
    network("GoogLeNet", "googlenet", [11, 4, 141], "< 1"),
    network("Inception-v3", "inception-v3", [13, 6, 220], "4"),
    network("Inception-v4", "inception-v4", [21, 6, 343], "4"),
    network("Inception-ResNet-v2", "inception-resnet-v2", [45, 4, 576], "< 1"),
    made_to_size("PETR-based", "petr-like", [24, 16, 337], "361"),
    made_to_size("BEVFormer-based", "bevformer-like", [25, 4, 257], "< 1"),
];

pub(super) const fn network(
    name: &'static str,
    model: &'static str,
    counts: [usize; 3],
    minutes: &'static str,
) -> Network {
    let [subgraphs, parallelism, operators] = counts;
    Network { name, model, subgraphs, parallelism, operators, minutes, is_made_to_size: false }
}

pub(super) const fn made_to_size(
    name: &'static str,
    model: &'static str,
    counts: [usize; 3],
    minutes: &'static str,
) -> Network {
    Network { is_made_to_size: true, ..network(name, model, counts, minutes) }
}
