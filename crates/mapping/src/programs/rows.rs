//! The rows of the relaxation.

use highs::{Col, RowProblem};
use millstream_cost::BlockedEnd;

use crate::bounds::PathBounds;
use crate::{Edge, MappingProblem, OutputId, ProcessorId, TaskId};

/// The horizon in the solver's units, which keeps all numbers in a range that it handles well.
const SCALE: f64 = 1000.0;

/// What occupies a processor if its column says so: a node, or a transfer of a value.
pub(super) struct Item {
    pub(super) processor: ProcessorId,
    /// Earliest start, and least time from the end until everything is done.
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) column: Col,
    /// Number of the column.
    pub(super) place: usize,
    /// Time for each unit of the column.
    pub(super) weight: f64,
}

pub(super) struct Program {
    pub(super) rows: RowProblem,
    pub(super) makespan: Col,
    pub(super) items: Vec<Item>,
    /// Nanoseconds in one unit of the solver.
    pub(super) unit: f64,
    /// For each node, the processors that it may be on and the numbers of their columns.
    places: Vec<Vec<(ProcessorId, usize)>>,
    /// Numbers of the columns of starts.
    starts: Vec<usize>,
}

/// A [`Program`] that grows.
struct Builder<'a> {
    problem: &'a MappingProblem,
    bounds: &'a PathBounds,
    horizon: u64,
    is_integer: bool,
    rows: RowProblem,
    columns: usize,
    items: Vec<Item>,
    makespan: Col,
    /// For each node, processors that it may be on, with their columns.
    places: Vec<Vec<(ProcessorId, Col)>>,
    starts: Vec<Col>,
    /// Numbers of these columns.
    numbers: Vec<Vec<(ProcessorId, usize)>>,
    starts_at: Vec<usize>,
}

/// Columns that are one where a maker is on the one and a reader on the other processor.
type Products = Vec<(ProcessorId, ProcessorId, Col)>;

impl Program {
    /// The program with these load rows; `None` if some node can be on no processor within the horizon.
    pub(super) fn new(
        problem: &MappingProblem,
        bounds: &PathBounds,
        horizon: u64,
        loads: &[LoadRow],
        is_integer: bool,
    ) -> Option<Self> {
        let mut rows = RowProblem::default();
        let unit = horizon.max(1) as f64 / SCALE;
        let makespan = rows.add_column(1.0, bounds.critical as f64 / unit..);
        let mut builder = Builder {
            problem,
            bounds,
            horizon,
            is_integer,
            rows,
            columns: 1,
            items: Vec::new(),
            makespan,
            places: Vec::new(),
            starts: Vec::new(),
            numbers: Vec::new(),
            starts_at: Vec::new(),
        };

        builder.add_nodes()?;
        let products: Vec<Products> = problem.edges().iter().map(|edge| builder.add_edge(edge)).collect();
        builder.add_blocking(&products);
        builder.add_loads(loads);
        builder.add_twins();
        let Builder { rows, items, numbers: places, starts_at: starts, .. } = builder;
        Some(Self { rows, makespan, items, unit, places, starts })
    }

    /// Nodes where a solution has most of them, in the order of its starts.
    pub(super) fn order(&self, problem: &MappingProblem, values: &[f64]) -> Vec<Vec<TaskId>> {
        let value = |place: usize| values.get(place).copied().unwrap_or(0.0);
        let start = |node: &TaskId| value(self.starts[node.index()]);
        let mut nodes: Vec<TaskId> = problem.nodes().collect();
        // Nodes that start at once keep their order, in which they can run.
        nodes.sort_by(|left, right| start(left).total_cmp(&start(right)).then(left.cmp(right)));
        let mut order = vec![Vec::new(); problem.processor_count()];
        for node in nodes {
            let most = self.places[node.index()].iter().max_by(|left, right| value(left.1).total_cmp(&value(right.1)));
            if let Some(&(processor, _)) = most {
                order[processor.index()].push(node);
            }
        }
        order
    }
}

impl Builder<'_> {
    fn unit(&self) -> f64 {
        self.horizon.max(1) as f64 / SCALE
    }

    fn scaled(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 / self.unit()
    }

    fn column(&mut self, least: f64) -> Col {
        self.columns += 1;
        self.rows.add_column(0.0, least..)
    }

    fn add_nodes(&mut self) -> Option<()> {
        let (problem, bounds) = (self.problem, self.bounds);
        for node in problem.nodes() {
            let is_within = |&place: &ProcessorId| bounds.through(problem, node, place) < self.horizon;
            let within: Vec<ProcessorId> = problem.supporting(node).filter(is_within).collect();
            if within.is_empty() {
                return None;
            }
            let (mut own, mut numbers) = (Vec::new(), Vec::new());
            for processor in within {
                let column = match self.is_integer {
                    true => self.rows.add_integer_column(0.0, 0..=1),
                    false => self.rows.add_column(0.0, 0..=1),
                };
                let (head, tail) = (bounds.start(node, processor), bounds.tail(node, processor));
                let weight = self.scaled(problem.time(node, processor).unwrap_or(0));
                self.items.push(Item { processor, head, tail, column, place: self.columns, weight });
                numbers.push((processor, self.columns));
                self.columns += 1;
                own.push((processor, column));
            }
            self.places.push(own);
            self.numbers.push(numbers);
        }

        for node in problem.nodes() {
            self.starts_at.push(self.columns);
            let start = self.column(self.scaled(bounds.heads[node.index()]));
            self.starts.push(start);
            let own = self.places[node.index()].clone();
            self.rows.add_row(1..=1, own.iter().map(|&(_, column)| (column, 1.0)).collect::<Vec<_>>());
            let rest = |place: ProcessorId| problem.time(node, place).unwrap_or(0) + bounds.tail(node, place);
            let mut row = vec![(self.makespan, 1.0), (start, -1.0)];
            row.extend(own.iter().map(|&(place, column)| (column, -self.scaled(rest(place)))));
            self.rows.add_row(0.., row);
            let mut row = vec![(start, 1.0)];
            row.extend(own.iter().map(|&(place, column)| (column, -self.scaled(bounds.start(node, place)))));
            self.rows.add_row(0.., row);
        }

        Some(())
    }

    /// The reader starts after the maker and the transfer.
    fn add_edge(&mut self, edge: &Edge) -> Products {
        let (makers, readers) = (self.places[edge.from.index()].clone(), self.places[edge.to.index()].clone());
        let mut row = vec![(self.starts[edge.to.index()], 1.0), (self.starts[edge.from.index()], -1.0)];
        let time = |place: ProcessorId| self.problem.time(edge.from, place).unwrap_or(0);
        row.extend(makers.iter().map(|&(place, column)| (column, -self.scaled(time(place)))));
        let pairs = makers.iter().flat_map(|&(maker, _)| readers.iter().map(move |&(reader, _)| (maker, reader)));
        let mut products = Products::new();
        if pairs.clone().any(|(maker, reader)| edge.transfer(maker, reader) > 0) {
            for (maker, reader) in pairs {
                self.columns += 1;
                products.push((maker, reader, self.rows.add_column(0.0, 0..=1)));
            }
            for &(place, column) in &makers {
                let own = products.iter().filter(|product| product.0 == place).map(|product| (product.2, 1.0));
                self.rows.add_row(0..=0, std::iter::once((column, -1.0)).chain(own).collect::<Vec<_>>());
            }
            for &(place, column) in &readers {
                let own = products.iter().filter(|product| product.1 == place).map(|product| (product.2, 1.0));
                self.rows.add_row(0..=0, std::iter::once((column, -1.0)).chain(own).collect::<Vec<_>>());
            }
            row.extend(
                products.iter().map(|&(maker, reader, product)| (product, -self.scaled(edge.transfer(maker, reader)))),
            );
        }
        self.rows.add_row(0.., row);
        products
    }

    /// Transfers that occupy an end: one for each value and processor that it comes to, however many nodes read it there.
    fn add_blocking(&mut self, products: &[Products]) {
        let problem = self.problem;
        let mut groups: Vec<(TaskId, OutputId)> =
            problem.edges().iter().map(|edge| (edge.from, edge.value())).collect();
        groups.sort_unstable();
        groups.dedup();

        for (from, value) in groups {
            let readers: Vec<(&Edge, &Products)> = problem
                .edges()
                .iter()
                .zip(products)
                .filter(|(edge, products)| edge.from == from && edge.value() == value && !products.is_empty())
                .collect();
            for to in problem.processors() {
                let makers: Vec<ProcessorId> = self.places[from.index()].iter().map(|&(place, _)| place).collect();
                let by = |end: BlockedEnd| {
                    let of = readers.iter().map(|(edge, _)| *edge);
                    makers
                        .iter()
                        .copied()
                        .filter(move |&maker| of.clone().any(|edge| edge.blocks(maker, to) == Some(end)))
                };
                let fetched: Vec<ProcessorId> = by(BlockedEnd::Receiver).collect();
                let sent: Vec<ProcessorId> = by(BlockedEnd::Sender).collect();
                self.add_transfer(from, &readers, BlockedEnd::Receiver, &fetched, to, to);
                for maker in sent {
                    self.add_transfer(from, &readers, BlockedEnd::Sender, &[maker], to, maker);
                }
            }
        }
    }

    /// A value's transfer to a processor from one of these makers, which occupies `occupied`.
    fn add_transfer(
        &mut self,
        from: TaskId,
        readers: &[(&Edge, &Products)],
        end: BlockedEnd,
        makers: &[ProcessorId],
        to: ProcessorId,
        occupied: ProcessorId,
    ) {
        let (problem, bounds) = (self.problem, self.bounds);
        let Some(head) = makers.iter().map(|&maker| bounds.end(problem, from, maker)).min() else { return };
        let tails = readers
            .iter()
            .filter(|(edge, _)| problem.time(edge.to, to).is_some())
            .map(|(edge, _)| problem.time(edge.to, to).unwrap_or(0) + bounds.tail(edge.to, to));
        let Some(tail) = tails.min() else { return };
        let place = self.columns;
        let column = self.column(0.0);
        for (edge, products) in readers {
            let mut row = vec![(column, 1.0)];
            for &(maker, reader, product) in products.iter() {
                if reader == to && makers.contains(&maker) && edge.blocks(maker, to) == Some(end) {
                    row.push((product, -self.scaled(edge.transfer(maker, to))));
                }
            }
            self.rows.add_row(0.., row);
        }
        self.items.push(Item { processor: occupied, head, tail, column, place, weight: 1.0 });
    }

    fn add_loads(&mut self, loads: &[LoadRow]) {
        for &load in loads {
            let (least, row) = row_of(load, self.makespan, &self.items, self.unit());
            self.rows.add_row(least.., row);
        }
    }

    /// Of processors that are the same, the first has the most to do.
    fn add_twins(&mut self) {
        let problem = self.problem;
        let twins = problem.twins();
        let has_twin = |(processor, first): &(ProcessorId, &ProcessorId)| *first < processor;
        for (processor, &first) in problem.processors().zip(&twins).filter(has_twin) {
            let between = problem.processors().rev().filter(|&other| first <= other && other < processor);
            let before = between.into_iter().find(|other| twins[other.index()] == first).unwrap_or(first);
            let mut row = Vec::new();
            for (node, places) in problem.nodes().zip(&self.places) {
                for &(place, column) in places.iter().filter(|(place, _)| [before, processor].contains(place)) {
                    let time = self.scaled(problem.time(node, place).unwrap_or(0));
                    row.push((column, if place == before { time } else { -time }));
                }
            }
            self.rows.add_row(0.., row);
        }
    }
}

/// What occupies one processor, starts at `head` or later and is followed by at least `tail`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoadRow {
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) processor: ProcessorId,
}

impl LoadRow {
    pub(super) fn has(self, item: &Item) -> bool {
        item.processor == self.processor && item.head >= self.head && item.tail >= self.tail
    }
}

/// The least that a row's makespan less its load is, and the row: the makespan less what occupies the processor.
pub(super) fn row_of(row: LoadRow, makespan: Col, items: &[Item], unit: f64) -> (f64, Vec<(Col, f64)>) {
    let loads = items.iter().filter(|item| row.has(item)).map(|item| (item.column, -item.weight));
    let factors = std::iter::once((makespan, 1.0)).chain(loads).collect();
    ((row.head + row.tail) as f64 / unit, factors)
}
