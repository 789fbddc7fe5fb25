//! What can be divided by rows, and which rows each part needs.
//!
//! This is the one place that says so: searching, checking schedules and writing sub-models ask here.

use std::collections::HashMap;
use std::ops::Range;

use crate::graph::Graph;
use crate::locality::{Locality, Window};
use crate::operator::OperatorId;
use crate::value::{Shape, ValueId};

/// Operators that can be divided by rows together: what a tile of them makes depends on some rows of what they read.
///
/// Tiles make neighbouring rows of the last operator's output. Rows that several tiles need on the way, their halos,
/// are made by each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRegion {
    axis: usize,
    rows: usize,
    steps: Vec<Step>,
    /// What the operators read from outside.
    inputs: Vec<Input>,
}

/// An operator of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    /// Rows of its output.
    rows: usize,
    /// Rows come in multiples of this.
    unit: usize,
    reads: Vec<Read>,
}

/// A value from outside that operators of a region read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Input {
    value: ValueId,
    /// How many rows it has; `None` if every tile reads it whole.
    rows: Option<usize>,
}

/// A value that an operator of a region reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Read {
    maker: Maker,
    need: Need,
    /// Rows of the value.
    rows: usize,
}

/// Where a value that an operator reads comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// The operator at this position in the region.
    Step(usize),
    /// The input at this position among the region's.
    Input(usize),
}

/// Which rows of a value an operator needs to make some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The same ones.
    Same,
    /// All.
    Whole,
    /// Those that a window covers.
    Window(Window),
    /// One row for so many.
    Copied(usize),
}

impl Need {
    /// The rows of a value of `size` rows that are needed for some rows.
    fn strictly(self, rows: &Range<usize>, size: usize) -> Range<usize> {
        match self {
            Self::Same => rows.clone(),
            Self::Whole => 0..size,
            Self::Window(window) => window.covered(rows, size),
            Self::Copied(factor) => rows.start / factor..rows.end.div_ceil(factor),
        }
    }

    /// The rows that a tile makes for some of `made` rows: those that are needed, and those that nobody needs between
    /// them and the next tile's, so that all tiles together make every row. What a tile takes is never less than its
    /// share then.
    fn of(self, rows: &Range<usize>, size: usize, made: usize) -> Range<usize> {
        let needed = self.strictly(rows, size);
        let Self::Window(window) = self else { return needed };
        let next = rows.end.saturating_mul(window.stride).saturating_sub(window.padding).min(size);
        let start = if rows.start == 0 { 0 } else { needed.start };
        start..if rows.end == made { size } else { needed.end.max(next) }
    }
}

/// What a tile takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// The rows that each operator makes, in their order.
    pub made: Vec<Range<usize>>,
    /// The rows that are read of each value from outside; `None` for those that are read whole.
    pub read: Vec<(ValueId, Option<Range<usize>>)>,
}

impl RowRegion {
    /// The region of these operators, which are given in the order in which they run. `None` if they can't be divided
    /// by rows together: one of them mixes rows or nobody knows whether it does, they make several values for others,
    /// or something outside can't be apart from one of them.
    pub fn new(graph: &Graph, operators: &[OperatorId]) -> Option<Self> {
        let boundary = graph.boundary(operators);
        let (&last, [output]) = (operators.last()?, boundary.outputs.as_slice()) else { return None };
        let rank = dimensions(graph, *output)?.len();
        // Maps are [batch, channels, rows, columns], sequences [batch, tokens, features] or [batch, channels, samples].
        let axes: &[usize] = match rank {
            3 => &[1, 2],
            4.. => &[2],
            _ => return None,
        };
        // Tiles are put together byte by byte.
        graph.value(*output).data_type?.bytes()?;
        let is_closed =
            graph.operator(last).outputs == [*output] && operators.iter().all(|&id| stays(graph, id, operators));
        is_closed.then(|| axes.iter().find_map(|&axis| Self::along(graph, operators, axis)))?
    }

    fn along(graph: &Graph, operators: &[OperatorId], axis: usize) -> Option<Self> {
        let positions: HashMap<OperatorId, usize> =
            operators.iter().enumerate().map(|(position, &id)| (id, position)).collect();
        let mut region = Self { axis, rows: 0, steps: Vec::with_capacity(operators.len()), inputs: Vec::new() };
        for (position, &id) in operators.iter().enumerate() {
            let step = region.step(graph, id, |maker| {
                positions.get(&maker).copied().filter(|&maker_position| maker_position < position)
            })?;
            region.steps.push(step);
        }

        region.rows = region.steps.last()?.rows;
        let is_read = |position: usize| {
            region.steps.iter().any(|step| step.reads.iter().any(|read| read.maker == Maker::Step(position)))
        };
        let are_read = (0..region.steps.len() - 1).all(is_read);
        // The last operator makes just the rows of its tile.
        let is_even = region.steps.last()?.unit == 1;
        (are_read && is_even && region.rows > 1).then_some(region)
    }

    /// The step that an operator is; `None` if it can't be divided. `position` is where an operator is in the region,
    /// if it comes earlier there.
    fn step(&mut self, graph: &Graph, id: OperatorId, position: impl Fn(OperatorId) -> Option<usize>) -> Option<Step> {
        let operator = graph.operator(id);
        let [output] = operator.outputs.as_slice() else { return None };
        let made = dimensions(graph, *output)?;
        let rows = *made.get(self.axis)?;
        let mut unit = 1;
        let mut reads = Vec::with_capacity(operator.inputs.len());
        for &value in &operator.inputs {
            let need = need(graph, id, made, dimensions(graph, value)?, self.axis)?;
            if let Need::Copied(factor) = need {
                unit = factor;
            }
            let size = match need {
                Need::Whole => 1,
                _ => *dimensions(graph, value)?.get(self.axis)?,
            };
            let maker = match graph.producer(value).and_then(&position) {
                Some(step) => {
                    let known = self.steps.get(step)?.rows;
                    reads.push(Read { maker: Maker::Step(step), need, rows: known });
                    continue;
                }
                None => self.input(value, (need != Need::Whole).then_some(size)),
            };
            reads.push(Read { maker, need, rows: size });
        }
        (!reads.is_empty()).then_some(Step { rows, unit, reads })
    }

    /// A value from outside, as one of the region's inputs; one that is read whole somewhere is read whole.
    fn input(&mut self, value: ValueId, rows: Option<usize>) -> Maker {
        if let Some(known) = self.inputs.iter().position(|input| input.value == value) {
            if rows.is_none() {
                self.inputs[known].rows = None;
            }
            return Maker::Input(known);
        }
        self.inputs.push(Input { value, rows });
        Maker::Input(self.inputs.len() - 1)
    }

    /// Rows of what the last operator makes.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The dimension that counts rows.
    pub fn axis(&self) -> usize {
        self.axis
    }

    /// Rows of what each operator makes.
    pub fn rows_of_operators(&self) -> impl ExactSizeIterator<Item = usize> {
        self.steps.iter().map(|step| step.rows)
    }

    /// What each operator has to make, and what has to be read, for some rows of the output.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn tile(&self, rows: Range<usize>) -> Tile {
        assert!(rows.start < rows.end && rows.end <= self.rows, "{rows:?} of {} rows", self.rows);
        let mut made = vec![0..0; self.steps.len()];
        let mut read = vec![0..0; self.inputs.len()];
        if let Some(last) = made.last_mut() {
            *last = rows;
        }
        for (position, step) in self.steps.iter().enumerate().rev() {
            let Range { start, end } = made[position].clone();
            let whole_units = start / step.unit * step.unit..end.next_multiple_of(step.unit).min(step.rows);
            for operand in &step.reads {
                let needed = operand.need.of(&whole_units, operand.rows, step.rows);
                let known = match operand.maker {
                    Maker::Step(maker) => &mut made[maker],
                    Maker::Input(input) => &mut read[input],
                };
                *known = hull(known, &needed);
            }
            made[position] = whole_units;
        }
        let inputs = self.inputs.iter().zip(read);
        Tile { made, read: inputs.map(|(input, read)| (input.value, input.rows.map(|_| read))).collect() }
    }

    /// The rows that an operator of the region needs of a value that it reads, to make `rows`; `None` if it needs the
    /// value whole.
    pub fn needed(&self, graph: &Graph, id: OperatorId, value: ValueId, rows: &Range<usize>) -> Option<Range<usize>> {
        let made = dimensions(graph, *graph.operator(id).outputs.first()?)?;
        let size = dimensions(graph, value)?;
        match need(graph, id, made, size, self.axis)? {
            Need::Whole => None,
            need => Some(need.strictly(rows, *size.get(self.axis)?)),
        }
    }
}

/// The shortest range that has all of both.
fn hull(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    if one.is_empty() { other.clone() } else { one.start.min(other.start)..one.end.max(other.end) }
}

fn dimensions(graph: &Graph, value: ValueId) -> Option<&[usize]> {
    graph.value(value).shape.as_ref().map(Shape::dimensions)
}

/// What an operator needs of a value, along a dimension; `None` if that can't be told, or is everything.
fn need(graph: &Graph, id: OperatorId, made: &[usize], read: &[usize], axis: usize) -> Option<Need> {
    let operator = graph.operator(id);
    match &operator.locality {
        Locality::Global => None,
        Locality::SamePosition { mixed } if mixed.contains(&axis) => None,
        Locality::SamePosition { .. } => {
            let from_the_end = made.len().checked_sub(axis)?;
            match read.len().checked_sub(from_the_end).map(|read_axis| (read_axis, read[read_axis])) {
                None | Some((_, 1)) => Some(Need::Whole),
                Some((read_axis, size)) => (read_axis == axis && size == made[axis]).then_some(Need::Same),
            }
        }
        Locality::Windows(windows) => {
            let window = *windows.get(axis.checked_sub(2)?)?;
            let &size = read.get(axis)?;
            // A row that sees nothing but padding needs none at all.
            let last = made[axis].checked_sub(1)?.checked_mul(window.stride)?;
            let sees = window.padding < window.span && last < size.saturating_add(window.padding);
            let fits = operator.inputs.len() == 1 && made.len() == read.len() && window.stride > 0;
            (fits && sees).then_some(Need::Window(window))
        }
        Locality::Copies(factors) => {
            let factor = *factors.get(axis.checked_sub(2)?)?;
            let fits = factor > 0 && read.get(axis)?.checked_mul(factor) == Some(made[axis]);
            (operator.inputs.len() == 1 && fits).then_some(Need::Copied(factor))
        }
    }
}

/// Whether everything that can't be apart from this one is among these.
fn stays(graph: &Graph, id: OperatorId, operators: &[OperatorId]) -> bool {
    let readers = graph.operator(id).outputs.iter().flat_map(|&value| graph.readers(value));
    let mut tied = readers.copied().filter(|&reader| graph.is_inseparable(id, reader));
    tied.all(|reader| operators.contains(&reader))
        && graph.inseparable_producers(id).all(|producer| operators.contains(&producer))
}
