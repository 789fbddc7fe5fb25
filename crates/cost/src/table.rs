//! What every operator takes on every processor, and every transfer between two: what searches read.

use millstream_board::ProcessorClass;
use millstream_graph::OperatorId;

use crate::cost_entry::CostEntry;
use crate::crossing::HostCrossing;
use crate::frame_cost::FrameCost;
use crate::hand_over::{HandOver, LinkCost, MemoryAccess};
use crate::memory_limit::MemoryLimit;
use crate::nanoseconds::Nanoseconds;
use crate::part_cost::PartCost;
use crate::power::ProcessorPower;
use crate::row_cost::RowCost;
use crate::transfer::TransferModel;

/// Identifies a processor class of one [`CostTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub(crate) usize);

impl ClassId {
    /// Position of the class in [`CostTable::classes`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// Operators x processor classes to times. Operators are those of one graph.
#[derive(Debug, Clone)]
pub struct CostTable {
    pub(crate) operators: usize,
    pub(crate) classes: Vec<ProcessorClass>,
    /// Row per class.
    pub(crate) entries: Vec<Option<CostEntry>>,
    pub(crate) hand_overs: Vec<HandOver>,
    /// The different clusters and accelerators of the classes, and which of them each class is of.
    pub(crate) units: Vec<String>,
    pub(crate) unit_of: Vec<usize>,
    /// Row per sending unit.
    pub(crate) links: Vec<Option<LinkCost>>,
    /// Row per sending class.
    pub(crate) transfers: Vec<TransferModel>,
    pub(crate) power: Vec<Option<ProcessorPower>>,
    pub(crate) access: Vec<Option<MemoryAccess>>,
    /// Row per class, as `entries`.
    pub(crate) parts: Vec<PartCost>,
    /// Likewise; missing for processors that make no tiles.
    pub(crate) row_costs: Vec<Option<RowCost>>,
    /// Likewise; empty where memory is not counted.
    pub(crate) memory_limits: Vec<Option<MemoryLimit>>,
    /// Ways between hosts, and between them and outside; none for a single board.
    pub(crate) crossings: Vec<HostCrossing>,
    /// What hosts pay for frames from outside; none for a single board.
    pub(crate) frame_costs: Vec<FrameCost>,
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
            frame_costs: Vec::new(),
        }
    }

    /// Number of operators.
    pub fn operators(&self) -> usize {
        self.operators
    }

    /// All operators' ids.
    pub fn operator_ids(&self) -> impl ExactSizeIterator<Item = OperatorId> + use<> {
        OperatorId::all(self.operators)
    }

    /// The processor classes.
    pub fn classes(&self) -> &[ProcessorClass] {
        &self.classes
    }

    /// All processor classes' ids.
    pub fn class_ids(&self) -> impl ExactSizeIterator<Item = ClassId> + use<> {
        (0..self.classes.len()).map(ClassId)
    }

    /// The index of a class, if the table has it.
    pub fn find(&self, class: &ProcessorClass) -> Option<ClassId> {
        self.classes.iter().position(|other| other == class).map(ClassId)
    }

    /// The classes of so many cores of a cluster, whatever computes on them.
    pub fn with_any_engine(&self, cluster: &str, count: usize) -> impl Iterator<Item = ClassId> {
        let is_own = move |class: &ProcessorClass| class.cluster == cluster && class.count == count;
        self.class_ids().zip(&self.classes).filter(move |(_, class)| is_own(class)).map(|(class, _)| class)
    }

    /// Time of an operator in context; `None` if the processor does not support it.
    pub fn time(&self, class: ClassId, operator: OperatorId) -> Option<Nanoseconds> {
        self.entry(class, operator).map(|entry| entry.time)
    }

    /// Time of an operator with its interval and origin; `None` if the processor does not support it.
    pub fn entry(&self, class: ClassId, operator: OperatorId) -> Option<CostEntry> {
        self.entries.get(self.operator_cell(class, operator)).copied().flatten()
    }

    /// Sets the time of an operator, as given.
    pub fn set_time(&mut self, class: ClassId, operator: OperatorId, time: Nanoseconds) {
        self.set_entry(class, operator, CostEntry::given(time));
    }

    /// Sets what is known of an operator's time.
    pub fn set_entry(&mut self, class: ClassId, operator: OperatorId, entry: CostEntry) {
        let cell = self.operator_cell(class, operator);
        self.entries[cell] = Some(entry);
        self.memory_limits.get_mut(cell).into_iter().for_each(|limit| *limit = None);
    }

    /// Makes a processor run no operator. What is known of it otherwise, such as its power, stays.
    pub fn clear(&mut self, class: ClassId) {
        for operator in self.operator_ids() {
            let cell = self.operator_cell(class, operator);
            self.entries[cell] = None;
            self.memory_limits.get_mut(cell).into_iter().for_each(|limit| *limit = None);
        }
    }

    /// Power of a processor; `None` if it is not known.
    pub fn power(&self, class: ClassId) -> Option<ProcessorPower> {
        self.power.get(class.0).copied().flatten()
    }

    /// Sets the power of a processor.
    pub fn set_power(&mut self, class: ClassId, power: ProcessorPower) {
        self.power[class.0] = Some(power);
    }

    /// Where tables of classes x operators have what is known of an operator on a class.
    pub(crate) fn operator_cell(&self, class: ClassId, operator: OperatorId) -> usize {
        class.0 * self.operators + operator.index()
    }

    /// Where the table of transfers has those from one class to another.
    pub(crate) fn transfer_cell(&self, from: ClassId, to: ClassId) -> usize {
        from.0 * self.classes.len() + to.0
    }

    /// Where the table of links has that from one class's unit to another's.
    pub(crate) fn link_cell(&self, from: ClassId, to: ClassId) -> usize {
        self.unit_of[from.0] * self.units.len() + self.unit_of[to.0]
    }
}
