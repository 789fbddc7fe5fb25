use millstream_board::ProcessorClass;

use crate::memory_limit::MemoryLimit;
use crate::{BlockedEnd, CostEntry, HostCrossing, Nanoseconds, ProcessorPower, RowCost, TransferModel};

/// Identifies a processor class of one [`CostTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessorIndex(usize);

impl ProcessorIndex {
    /// Position of the class in [`CostTable::classes`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// What a stage pays to take over a frame's values from the stages before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandOver {
    /// Once per frame.
    pub seconds: f64,
    /// Per byte received.
    pub seconds_per_byte: f64,
}

impl HandOver {
    /// One that takes no time.
    pub const FREE: Self = Self { seconds: 0.0, seconds_per_byte: 0.0 };

    /// Time for so many bytes; nothing for none.
    fn time(&self, bytes: u64) -> Nanoseconds {
        match bytes {
            0 => Nanoseconds::ZERO,
            _ => within_a_day(self.seconds + self.seconds_per_byte * bytes as f64),
        }
    }
}

/// What a frame's values take on their way between the clusters or accelerators of two stages, beyond what the receiver pays in any case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkCost {
    /// Time of the way.
    pub hand_over: HandOver,
    /// For how long a byte occupies the link, which then carries nothing else; 0 where others can use the way at the same time.
    pub occupied_seconds_per_byte: f64,
}

/// A time of moving something, of which a day is the most: nobody waits longer, and sums of days are numbers.
fn within_a_day(seconds: f64) -> Nanoseconds {
    Nanoseconds::from_seconds(seconds.min(86_400.0))
}

/// What it takes to move values into and out of the memory of a processor that has its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryAccess {
    /// Bringing a stage's inputs there.
    pub upload: HandOver,
    /// Bringing its results to where everybody can read them.
    pub download: HandOver,
}

impl MemoryAccess {
    /// Time to bring so many bytes there; nothing for none.
    pub fn upload(&self, bytes: u64) -> Nanoseconds {
        self.upload.time(bytes)
    }

    /// Time to bring so many bytes back; nothing for none.
    pub fn download(&self, bytes: u64) -> Nanoseconds {
        self.download.time(bytes)
    }
}

/// How an operator's time depends on how many of its output channels a processor makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartCost {
    /// Part of the operator's time that does not become shorter with fewer channels, from 0 to 1.
    pub fixed_fraction: f64,
    /// Channels that the processor makes at once: an incomplete wave takes as long as a whole one.
    pub wave: usize,
    /// What the operator takes longer when it runs alone instead of among its neighbours, whatever its number of channels: starting it,
    /// and converting its input to its own layout.
    pub apart: Nanoseconds,
}

impl Default for PartCost {
    /// Time in proportion to the channels.
    fn default() -> Self {
        Self { fixed_fraction: 0.0, wave: 1, apart: Nanoseconds::ZERO }
    }
}

impl PartCost {
    /// The time of a part, in terms of that of the whole.
    pub fn fraction(&self, channels: usize, of: usize) -> f64 {
        let wave = self.wave.max(1);
        let waves = |channels: usize| channels.div_ceil(wave) as f64;
        self.fixed_fraction + (1.0 - self.fixed_fraction) * waves(channels) / waves(of).max(1.0)
    }
}

/// Operators x processor classes to times. Operators are numbered as in their graph
/// (`OperatorId::index` of `millstream-graph`).
#[derive(Debug, Clone)]
pub struct CostTable {
    operators: usize,
    classes: Vec<ProcessorClass>,
    /// Row per class.
    entries: Vec<Option<CostEntry>>,
    hand_overs: Vec<HandOver>,
    /// The different clusters and accelerators of the classes, and which of them each class is of.
    units: Vec<String>,
    unit_of: Vec<usize>,
    /// Row per sending unit.
    links: Vec<Option<LinkCost>>,
    /// Row per sending class.
    transfers: Vec<TransferModel>,
    power: Vec<Option<ProcessorPower>>,
    access: Vec<Option<MemoryAccess>>,
    /// Row per class, as `entries`.
    parts: Vec<PartCost>,
    /// Likewise; missing for processors that make no tiles of rows.
    pub(crate) row_costs: Vec<Option<RowCost>>,
    /// Likewise; empty where nobody looked at memory.
    pub(crate) memory_limits: Vec<Option<MemoryLimit>>,
    /// Ways between hosts; none for a single board.
    pub(crate) crossings: Vec<HostCrossing>,
}

impl CostTable {
    /// A table in which nothing is supported yet and hand-overs are free.
    pub fn new(operators: usize, classes: impl IntoIterator<Item = ProcessorClass>) -> Self {
        let classes: Vec<ProcessorClass> = classes.into_iter().collect();
        let mut units: Vec<String> = Vec::new();
        let mut unit = |label: &String| {
            units.iter().position(|unit| unit == label).unwrap_or_else(|| {
                units.push(label.clone());
                units.len() - 1
            })
        };
        let unit_of = classes.iter().map(|class| unit(&class.cluster)).collect();
        Self {
            operators,
            entries: vec![None; operators * classes.len()],
            transfers: vec![TransferModel::default(); classes.len() * classes.len()],
            power: vec![None; classes.len()],
            access: vec![None; classes.len()],
            parts: vec![PartCost::default(); operators * classes.len()],
            row_costs: vec![None; operators * classes.len()],
            memory_limits: Vec::new(),
            hand_overs: vec![HandOver::FREE; classes.len()],
            links: vec![None; units.len() * units.len()],
            units,
            unit_of,
            classes,
            crossings: Vec::new(),
        }
    }

    /// A table for other classes, each of which is like one of this table's but so many times slower: a core that something else
    /// uses too, or a cluster at a lower frequency. Transfers and memory access stay as they are.
    #[must_use]
    pub fn derived(&self, classes: &[(ProcessorClass, ProcessorIndex, f64)]) -> Self {
        let mut derived = Self::new(self.operators, classes.iter().map(|(class, _, _)| class.clone()));
        derived.crossings.clone_from(&self.crossings);
        let slower = |time: Nanoseconds, factor: f64| Nanoseconds((time.0 as f64 * factor).round() as u64);
        for (to, &(_, from, factor)) in derived.processors().zip(classes) {
            for operator in 0..self.operators {
                let slower_entry = |CostEntry { time, low, high, origin }: CostEntry| {
                    let [time, low, high] = [time, low, high].map(|time| slower(time, factor));
                    CostEntry { time, low, high, origin }
                };
                match (self.memory_limit(from, operator), self.entry(from, operator)) {
                    (Some(limit), _) => derived.set_memory_limit(to, operator, limit.with_times(slower_entry)),
                    (None, Some(entry)) => derived.set_entry(to, operator, slower_entry(entry)),
                    (None, None) => {}
                }
                let part = self.part(from, operator);
                derived.set_part(to, operator, PartCost { apart: slower(part.apart, factor), ..part });
                if let Some(own) = self.rows(from, operator) {
                    let [start, read, write] = [own.start, own.read, own.write].map(|time| slower(time, factor));
                    derived.set_rows(to, operator, RowCost { start, read, write, ..own });
                }
            }

            let HandOver { seconds, seconds_per_byte } = self.hand_overs[from.0];
            let hand_over = HandOver { seconds: seconds * factor, seconds_per_byte: seconds_per_byte * factor };
            derived.set_hand_over(to, hand_over);
            derived.power[to.0] = self.power[from.0];
            derived.access[to.0] = self.access[from.0];
            for (other, &(_, source, _)) in derived.processors().zip(classes) {
                let link = derived.link_place(to, other);
                derived.links[link] = self.links[self.link_place(from, source)];
                derived.set_transfer(to, other, self.transfers[from.0 * self.classes.len() + source.0]);
            }
        }
        derived
    }

    /// Fills the classes from the `first` on with what another table, of which they are the classes, says.
    pub(crate) fn take_over(&mut self, table: &Self, first: usize) {
        let [own, all] = [table.classes.len(), self.classes.len()];
        for (to, from) in (first..).map(ProcessorIndex).zip(table.processors()) {
            for operator in 0..table.operators {
                let (place, source) = (self.place(to, operator), table.place(from, operator));
                self.entries[place] = table.entries[source];
                self.memory_limits.get_mut(place).into_iter().for_each(|limit| *limit = None);
                self.parts[place] = table.parts[source];
                self.row_costs[place] = table.row_costs[source];
                if let Some(limit) = table.memory_limit(from, operator) {
                    self.set_memory_limit(to, operator, limit);
                }
            }
            self.hand_overs[to.0] = table.hand_overs[from.0];
            self.power[to.0] = table.power[from.0];
            self.access[to.0] = table.access[from.0];
            for source in table.processors() {
                let other = ProcessorIndex(first + source.0);
                let link = self.link_place(to, other);
                self.links[link] = table.links[table.link_place(from, source)];
                self.transfers[to.0 * all + other.0] = table.transfers[from.0 * own + source.0];
            }
        }
    }

    /// Number of operators.
    pub fn operators(&self) -> usize {
        self.operators
    }

    /// The processor classes.
    pub fn classes(&self) -> &[ProcessorClass] {
        &self.classes
    }

    /// All processor classes' indices.
    pub fn processors(&self) -> impl ExactSizeIterator<Item = ProcessorIndex> + use<> {
        (0..self.classes.len()).map(ProcessorIndex)
    }

    /// The index of a class, if the table has it.
    pub fn find(&self, class: &ProcessorClass) -> Option<ProcessorIndex> {
        self.classes.iter().position(|other| other == class).map(ProcessorIndex)
    }

    /// The classes of so many cores of a cluster, whatever computes on them.
    pub fn with_any_engine(&self, cluster: &str, count: usize) -> impl Iterator<Item = ProcessorIndex> {
        let is_own = move |class: &ProcessorClass| class.cluster == cluster && class.count == count;
        self.processors().zip(&self.classes).filter(move |(_, class)| is_own(class)).map(|(processor, _)| processor)
    }

    /// Where an operator's entries of a class are.
    pub(crate) fn place(&self, processor: ProcessorIndex, operator: usize) -> usize {
        processor.0 * self.operators + operator
    }

    /// Time of an operator in context; `None` if the processor does not support it.
    pub fn time(&self, processor: ProcessorIndex, operator: usize) -> Option<Nanoseconds> {
        self.entry(processor, operator).map(|entry| entry.time)
    }

    /// Time of an operator with its interval and origin; `None` if the processor does not support it.
    pub fn entry(&self, processor: ProcessorIndex, operator: usize) -> Option<CostEntry> {
        self.entries.get(processor.0 * self.operators + operator).copied().flatten()
    }

    /// Sets the time of an operator, as given.
    pub fn set_time(&mut self, processor: ProcessorIndex, operator: usize, time: Nanoseconds) {
        self.set_entry(processor, operator, CostEntry::given(time));
    }

    /// Sets what is known of an operator's time.
    pub fn set_entry(&mut self, processor: ProcessorIndex, operator: usize, entry: CostEntry) {
        let place = self.place(processor, operator);
        self.entries[place] = Some(entry);
        self.memory_limits.get_mut(place).into_iter().for_each(|limit| *limit = None);
    }

    /// Time until a value made on a processor of class `from` is there on another processor, of class `to`. Both may be of the
    /// same class.
    pub fn transfer(&self, from: ProcessorIndex, to: ProcessorIndex, bytes: u64) -> Nanoseconds {
        within_a_day(self.transfers[from.0 * self.classes.len() + to.0].seconds(bytes))
    }

    /// Which end a transfer occupies.
    pub fn blocks(&self, from: ProcessorIndex, to: ProcessorIndex) -> Option<BlockedEnd> {
        self.transfers[from.0 * self.classes.len() + to.0].blocks
    }

    /// Sets what a transfer takes.
    pub fn set_transfer(&mut self, from: ProcessorIndex, to: ProcessorIndex, model: TransferModel) {
        self.transfers[from.0 * self.classes.len() + to.0] = model;
    }

    /// The same with every transfer that much longer, whatever its bytes: what handing values over within a team was seen to take beyond
    /// what single transfers show.
    #[must_use]
    pub fn with_longer_transfers(mut self, by: Nanoseconds) -> Self {
        self.transfers.iter_mut().for_each(|transfer| transfer.latency_seconds += by.seconds());
        self
    }

    /// Time of a part of an operator: of `channels` of its `of` output channels; of the head of what is divided together with what comes
    /// on top for running apart from its neighbours ([`PartCost::apart`]). `None` if the processor does not support it.
    pub fn part_time(
        &self,
        processor: ProcessorIndex,
        operator: usize,
        channels: usize,
        of: usize,
        is_head: bool,
    ) -> Option<Nanoseconds> {
        let whole = self.unlimited_time(processor, operator)?;
        let part = self.part(processor, operator);
        let fraction = match channels {
            0 => 0.0,
            all if all >= of => 1.0,
            _ => part.fraction(channels, of),
        };
        let apart = if is_head { part.apart } else { Nanoseconds::ZERO };
        let own = Nanoseconds((whole.0 as f64 * fraction).round() as u64) + apart;
        Some(self.memory_limit(processor, operator).map_or(own, |limit| own.max(limit.of_part(channels, of))))
    }

    /// How an operator's time depends on its channels.
    pub fn part(&self, processor: ProcessorIndex, operator: usize) -> PartCost {
        self.parts.get(processor.0 * self.operators + operator).copied().unwrap_or_default()
    }

    /// Sets how an operator's time depends on its channels.
    pub fn set_part(&mut self, processor: ProcessorIndex, operator: usize, part: PartCost) {
        self.parts[processor.0 * self.operators + operator] = part;
    }

    /// What moving values into and out of the processor's memory takes; `None` if it works in the memory that all share.
    pub fn access(&self, processor: ProcessorIndex) -> Option<MemoryAccess> {
        self.access.get(processor.0).copied().flatten()
    }

    /// Sets what moving values into and out of the processor's memory takes.
    pub fn set_access(&mut self, processor: ProcessorIndex, access: MemoryAccess) {
        self.access[processor.0] = Some(access);
    }

    /// Power of a processor; `None` if it is not known.
    pub fn power(&self, processor: ProcessorIndex) -> Option<ProcessorPower> {
        self.power.get(processor.0).copied().flatten()
    }

    /// Sets the power of a processor.
    pub fn set_power(&mut self, processor: ProcessorIndex, power: ProcessorPower) {
        self.power[processor.0] = Some(power);
    }

    /// What it costs a stage on `to` to take over `bytes` from a stage on `from`: what `to` pays for values from anywhere, and their way
    /// over the link between the two or, without one, into the memory of a processor that has its own.
    pub fn hand_over(&self, from: ProcessorIndex, to: ProcessorIndex, bytes: u64) -> Nanoseconds {
        let own = self.hand_overs[to.0];
        let way = match (self.link(from, to), self.access(to)) {
            (Some(link), _) => link.hand_over,
            (None, Some(access)) => access.upload,
            (None, None) => HandOver::FREE,
        };
        // What has a memory of its own waits for nothing if nothing is brought there.
        if bytes == 0 && self.access(to).is_some() {
            return Nanoseconds::ZERO;
        }
        let seconds_per_byte = own.seconds_per_byte + way.seconds_per_byte;
        within_a_day(own.seconds + way.seconds + seconds_per_byte * bytes as f64)
    }

    /// For how long the link from `from` to `to` carries nothing but these bytes.
    pub fn link_time(&self, from: ProcessorIndex, to: ProcessorIndex, bytes: u64) -> Nanoseconds {
        let occupied = self.link(from, to).map_or(0.0, |link| link.occupied_seconds_per_byte);
        within_a_day(occupied * bytes as f64)
    }

    /// What a hand-over costs the receiver, whoever sends.
    pub fn hand_over_model(&self, processor: ProcessorIndex) -> HandOver {
        self.hand_overs[processor.0]
    }

    /// Sets what a hand-over costs the receiver, whoever sends.
    pub fn set_hand_over(&mut self, processor: ProcessorIndex, hand_over: HandOver) {
        self.hand_overs[processor.0] = hand_over;
    }

    /// What values take on their way from the cluster or accelerator of one class to that of another; `None` if nothing is known
    /// of it, or both work in the memory that all share.
    pub fn link(&self, from: ProcessorIndex, to: ProcessorIndex) -> Option<LinkCost> {
        self.links[self.link_place(from, to)]
    }

    /// Sets what values take on their way from the cluster or accelerator of one class to that of another.
    pub fn set_link(&mut self, from: ProcessorIndex, to: ProcessorIndex, link: LinkCost) {
        let place = self.link_place(from, to);
        self.links[place] = Some(link);
    }

    fn link_place(&self, from: ProcessorIndex, to: ProcessorIndex) -> usize {
        self.unit_of[from.0] * self.units.len() + self.unit_of[to.0]
    }
}
