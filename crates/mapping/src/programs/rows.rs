//! The rows of the relaxation.

use highs::{Col, RowProblem};
use millstream_cost::{BlockedEnd, Nanoseconds};
use millstream_schedule::execution::{OutputId, ProcessorId, TaskId};

use crate::bounds::PathBounds;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::programs::columns::{Choice, Column, Item, Product};
use crate::programs::load_rows::{LoadRow, row_of};

/// The horizon in the solver's units, which keeps all numbers in a range that it handles well.
const SCALE: f64 = 1000.0;

/// The relaxation as the solver gets it.
pub(super) struct Program {
    pub(super) rows: RowProblem,
    pub(super) makespan: Col,
    pub(super) items: Vec<Item>,
    /// Nanoseconds in one unit of the solver.
    pub(super) unit: f64,
    /// For each node, the processors that it may be on.
    choices: Vec<Vec<Choice>>,
    /// For each node, its start.
    starts: Vec<Column>,
}

/// A [`Program`] that grows.
struct Builder<'a> {
    problem: &'a MappingProblem,
    bounds: &'a PathBounds,
    horizon: Nanoseconds,
    is_integer: bool,
    rows: RowProblem,
    columns: usize,
    items: Vec<Item>,
    makespan: Col,
    choices: Vec<Vec<Choice>>,
    starts: Vec<Column>,
}

impl Program {
    /// The program with these load rows; `None` if some node can be on no processor within the horizon.
    pub(super) fn new(
        problem: &MappingProblem,
        bounds: &PathBounds,
        horizon: Nanoseconds,
        loads: &[LoadRow],
        is_integer: bool,
    ) -> Option<Self> {
        let mut rows = RowProblem::default();
        let unit = horizon.0.max(1) as f64 / SCALE;
        let makespan = rows.add_column(1.0, bounds.critical.0 as f64 / unit..);
        let mut builder = Builder {
            problem,
            bounds,
            horizon,
            is_integer,
            rows,
            columns: 1,
            items: Vec::new(),
            makespan,
            choices: Vec::new(),
            starts: Vec::new(),
        };

        builder.add_nodes()?;
        let products: Vec<Vec<Product>> = problem.edges().iter().map(|edge| builder.add_edge(edge)).collect();
        builder.add_blocking(&products);
        builder.add_loads(loads);
        builder.add_twins();
        let Builder { rows, items, choices, starts, .. } = builder;
        Some(Self { rows, makespan, items, unit, choices, starts })
    }

    /// Nodes where a solution has most of them, in the order of its starts.
    pub(super) fn order(&self, problem: &MappingProblem, values: &[f64]) -> Vec<Vec<TaskId>> {
        let value = |column: Column| values.get(column.number).copied().unwrap_or(0.0);
        let start = |node: &TaskId| value(self.starts[node.index()]);
        let mut nodes: Vec<TaskId> = problem.nodes().collect();
        // Nodes that start at once keep their order, in which they can run.
        nodes.sort_by(|left, right| start(left).total_cmp(&start(right)).then(left.cmp(right)));
        let mut order = vec![Vec::new(); problem.processor_count()];
        for node in nodes {
            let choices = self.choices[node.index()].iter();
            let most = choices.max_by(|left, right| value(left.column).total_cmp(&value(right.column)));
            if let Some(most) = most {
                order[most.processor.index()].push(node);
            }
        }
        order
    }
}

impl Builder<'_> {
    fn unit(&self) -> f64 {
        self.horizon.0.max(1) as f64 / SCALE
    }

    fn scaled(&self, time: Nanoseconds) -> f64 {
        time.0 as f64 / self.unit()
    }

    /// The column that was added last.
    fn added(&mut self, col: Col) -> Column {
        self.columns += 1;
        Column { col, number: self.columns - 1 }
    }

    fn add_column(&mut self, least: f64) -> Column {
        let col = self.rows.add_column(0.0, least..);
        self.added(col)
    }

    /// A column from 0 to 1.
    fn add_part(&mut self, is_integer: bool) -> Column {
        let col = if is_integer { self.rows.add_integer_column(0.0, 0..=1) } else { self.rows.add_column(0.0, 0..=1) };
        self.added(col)
    }

    /// Where nodes are, and when they start; `None` if some node can be on no processor within the horizon.
    fn add_nodes(&mut self) -> Option<()> {
        let (problem, bounds) = (self.problem, self.bounds);
        for node in problem.nodes() {
            let is_within = |&processor: &ProcessorId| bounds.through(problem, node, processor) < self.horizon;
            let within: Vec<ProcessorId> = problem.supporting(node).filter(is_within).collect();
            if within.is_empty() {
                return None;
            }
            let mut choices = Vec::new();
            for processor in within {
                let column = self.add_part(self.is_integer);
                let (head, tail) = (bounds.start(node, processor), bounds.tail(node, processor));
                let weight = self.scaled(problem.time(node, processor).unwrap_or_default());
                self.items.push(Item { processor, head, tail, column, weight });
                choices.push(Choice { processor, column });
            }
            self.choices.push(choices);
        }

        problem.nodes().for_each(|node| self.add_start(node));
        Some(())
    }

    /// A node is on one processor, starts no sooner than it can there, and ends so that what follows ends before the
    /// makespan.
    fn add_start(&mut self, node: TaskId) {
        let (problem, bounds) = (self.problem, self.bounds);
        let start = self.add_column(self.scaled(bounds.heads[node.index()]));
        self.starts.push(start);
        let choices = self.choices[node.index()].clone();
        self.rows.add_row(1..=1, choices.iter().map(|choice| (choice.column.col, 1.0)).collect::<Vec<_>>());

        let rest = |on: ProcessorId| problem.time(node, on).unwrap_or_default() + bounds.tail(node, on);
        let mut row = vec![(self.makespan, 1.0), (start.col, -1.0)];
        row.extend(choices.iter().map(|choice| (choice.column.col, -self.scaled(rest(choice.processor)))));
        self.rows.add_row(0.., row);

        let mut row = vec![(start.col, 1.0)];
        let head = |on: ProcessorId| bounds.start(node, on);
        row.extend(choices.iter().map(|choice| (choice.column.col, -self.scaled(head(choice.processor)))));
        self.rows.add_row(0.., row);
    }

    /// The reader starts after the maker and the transfer.
    fn add_edge(&mut self, edge: &Edge) -> Vec<Product> {
        let (makers, readers) = (self.choices[edge.from.index()].clone(), self.choices[edge.to.index()].clone());
        let mut row = vec![(self.starts[edge.to.index()].col, 1.0), (self.starts[edge.from.index()].col, -1.0)];
        let time = |on: ProcessorId| self.problem.time(edge.from, on).unwrap_or_default();
        row.extend(makers.iter().map(|choice| (choice.column.col, -self.scaled(time(choice.processor)))));

        let products = self.add_products(edge, &makers, &readers);
        let transfer = |product: &Product| edge.transfer(product.maker, product.reader);
        row.extend(products.iter().map(|product| (product.col, -self.scaled(transfer(product)))));
        self.rows.add_row(0.., row);
        products
    }

    /// The products of an edge whose transfers take time: those of a place add up to the place's own column.
    fn add_products(&mut self, edge: &Edge, makers: &[Choice], readers: &[Choice]) -> Vec<Product> {
        let of_maker = |maker: &Choice| {
            let maker = maker.processor;
            readers.iter().map(move |reader| (maker, reader.processor))
        };
        let pairs: Vec<(ProcessorId, ProcessorId)> = makers.iter().flat_map(of_maker).collect();
        if pairs.iter().all(|&(maker, reader)| edge.transfer(maker, reader) == Nanoseconds::ZERO) {
            return Vec::new();
        }

        let mut products = Vec::with_capacity(pairs.len());
        for (maker, reader) in pairs {
            products.push(Product { maker, reader, col: self.add_part(false).col });
        }
        for choice in makers {
            self.add_sum(choice, products.iter().filter(|product| product.maker == choice.processor));
        }
        for choice in readers {
            self.add_sum(choice, products.iter().filter(|product| product.reader == choice.processor));
        }
        products
    }

    /// Some products add up to a place's column.
    fn add_sum<'p>(&mut self, choice: &Choice, products: impl Iterator<Item = &'p Product>) {
        let products = products.map(|product| (product.col, 1.0));
        self.rows.add_row(0..=0, std::iter::once((choice.column.col, -1.0)).chain(products).collect::<Vec<_>>());
    }

    /// Transfers that occupy an end: one for each value and processor that it comes to, however many nodes read it
    /// there.
    fn add_blocking(&mut self, products: &[Vec<Product>]) {
        let problem = self.problem;
        let mut groups: Vec<(TaskId, OutputId)> =
            problem.edges().iter().map(|edge| (edge.from, edge.value())).collect();
        groups.sort_unstable();
        groups.dedup();

        for (from, value) in groups {
            let readers: Vec<(&Edge, &Vec<Product>)> = problem
                .edges()
                .iter()
                .zip(products)
                .filter(|(edge, products)| edge.from == from && edge.value() == value && !products.is_empty())
                .collect();
            for to in problem.processors() {
                let makers: Vec<ProcessorId> =
                    self.choices[from.index()].iter().map(|choice| choice.processor).collect();
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
        readers: &[(&Edge, &Vec<Product>)],
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
            .map(|(edge, _)| problem.time(edge.to, to).unwrap_or_default() + bounds.tail(edge.to, to));
        let Some(tail) = tails.min() else { return };

        let column = self.add_column(0.0);
        for (edge, products) in readers {
            let mut row = vec![(column.col, 1.0)];
            for &Product { maker, reader, col } in products.iter() {
                if reader == to && makers.contains(&maker) && edge.blocks(maker, to) == Some(end) {
                    row.push((col, -self.scaled(edge.transfer(maker, to))));
                }
            }
            self.rows.add_row(0.., row);
        }
        self.items.push(Item { processor: occupied, head, tail, column, weight: 1.0 });
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
            for (node, choices) in problem.nodes().zip(&self.choices) {
                for choice in choices.iter().filter(|choice| [before, processor].contains(&choice.processor)) {
                    let time = self.scaled(problem.time(node, choice.processor).unwrap_or_default());
                    row.push((choice.column.col, if choice.processor == before { time } else { -time }));
                }
            }
            self.rows.add_row(0.., row);
        }
    }
}
