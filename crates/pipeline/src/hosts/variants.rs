//! Stages of one host, by where their frames come from and go to.

use std::sync::Arc;

use millstream_board::System;
use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_partition::Chain;

use super::links::{HostWay, Links, Rate};
use crate::problem::CrossingTimes;
use crate::{PipelineError, Problem};

/// The problem of one host, once for each kind of way that frames come by and go by.
#[derive(Debug, Clone)]
pub(super) struct HostProblem {
    /// Its name.
    pub(super) name: String,
    /// What receiving a byte costs, for each kind of way that leads here.
    receiving: Vec<Rate>,
    /// What sending a byte costs, for each kind of way that leads away.
    sending: Vec<Rate>,
    /// Row per kind of entry.
    variants: Vec<Problem>,
}

/// How a stage is entered: first from its own host or from outside the network, then by each kind of way from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryKind(pub(super) usize);

/// How a stage is left: first to its own host or to outside, then by each kind of way to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExitKind(pub(super) usize);

impl EntryKind {
    /// From the same host, or from outside.
    pub(super) const OWN: Self = Self(0);
}

impl ExitKind {
    /// To the same host, or to outside.
    pub(super) const OWN: Self = Self(0);
}

impl HostProblem {
    pub(super) fn new(
        (graph, chain, table): (&Graph, &Chain, &CostTable),
        system: &System,
        place: usize,
        links: &Links,
        bytes: &[u64],
    ) -> Result<Self, PipelineError> {
        let host = &system.hosts()[place];
        let board = host.in_system();
        let own = Problem::of_board(graph, chain, &board, table, None)?;
        let receiving = different(links.to(place).map(|way| way.receiving));
        let sending = different(links.from(place).map(|way| way.sending));
        // Between hosts nothing depends on which processor of another host sends: any of them stands for all.
        let other = system.hosts().iter().find(|other| other.id != host.id);
        let sender = other.and_then(|other| other.in_system().processor_classes().next());
        let entered = match sender {
            Some(sender) => Problem::of_board(graph, chain, &board, table, Some(sender))?,
            None => own.clone(),
        };

        let nothing = || vec![Default::default(); bytes.len()];
        let mut variants = Vec::new();
        for entry in std::iter::once(None).chain(receiving.iter().map(Some)) {
            for exit in std::iter::once(None).chain(sending.iter().map(Some)) {
                let base = if entry.is_some() { &entered } else { &own };
                let received = entry.and_then(|rate| links.to(place).find(|way| way.receiving == *rate));
                let sent = exit.and_then(|rate| links.from(place).find(|way| way.sending == *rate));
                let crossing = CrossingTimes {
                    receiving: received.map_or_else(nothing, |way| way.receiving_times.clone()),
                    sending: sent.map_or_else(nothing, |way| way.sending_times.clone()),
                };
                let is_free = entry.is_none() && exit.is_none();
                let crossing = (!is_free).then(|| Arc::new(crossing));
                variants.push(Problem { crossing, options: Arc::default(), ..base.clone() });
            }
        }
        Ok(Self { name: host.id.clone(), receiving, sending, variants })
    }

    pub(super) fn drop_replicas(&mut self) {
        for variant in &mut self.variants {
            *variant = variant.clone().without_replicas();
        }
    }

    /// Stages that are entered and left so.
    pub(super) fn variant(&self, entry: EntryKind, exit: ExitKind) -> &Problem {
        &self.variants[entry.0 * self.exits() + exit.0]
    }

    /// Stages whose frames come from and go to the host itself.
    pub(super) fn own(&self) -> &Problem {
        self.variant(EntryKind::OWN, ExitKind::OWN)
    }

    /// Kinds of entry.
    pub(super) fn entries(&self) -> usize {
        1 + self.receiving.len()
    }

    /// Kinds of exit.
    pub(super) fn exits(&self) -> usize {
        1 + self.sending.len()
    }

    /// What a stage is entered by that gets frames by a way from another host.
    pub(super) fn entry_by(&self, way: &HostWay) -> EntryKind {
        EntryKind(1 + self.receiving.iter().position(|rate| *rate == way.receiving).unwrap_or(0))
    }

    /// What a stage is left by that sends frames by a way to another host.
    pub(super) fn exit_by(&self, way: &HostWay) -> ExitKind {
        ExitKind(1 + self.sending.iter().position(|rate| *rate == way.sending).unwrap_or(0))
    }
}

/// Each rate once.
fn different(rates: impl Iterator<Item = Rate>) -> Vec<Rate> {
    let mut known = Vec::new();
    for rate in rates {
        if !known.contains(&rate) {
            known.push(rate);
        }
    }
    known
}
