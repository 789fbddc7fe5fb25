//! Stages of one host, by where their frames come from and go to.

use millstream_board::{ProcessorClass, System};
use millstream_cost::{CostTable, HostCrossing};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::{Crossing, input_bytes, output_bytes};

use super::host_links::{HostLinkTimes, Links, Rate};
use super::place::HostPlace;
use super::variant_table::{EntryKind, ExitKind, VariantTable};
use crate::error::PipelineError;
use crate::front::latency_period::LatencyPeriod;
use crate::inputs::ProblemInputs;
use crate::problem::Problem;
use crate::teams::effort::Effort;
use crate::times::crossing_times::CrossingTimes;

/// A network, its chain of blocks, and its costs on all hosts of a system.
#[derive(Clone, Copy)]
pub(super) struct NetworkCosts<'a> {
    pub(super) graph: &'a Graph,
    pub(super) chain: &'a Chain,
    pub(super) table: &'a CostTable,
    /// Processors that may own a stage together.
    pub(super) teams: &'a [Vec<ProcessorClass>],
    /// How much work searches put into these.
    pub(super) effort: Effort,
}

/// The problem of one host, once for each kind of link that frames come by and go by.
#[derive(Debug, Clone)]
pub(super) struct HostProblem {
    /// Its name.
    pub(super) name: String,
    /// What receiving costs, for each kind of link that leads here.
    receiving: Vec<Rate>,
    /// What sending costs, for each kind of link that leads away.
    sending: Vec<Rate>,
    /// What a frame takes on its way here from outside: for how long it occupies that way, and until it is here.
    pub(super) arriving: LatencyPeriod,
    /// And results on their way from here.
    pub(super) leaving: LatencyPeriod,
    variants: VariantTable<Problem>,
}

impl HostProblem {
    pub(super) fn new(
        NetworkCosts { graph, chain, table, teams, effort }: NetworkCosts<'_>,
        system: &System,
        place: HostPlace,
        links: &Links,
    ) -> Result<Self, PipelineError> {
        let host = &system.hosts()[place.index()];
        let board = host.in_system();
        let inputs = ProblemInputs { graph, chain, board: &board, table };
        let problem = |sender: Option<ProcessorClass>| -> Result<Problem, PipelineError> {
            Ok(Problem::of_board(inputs, sender)?.joined_by(teams, inputs, effort))
        };
        let within = problem(None)?;

        let receiving = different(links.to(place).map(|link| link.receiving));
        let sending = different(links.from(place).map(|link| link.sending));
        // Between hosts nothing depends on which processor of another host sends: any of them stands for all.
        let other = system.hosts().iter().find(|other| other.id != host.id);
        let sender = other.and_then(|other| other.in_system().processor_classes().next());
        let entered = match sender {
            Some(sender) => problem(Some(sender))?,
            None => within.clone(),
        };

        let nothing = || vec![Default::default(); chain.blocks().len() + 1];
        let variants = VariantTable::of(&receiving, &sending, |entry, exit| {
            let base = if entry.is_some() { &entered } else { &within };
            let received = entry.and_then(|rate| links.to(place).find(|link| link.receiving == *rate));
            let sent = exit.and_then(|rate| links.from(place).find(|link| link.sending == *rate));
            let mut crossing = CrossingTimes {
                receiving: received.map_or_else(nothing, |link| link.times(|frame| frame.receiving)),
                sending: sent.map_or_else(nothing, |link| link.times(|frame| frame.sending)),
            };
            // Over no link, what the network begins and ends with is from outside and goes there.
            let frame_cost = |bytes: u64| table.frame_cost(&host.id, bytes);
            if entry.is_none()
                && let Some(first) = crossing.receiving.first_mut()
            {
                *first = frame_cost(input_bytes(graph));
            }
            if exit.is_none()
                && let Some(last) = crossing.sending.last_mut()
            {
                *last = frame_cost(output_bytes(graph));
            }
            base.with_crossing(crossing)
        });
        let outside = HostCrossing::OUTSIDE;
        Ok(Self {
            name: host.id.clone(),
            receiving,
            sending,
            arriving: on_the_way(table.crossing(outside, &host.id), input_bytes(graph)),
            leaving: on_the_way(table.crossing(&host.id, outside), output_bytes(graph)),
            variants,
        })
    }

    /// The host with other problems in place of its own.
    pub(super) fn with(&self, other: impl Fn(&Problem) -> Problem) -> Self {
        let mut with = self.clone();
        with.variants.values_mut().for_each(|variant| *variant = other(variant));
        with
    }

    /// All stages, by how they are entered and left.
    pub(super) fn variants(&self) -> &VariantTable<Problem> {
        &self.variants
    }

    /// Stages that are entered and left so.
    pub(super) fn variant(&self, entry: EntryKind, exit: ExitKind) -> &Problem {
        &self.variants[(entry, exit)]
    }

    /// The problem within the host: stages whose frames come from and go to the host itself.
    pub(super) fn within(&self) -> &Problem {
        self.variant(EntryKind::SAME_HOST, ExitKind::SAME_HOST)
    }

    /// Kinds of entry from other hosts.
    pub(super) fn entries_by_link(&self) -> impl Iterator<Item = EntryKind> + use<> {
        (0..self.receiving.len()).map(EntryKind::by_link)
    }

    /// What a stage is entered by that gets frames over a link from another host.
    pub(super) fn entry_by(&self, link: &HostLinkTimes) -> EntryKind {
        EntryKind::by_link(self.receiving.iter().position(|rate| *rate == link.receiving).unwrap_or(0))
    }

    /// What a stage is left by that sends frames over a link to another host.
    pub(super) fn exit_by(&self, link: &HostLinkTimes) -> ExitKind {
        ExitKind::by_link(self.sending.iter().position(|rate| *rate == link.sending).unwrap_or(0))
    }
}

/// What so many bytes take on a way between a host and outside; nothing if it is not known.
fn on_the_way(way: Option<&HostCrossing>, bytes: u64) -> LatencyPeriod {
    way.map_or(LatencyPeriod::ZERO, |way| {
        let crossing = Crossing::of(way, bytes);
        LatencyPeriod { latency: crossing.time(), period: crossing.occupied }
    })
}

/// Each rate once.
fn different(rates: impl Iterator<Item = Rate>) -> Vec<Rate> {
    let mut different = Vec::new();
    for rate in rates {
        if !different.contains(&rate) {
            different.push(rate);
        }
    }
    different
}
