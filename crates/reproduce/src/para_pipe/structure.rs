//! Table I: subgraphs of the networks, and how many operators can run at once.

use millstream_partition::subgraphs;
use millstream_report::{Align, Table};

use crate::claim::Claim;
use crate::evidence::Evidence;
use crate::paper::ReproduceError;
use crate::para_pipe::networks::NETWORKS;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

pub(super) fn section() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("subgraphs, ours", Align::Right),
        ("paper's", Align::Right),
        ("parallelism, ours", Align::Right),
        ("paper's", Align::Right),
        ("largest subgraph", Align::Right),
    ]);

    let mut claims = Vec::new();
    for network in &NETWORKS {
        let model = millstream_zoo::build(network.model)?;
        let found = subgraphs(model.graph());
        let parallelism = found.iter().map(|subgraph| subgraph.parallelism).max().unwrap_or(0);
        let largest = found.iter().map(|subgraph| subgraph.operators().count()).max().unwrap_or(0);
        table.row([
            network.name.to_owned(),
            found.len().to_string(),
            network.subgraphs.to_string(),
            parallelism.to_string(),
            network.parallelism.to_string(),
            format!("{largest} operators"),
        ]);
        let counts = [("subgraphs", found.len(), network.subgraphs), ("parallelism", parallelism, network.parallelism)];
        for (what, ours, paper) in counts {
            let claim = Claim::count(format!("{what} of {}", network.name), ours, paper);
            claims.push(if network.is_made_to_size { claim.only(Evidence::ByDefinition) } else { claim });
        }
    }

    Ok(Section {
        item: PaperItem::Table(1),
        about: "subgraphs and maximum parallelism".to_owned(),
        kind: Kind::Counted,
        table,
        notes: vec!["The transformer networks are ours, made in the sizes that the paper states, which are not counted for that.".to_owned()],
        claims,
    })
}
