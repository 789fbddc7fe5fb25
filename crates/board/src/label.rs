//! Labels of clusters in the order of their speed: `B` for the fastest, `s` for the slowest.

use std::cmp::Reverse;

use crate::cluster::Cluster;

/// Sorts clusters from the fastest to the slowest and labels them.
pub(crate) fn sort_and_label(clusters: &mut [Cluster]) {
    clusters.sort_by_key(|cluster| (Reverse(cluster.capacity), cluster.cores.first().map(|core| core.id)));
    let labels = labels(clusters.len());
    for (cluster, label) in clusters.iter_mut().zip(labels) {
        cluster.label = label;
    }
}

/// Names clusters that are sorted from the fastest to the slowest: `B`, then `m`, `m2`, ..., and `s` for the last.
fn labels(count: usize) -> Vec<String> {
    (0..count)
        .map(|position| match position {
            0 => "B".to_owned(),
            last if last + 1 == count => "s".to_owned(),
            1 => "m".to_owned(),
            middle => format!("m{middle}"),
        })
        .collect()
}
