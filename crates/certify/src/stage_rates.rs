//! How often stages on single processors and replicas of them pass frames.

use std::collections::HashSet;

use millstream_board::{Board, ProcessorClass, host_of};
use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId, ValueId};

use crate::network::NetworkBlocks;

/// A stage that takes so many nanoseconds, 146 years, counts as impossible: so sums of a pipeline's stages stay within
/// their type.
const TIME_LIMIT_NANOSECONDS: u64 = u64::MAX / 4;

/// Who hands a stage its frames.
#[derive(Clone, Copy)]
pub(crate) enum Senders<'a> {
    /// The stage before it, on these units.
    Units(&'a [usize]),
    /// Another host. All classes there hand over at the same cost, so that any of them stands for all.
    OtherHost(ClassId),
}

/// The blocks of a stage, and where its frames come from.
#[derive(Clone, Copy)]
pub(crate) struct StageSpan<'a> {
    pub(crate) senders: Senders<'a>,
    /// Blocks that are done before it.
    pub(crate) start: usize,
    /// Blocks that are done after it.
    pub(crate) end: usize,
    /// What it pays beside for frames from other hosts or to them, and in a system for those from outside and for
    /// results.
    pub(crate) crossing_nanoseconds: u64,
}

/// A cluster, or an accelerator as a cluster of one core.
pub(crate) struct Unit {
    label: String,
    pub(crate) cores: usize,
    /// By the numbers of cores from 1, its classes with each engine, the cluster's first engine first.
    classes: Vec<Vec<ClassId>>,
    /// Of an accelerator with memory of its own: what fits there.
    memory_bytes: Option<u64>,
}

impl Unit {
    /// The class that stands for it where only the cluster matters.
    pub(crate) fn first_class(&self) -> ClassId {
        self.classes[0][0]
    }
}

/// Frames per nanosecond on cores of a unit.
#[derive(Clone, Default)]
pub(crate) struct UnitRates {
    /// Of one processor of so many cores, from 1.
    alone: Vec<f64>,
    /// Of the best replicas on at most so many cores, from 0.
    pub(crate) best: Vec<f64>,
}

/// What is needed to time every stage of a network.
pub(crate) struct StageRates<'a> {
    table: &'a CostTable,
    pub(crate) units: Vec<Unit>,
    /// Per class: times of the first so many blocks, and how many of them can't run there.
    sums: Vec<Vec<(u64, usize)>>,
    /// Bytes that weights and values of the first so many blocks take up.
    held: Vec<u64>,
    /// Per start and end: bytes from earlier blocks, and from outside.
    received: Vec<Vec<(u64, u64)>>,
    /// Per end and start: bytes that later blocks or the outside read.
    sent: Vec<Vec<u64>>,
    pub(crate) blocks: usize,
    /// No value that an operator makes is smaller, if that is a byte at the most.
    least_bytes: u64,
    have_links: bool,
}

impl<'a> StageRates<'a> {
    /// `None` if the table lacks a processor of the board.
    pub(crate) fn new(network: NetworkBlocks<'_>, board: &Board, table: &'a CostTable) -> Option<Self> {
        Self::of_units(network, board, table, |_| true)
    }

    /// Those of one host of a system that is one board.
    pub(crate) fn of_host(network: NetworkBlocks<'_>, board: &Board, table: &'a CostTable, host: &str) -> Option<Self> {
        Self::of_units(network, board, table, |label| host_of(label) == Some(host))
    }

    fn of_units(
        NetworkBlocks { graph, chain }: NetworkBlocks<'_>,
        board: &Board,
        table: &'a CostTable,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let mut units = Vec::new();
        for cluster in board.clusters().iter().filter(|cluster| is_meant(&cluster.label)) {
            let with = |count, engine| table.find(&cluster.class(count).with_engine(engine));
            let of_count = |count| cluster.engines.iter().map(|engine| with(count, engine)).collect::<Option<Vec<_>>>();
            let classes = (1..=cluster.cores.len()).map(of_count).collect::<Option<_>>()?;
            let label = cluster.label.clone();
            units.push(Unit { label, cores: cluster.cores.len(), classes, memory_bytes: None });
        }
        for accelerator in board.accelerators().iter().filter(|accelerator| is_meant(&accelerator.label)) {
            let class = table.find(&ProcessorClass::new(accelerator.label.clone(), 1))?;
            let label = accelerator.label.clone();
            units.push(Unit { label, cores: 1, classes: vec![vec![class]], memory_bytes: accelerator.memory_bytes });
        }
        let blocks: Vec<&[OperatorId]> = chain.blocks().iter().map(|block| block.operators.as_slice()).collect();
        let sums = table.class_ids().map(|processor| running_sums(&blocks, table, processor)).collect();
        let mut held = vec![0_u64];
        for operators in &blocks {
            let work = operators.iter().map(|&id| graph.operator(id).work);
            let bytes = work.flat_map(|work| [work.weight_bytes, work.output_bytes]);
            held.push(bytes.fold(held[held.len() - 1], u64::saturating_add));
        }

        let received = (0..blocks.len()).map(|start| received_from(graph, &blocks, start)).collect();
        let made = graph.operator_ids().flat_map(|id| &graph.operator(id).outputs);
        let least_bytes = made.map(|&value| graph.value(value).bytes().unwrap_or(0)).min().unwrap_or(0).min(1);
        let (sent, blocks) = (sent(graph, &blocks), blocks.len());
        let have_links = {
            let ends = || units.iter().map(Unit::first_class);
            ends().any(|from| ends().any(|to| table.link_time(from, to, u64::from(u32::MAX)) > Nanoseconds::ZERO))
        };
        Some(Self { table, units, sums, held, received, sent, blocks, least_bytes, have_links })
    }

    /// Whether it matters to a stage which cluster sends.
    pub(crate) fn senders_matter(&self) -> bool {
        let ends = || self.units.iter().map(Unit::first_class);
        ends().any(|from| ends().any(|to| self.table.link(from, to).is_some()))
    }

    /// Whether frames can occupy a link so that it carries nothing else.
    pub(crate) fn have_links(&self) -> bool {
        self.have_links
    }

    /// The units to which a stage occupies a link.
    pub(crate) fn occupied_links(&self, stage: StageSpan<'_>) -> Vec<usize> {
        let link = |unit: &usize| {
            let to = self.units[*unit].first_class();
            self.longest(*unit, stage, |from, bytes| self.table.link_time(from, to, bytes))
        };
        let units = if self.have_links() { 0..self.units.len() } else { 0..0 };
        units.filter(|unit| link(unit) > Nanoseconds::ZERO).collect()
    }

    /// Cores of each unit that these processors have.
    pub(crate) fn cores_of(&self, processors: &[ProcessorClass]) -> Vec<usize> {
        let of =
            |unit: &Unit| processors.iter().filter(|class| class.cluster == unit.label).map(|class| class.count).sum();
        self.units.iter().map(of).collect()
    }

    /// The least that a stage pays on a processor to take anything over.
    pub(crate) fn least_hand_over(&self, senders: &[usize], to: ClassId) -> u64 {
        let from = senders.iter().map(|&from| self.units[from].first_class());
        from.map(|from| self.table.hand_over(from, to, self.least_bytes).0).max().unwrap_or(0)
    }

    /// Time of a stage on so many cores of a unit, with the engine that is quickest.
    pub(crate) fn least_time(&self, (unit, count): (usize, usize), stage: StageSpan<'_>) -> Option<u64> {
        let with_each = self.units[unit].classes.get(count - 1)?.iter();
        with_each.filter_map(|&class| self.time(unit, class, stage)).min()
    }

    /// Works out what so many cores of a unit do at the most for a stage.
    pub(crate) fn work_out(&self, rates: &mut UnitRates, (unit, cores): (usize, usize), stage: StageSpan<'_>) {
        let single = |count: usize| Some(1.0 / self.least_time((unit, count), stage)? as f64);
        let UnitRates { alone, best } = rates;
        alone.clear();
        alone.extend((1..=cores).map(|count| single(count).unwrap_or(0.0)));
        best.clear();
        best.push(0.0);
        for cores in 1..=cores {
            let with_one_of = |count: usize| alone[count - 1] + best[cores - count];
            best.push((1..=cores).map(with_one_of).fold(best[cores - 1], f64::max));
        }
        let receiver = self.units[unit].first_class();
        match self.longest(unit, stage, |from, bytes| self.table.link_time(from, receiver, bytes)) {
            Nanoseconds::ZERO => {}
            link => best.iter_mut().for_each(|rate| *rate = rate.min(1.0 / link.0 as f64)),
        }
    }

    /// Time of a stage on one processor; `None` if it can't run there.
    fn time(&self, unit: usize, class: ClassId, stage: StageSpan<'_>) -> Option<u64> {
        let StageSpan { start, end, crossing_nanoseconds, .. } = stage;
        let sums = &self.sums[class.index()];
        if sums[end].1 > sums[start].1 {
            return None;
        }
        let (made, given) = self.received[start][end];
        let held = (self.held[end] - self.held[start]).saturating_add(made).saturating_add(given);
        if self.units[unit].memory_bytes.is_some_and(|most| held > most) {
            return None;
        }
        let access = self.table.access(class);
        let taken_over = match (start, access) {
            (0, None) => Nanoseconds::ZERO,
            (0, Some(access)) => access.upload(self.bytes(unit, start, end)),
            _ => self.longest(unit, stage, |from, bytes| self.table.hand_over(from, class, bytes)),
        };
        let given_back = access.map_or(Nanoseconds::ZERO, |access| access.download(self.sent[end][start]));
        let work = sums[end].0 - sums[start].0;
        let within = work.saturating_add((taken_over + given_back).0);
        possible(within.saturating_add(crossing_nanoseconds))
    }

    /// What is brought to a unit: what is given from outside is there already, but for memories of their own.
    fn bytes(&self, unit: usize, start: usize, end: usize) -> u64 {
        let (made, given) = self.received[start][end];
        if self.table.access(self.units[unit].first_class()).is_some() { made.saturating_add(given) } else { made }
    }

    /// The longest of what something takes from each of the senders; nothing at the start of the network.
    fn longest(
        &self,
        unit: usize,
        StageSpan { senders, start, end, .. }: StageSpan<'_>,
        time: impl Fn(ClassId, u64) -> Nanoseconds,
    ) -> Nanoseconds {
        if start == 0 {
            return Nanoseconds::ZERO;
        }
        let bytes = self.bytes(unit, start, end);
        match senders {
            Senders::OtherHost(from) => time(from, bytes),
            Senders::Units(units) => {
                units.iter().map(|&from| time(self.units[from].first_class(), bytes)).max().unwrap_or_default()
            }
        }
    }
}

/// The time of a stage in nanoseconds, at least one; `None` if it reaches the limit and counts as impossible.
pub(crate) fn possible(time: u64) -> Option<u64> {
    Some(time.max(1)).filter(|time| *time < TIME_LIMIT_NANOSECONDS)
}

fn running_sums(blocks: &[&[OperatorId]], table: &CostTable, class: ClassId) -> Vec<(u64, usize)> {
    let mut sums = vec![(0, 0)];
    for operators in blocks {
        let (sum, gaps) = sums[sums.len() - 1];
        let times: Option<u64> = operators.iter().map(|&id| table.time(class, id).map(|time| time.0)).sum();
        sums.push(match times {
            Some(time) => (u64::saturating_add(sum, time), gaps),
            None => (sum, gaps + 1),
        });
    }
    sums
}

/// Bytes that blocks from `start` on read and did not make, by where they end: made by others, and given to the
/// network.
fn received_from(graph: &Graph, blocks: &[&[OperatorId]], start: usize) -> Vec<(u64, u64)> {
    let mut values: HashSet<ValueId> = HashSet::new();
    let mut bytes = vec![(0_u64, 0_u64); blocks.len() + 1];
    for end in start + 1..=blocks.len() {
        let (mut made, mut given) = bytes[end - 1];
        for &id in blocks[end - 1] {
            for &value in &graph.operator(id).inputs {
                // What the stage made itself is its own as well.
                if values.insert(value) {
                    let size = graph.value(value).bytes().unwrap_or(0);
                    let from_others = graph.producer(value).is_some();
                    let bytes = if from_others { &mut made } else { &mut given };
                    *bytes = bytes.saturating_add(size);
                }
            }
            values.extend(&graph.operator(id).outputs);
        }
        bytes[end] = (made, given);
    }
    bytes
}

/// Bytes of what a range makes and somebody else reads, per end and start.
fn sent(graph: &Graph, blocks: &[&[OperatorId]]) -> Vec<Vec<u64>> {
    let count = blocks.len();
    let mut block_of = vec![0; graph.operators().len()];
    for (block, operators) in blocks.iter().enumerate() {
        operators.iter().for_each(|id| block_of[id.index()] = block);
    }
    let mut sent = vec![vec![0_u64; count + 1]; count + 1];
    for (made, operators) in blocks.iter().enumerate() {
        for &value in operators.iter().flat_map(|&id| &graph.operator(id).outputs) {
            let readers = graph.readers(value).iter().map(|reader| block_of[reader.index()]);
            let is_returned = graph.outputs().contains(&value);
            let last = if is_returned { count } else { readers.max().unwrap_or(0) };
            // A stage that ends before the last reader sends it, wherever it started at or before the maker.
            for row in sent.iter_mut().take(last + 1).skip(made + 1) {
                row[made] = row[made].saturating_add(graph.value(value).bytes().unwrap_or(0));
            }
        }
    }
    for row in &mut sent {
        (0..count).rev().for_each(|start| row[start] = row[start].saturating_add(row[start + 1]));
    }
    sent
}
