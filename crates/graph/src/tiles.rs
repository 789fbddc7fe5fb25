//! What can be divided by rows, columns or heads, and which positions each part needs.
//!
//! This is the one place that says so: searching, checking schedules and writing sub-models ask here.

use std::collections::HashMap;
use std::ops::Range;

use crate::graph::Graph;
use crate::locality::{Along, Locality, Need, Positions};
use crate::needs::{dimensions, needs};
use crate::operator::OperatorId;
use crate::value::ValueId;

/// Operators that can be divided together into tiles: what a tile of them makes depends on some positions of what they
/// read.
///
/// Tiles make neighbouring positions, such as rows, of the last operator's output. What several tiles need on the way
/// is made by each of them: halos, and the whole of what operators make that mix positions, such as the keys and values
/// of attention whose tokens are divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileRegion {
    /// The dimension of the last operator's output that is divided.
    axis: usize,
    /// Positions along it that are never apart: the features of a head, else 1.
    unit: usize,
    /// How many of these there are.
    rows: usize,
    steps: Vec<Step>,
    /// What the operators read from outside.
    inputs: Vec<Input>,
}

/// An operator of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    /// The dimension of its output that is divided; `None` if every tile makes the whole.
    axis: Option<usize>,
    /// Positions along it, or 1.
    rows: usize,
    /// Positions come in multiples of this.
    unit: usize,
    reads: Vec<Read>,
}

/// A value from outside that operators of a region read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Input {
    value: ValueId,
    division: Division,
}

/// A value that an operator of a region reads, in the order of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Read {
    maker: Maker,
    need: Need,
    /// Positions of the value along the dimension that is divided of it, or 1.
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

/// How a value is divided between tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Division {
    /// Nobody has asked for it yet.
    Unread,
    /// All that is known is that somebody needs the whole.
    Whole,
    /// Along a dimension, all of it where somebody needs the whole.
    Along(usize),
    /// Not at all: tiles need it along several dimensions.
    Never,
}

impl Division {
    /// The division that serves another reader as well.
    fn with(self, need: Need) -> Self {
        match (self, need) {
            (Self::Unread, Need::Whole) => Self::Whole,
            (Self::Unread | Self::Whole, Need::Some { axis, .. }) => Self::Along(axis),
            (Self::Along(known), Need::Some { axis, .. }) if known != axis => Self::Never,
            (known, _) => known,
        }
    }

    fn axis(self) -> Option<usize> {
        if let Self::Along(axis) = self { Some(axis) } else { None }
    }
}

impl Read {
    /// The positions that a tile makes of the value for some of `made` positions: those that are needed, and those that
    /// nobody needs between them and the next tile's, so that all tiles together make every one. What a tile takes is
    /// never less than its share then.
    fn of(&self, rows: &Range<usize>, made: usize) -> Range<usize> {
        let Need::Some { positions, .. } = self.need else { return 0..self.rows };
        let needed = positions.of(rows, self.rows);
        let Positions::Window(window) = positions else { return needed };
        let next = rows.end.saturating_mul(window.stride).saturating_sub(window.padding).min(self.rows);
        let start = if rows.start == 0 { 0 } else { needed.start };
        start..if rows.end == made { self.rows } else { needed.end.max(next) }
    }
}

/// Some positions along a dimension of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slab {
    /// The dimension.
    pub axis: usize,
    /// The positions.
    pub range: Range<usize>,
}

/// What a tile takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// The positions that each operator makes, in their order; `0..1` of those that every tile makes whole.
    pub made: Vec<Range<usize>>,
    /// What is read of each value from outside; `None` for those that are read whole.
    pub read: Vec<(ValueId, Option<Slab>)>,
}

impl TileRegion {
    /// The region of these operators, which are given in the order in which they run. `None` if they can't be divided
    /// together like that: the last one mixes positions or nobody knows whether it does, they make several values for
    /// others, or something outside can't be apart from one of them.
    pub fn new(graph: &Graph, operators: &[OperatorId], along: Along) -> Option<Self> {
        if !along.makes_tiles() {
            return None;
        }
        let boundary = graph.boundary(operators);
        let (&last, [output]) = (operators.last()?, boundary.outputs.as_slice()) else { return None };
        let rank = dimensions(graph, *output)?.len();
        // Maps are [batch, channels, rows, columns], sequences [tokens, features], [batch, tokens, features] or [batch,
        // channels, samples].
        let axes = match (along, rank) {
            (Along::Rows, 2) => 0..1,
            (Along::Rows, 3) => 1..3,
            (Along::Rows, 4..) => 2..3,
            (Along::Columns, 4..) => 3..4,
            (Along::Heads, 2..) => rank - 1..rank,
            _ => return None,
        };
        // Tiles are put together byte by byte.
        graph.value(*output).data_type?.bytes()?;
        let is_closed =
            graph.operator(last).outputs == [*output] && operators.iter().all(|&id| stays(graph, id, operators));
        let puts_heads_together = matches!(graph.operator(last).locality, Locality::Moved(_));
        let has_heads = |region: &Self| match along {
            Along::Heads => region.unit > 1 && puts_heads_together,
            _ => region.unit == 1,
        };
        let region = |axis: usize| Self::of_axis(graph, operators, axis, along).filter(has_heads);
        is_closed.then_some(axes)?.find_map(region)
    }

    fn of_axis(graph: &Graph, operators: &[OperatorId], axis: usize, along: Along) -> Option<Self> {
        let positions: HashMap<OperatorId, usize> =
            operators.iter().enumerate().map(|(position, &id)| (id, position)).collect();
        let maker = |value: ValueId, reader: usize| {
            let position = *positions.get(&graph.producer(value)?)?;
            (position < reader).then_some(position)
        };

        // What each makes is divided as those need it that read it, which come after it.
        let mut divisions = vec![Division::Unread; operators.len()];
        *divisions.last_mut()? = Division::Along(axis);
        let mut needed = vec![Vec::new(); operators.len()];
        for (position, &id) in operators.iter().enumerate().rev() {
            let inputs = &graph.operator(id).inputs;
            let known = divisions[position].axis().and_then(|axis| needs(graph, id, axis, along));
            match (&known, divisions[position]) {
                (_, Division::Unread) => return None,
                (None, _) if position + 1 == operators.len() => return None,
                (None, _) => divisions[position] = Division::Never,
                _ => {}
            }
            let needs_of = known.unwrap_or_else(|| vec![Need::Whole; inputs.len()]);
            for (&value, &need) in inputs.iter().zip(&needs_of) {
                if let Some(maker) = maker(value, position) {
                    divisions[maker] = divisions[maker].with(need);
                }
            }
            needed[position] = needs_of;
        }

        let mut region =
            Self { axis, unit: 1, rows: 0, steps: Vec::with_capacity(operators.len()), inputs: Vec::new() };
        for (position, &id) in operators.iter().enumerate() {
            region.add(graph, id, divisions[position].axis(), &needed[position], |value| maker(value, position))?;
        }
        region.finished(graph)
    }

    /// Adds an operator's step. `maker` is the step that makes a value.
    fn add(
        &mut self,
        graph: &Graph,
        id: OperatorId,
        axis: Option<usize>,
        needed: &[Need],
        maker: impl Fn(ValueId) -> Option<usize>,
    ) -> Option<()> {
        let operator = graph.operator(id);
        let mut unit = 1;
        let mut reads = Vec::with_capacity(needed.len());
        for (&value, &need) in operator.inputs.iter().zip(needed) {
            if let Need::Some { positions: Positions::Stretched(stretch), .. } = need {
                unit = stretch.factor;
            }
            let maker = match maker(value) {
                Some(step) => Maker::Step(step),
                None => self.input(value, need),
            };
            reads.push(Read { maker, need, rows: 1 });
        }
        let rows = match (axis, operator.outputs.as_slice()) {
            (Some(axis), [output]) => *dimensions(graph, *output)?.get(axis)?,
            _ => 1,
        };
        (!reads.is_empty()).then(|| self.steps.push(Step { axis, rows, unit, reads }))
    }

    /// A value from outside, as one of the region's inputs.
    fn input(&mut self, value: ValueId, need: Need) -> Maker {
        let place = self.inputs.iter().position(|input| input.value == value).unwrap_or_else(|| {
            self.inputs.push(Input { value, division: Division::Unread });
            self.inputs.len() - 1
        });
        let division = &mut self.inputs[place].division;
        // One that is read whole somewhere is read whole.
        *division = match (*division, need) {
            (Division::Unread, Need::Some { axis, .. }) => Division::Along(axis),
            (Division::Along(known), Need::Some { axis, .. }) if known == axis => Division::Along(axis),
            _ => Division::Never,
        };
        Maker::Input(place)
    }

    /// The region with the sizes of all values; `None` if it can't be divided after all.
    fn finished(mut self, graph: &Graph) -> Option<Self> {
        let steps: Vec<usize> = self.steps.iter().map(|step| step.rows).collect();
        let of_input = |input: &Input| match input.division.axis() {
            Some(axis) => dimensions(graph, input.value)?.get(axis).copied(),
            None => Some(1),
        };
        let inputs: Vec<usize> = self.inputs.iter().map(of_input).collect::<Option<_>>()?;
        for read in self.steps.iter_mut().flat_map(|step| &mut step.reads) {
            read.rows = match read.maker {
                Maker::Step(step) => steps[step],
                Maker::Input(input) => inputs[input],
            };
        }

        let last = self.steps.last()?;
        self.unit = last.unit;
        self.rows = last.rows / last.unit.max(1);
        (self.rows > 1 && last.rows.is_multiple_of(last.unit)).then_some(self)
    }

    /// Rows, columns or heads of what the last operator makes.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The dimension of the last operator's output that is divided.
    pub fn axis(&self) -> usize {
        self.axis
    }

    /// Positions along that dimension that a row, a column or a head has.
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// The dimension that is divided of what each operator makes; `None` of those that every tile makes whole.
    pub fn axes_of_operators(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        self.steps.iter().map(|step| step.axis)
    }

    /// Positions of what each operator makes; 1 of those that every tile makes whole.
    pub fn rows_of_operators(&self) -> impl ExactSizeIterator<Item = usize> {
        self.steps.iter().map(|step| step.rows)
    }

    /// Whether tiles make more than halos in common: all that some operators make.
    pub(crate) fn repeats_operators(&self) -> bool {
        let is_inner = |read: &Read| matches!(read.maker, Maker::Step(_));
        let mixes = |step: &Step| step.reads.iter().any(|read| read.need == Need::Whole && is_inner(read));
        self.steps.iter().any(|step| step.axis.is_none() || mixes(step))
    }

    /// What each operator has to make, and what has to be read, for some rows of the output.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn tile(&self, rows: Range<usize>) -> Tile {
        assert!(rows.start < rows.end && rows.end <= self.rows, "{rows:?} of {} rows", self.rows);
        let mut made: Vec<Range<usize>> =
            self.steps.iter().map(|step| if step.axis.is_some() { 0..0 } else { 0..1 }).collect();
        let mut read = vec![0..0; self.inputs.len()];
        if let Some(last) = made.last_mut() {
            *last = rows.start * self.unit..rows.end * self.unit;
        }
        for (position, step) in self.steps.iter().enumerate().rev() {
            let Range { start, end } = made[position].clone();
            let whole_units = start / step.unit * step.unit..end.next_multiple_of(step.unit).min(step.rows);
            for operand in &step.reads {
                let known = match operand.maker {
                    Maker::Step(maker) if self.steps[maker].axis.is_none() => continue,
                    Maker::Step(maker) => &mut made[maker],
                    Maker::Input(input) => &mut read[input],
                };
                *known = hull(known, &operand.of(&whole_units, step.rows));
            }
            made[position] = whole_units;
        }
        let slab = |(input, range): (&Input, Range<usize>)| {
            (input.value, input.division.axis().map(|axis| Slab { axis, range }))
        };
        Tile { made, read: self.inputs.iter().zip(read).map(slab).collect() }
    }

    /// What the operator at this position in the region needs of the input at this place among its own, to make `rows`
    /// of the dimension that is divided of its output; `None` if it needs all of it. `size` is that of the input's value
    /// along a dimension.
    pub fn needed(
        &self,
        position: usize,
        input: usize,
        rows: &Range<usize>,
        size: impl FnOnce(usize) -> usize,
    ) -> Option<Slab> {
        match self.steps.get(position)?.reads.get(input)?.need {
            Need::Whole => None,
            Need::Some { axis, positions } => Some(Slab { axis, range: positions.of(rows, size(axis)) }),
        }
    }
}

/// The shortest range that has all of both.
fn hull(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    if one.is_empty() { other.clone() } else { one.start.min(other.start)..one.end.max(other.end) }
}

/// Whether everything that can't be apart from this one is among these.
fn stays(graph: &Graph, id: OperatorId, operators: &[OperatorId]) -> bool {
    let readers = graph.operator(id).outputs.iter().flat_map(|&value| graph.readers(value));
    let mut tied = readers.copied().filter(|&reader| graph.is_inseparable(id, reader));
    tied.all(|reader| operators.contains(&reader))
        && graph.inseparable_producers(id).all(|producer| operators.contains(&producer))
}
