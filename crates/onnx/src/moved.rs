//! Where the dimensions of what a node moves, or multiplies, come from.

use millstream_graph::{Locality, Need, Positions, Stretch};

use crate::constants::ConstantTable;
use crate::locality::Described;
use crate::moves::axis;

/// For each dimension of an output, what is needed of each input.
type Origins = Vec<Option<Vec<Need>>>;

impl Described<'_> {
    /// Where the dimensions of the output come from, if the node only moves elements or multiplies two values.
    pub(crate) fn moved(&self, constants: ConstantTable<'_>) -> Option<Locality> {
        let origins = match self.node.op() {
            "MatMul" => self.product(),
            // What else it reads has to be known.
            _ if self.inputs.iter().skip(1).any(|input| !input.is_constant) => None,
            // Without axes, a dimension that a tile has a single position of would go as well.
            "Squeeze" if self.node.ints("axes").is_none() && self.inputs.len() < 2 => None,
            // Before operator set 5, the shape was an attribute.
            "Reshape" if self.inputs.len() < 2 => None,
            "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => Some(reshaped(self.read(0)?, self.made()?)),
            "Transpose" => self.transposed(),
            "Gather" => self.gathered(),
            "Slice" => self.sliced(constants),
            _ => None,
        };
        origins.map(Locality::Moved)
    }

    /// The dimensions that a reduction sums up or the like, where it keeps them with size 1; none is left out.
    pub(crate) fn reduced_dimensions(&self, constants: ConstantTable<'_>) -> Option<Vec<usize>> {
        let rank = self.read(0)?.len();
        let keeps = self.node.int("keepdims").unwrap_or(1) != 0;
        let axes = match (self.node.ints("axes"), self.node.input.get(1)) {
            (Some(axes), _) => axes.to_vec(),
            (None, Some(name)) => constants.weights.get(name.as_str())?.integers()?,
            (None, None) => return None,
        };
        let mixed: Vec<usize> = axes.iter().map(|&given| axis(given, rank)).collect::<Option<_>>()?;
        (keeps && !mixed.is_empty() && self.made()?.len() == rank).then_some(mixed)
    }

    fn read(&self, place: usize) -> Option<&[usize]> {
        Some(self.inputs.get(place)?.shape.as_ref()?.dimensions())
    }

    fn made(&self) -> Option<&[usize]> {
        Some(self.outputs.first()?.shape.as_ref()?.dimensions())
    }

    /// A product of two values: a row of it needs a row of the first one, a column a column of the second.
    fn product(&self) -> Option<Origins> {
        let [first, second] = self.inputs else { return None };
        let are_two = !first.is_constant && !second.is_constant && self.node.input.first() != self.node.input.get(1);
        let (left, right, made) = (self.read(0)?, self.read(1)?, self.made()?);
        let rank = made.len();
        if !are_two || left.len() < 2 || right.len() < 2 || rank != left.len().max(right.len()) {
            return None;
        }
        // Before the matrices, dimensions of size 1 serve all.
        let batch = |axis: usize, read: &[usize]| match (read.len() + axis).checked_sub(rank) {
            Some(own) if read[own] == made[axis] => same(own),
            _ => Need::Whole,
        };
        let of = |axis: usize| match rank - axis {
            1 => vec![Need::Whole, same(right.len() - 1)],
            2 => vec![same(left.len() - 2), Need::Whole],
            _ => vec![batch(axis, left), batch(axis, right)],
        };
        Some((0..rank).map(|axis| Some(of(axis))).collect())
    }

    fn transposed(&self) -> Option<Origins> {
        let rank = self.read(0)?.len();
        let order = self.node.sizes("perm").unwrap_or_else(|| (0..rank).rev().collect());
        let is_order = order.len() == rank && (0..rank).all(|axis| order.contains(&axis));
        is_order.then(|| order.into_iter().map(|axis| Some(vec![same(axis)])).collect())
    }

    /// Along other dimensions than the one that is gathered from.
    fn gathered(&self) -> Option<Origins> {
        let (read, indices) = (self.read(0)?, self.read(1)?);
        let along = axis(self.node.int("axis").unwrap_or(0), read.len())?;
        let before = (0..along).map(|axis| Some(vec![same(axis)]));
        let after = (along + 1..read.len()).map(|axis| Some(vec![same(axis)]));
        let origins: Origins = before.chain(std::iter::repeat_n(None, indices.len())).chain(after).collect();
        let is_data = !self.inputs.first()?.is_constant;
        (is_data && origins.len() == self.made()?.len()).then_some(origins)
    }

    /// Along other dimensions than those that are cut.
    fn sliced(&self, constants: ConstantTable<'_>) -> Option<Origins> {
        let rank = self.read(0)?.len();
        let given = match (self.node.ints("axes"), self.node.input.get(3)) {
            (Some(axes), _) => axes.to_vec(),
            (None, Some(name)) if !name.is_empty() => constants.weights.get(name.as_str())?.integers()?,
            _ => return None,
        };
        let cut: Vec<usize> = given.iter().map(|&given| axis(given, rank)).collect::<Option<_>>()?;
        Some((0..rank).map(|axis| (!cut.contains(&axis)).then(|| vec![same(axis)])).collect())
    }
}

fn same(axis: usize) -> Need {
    Need::Some { axis, positions: Positions::Same }
}

/// The same elements under another shape: dimensions that stay, that fall into several, and that are joined.
fn reshaped(before: &[usize], after: &[usize]) -> Origins {
    let mut origins = vec![None; after.len()];
    if before.iter().chain(after).any(|&size| size == 0) {
        return origins;
    }
    let (mut read, mut made) = (0, 0);
    while read < before.len() && made < after.len() {
        // The next dimensions on both sides that have as many elements.
        let (first_read, first_made) = (read, made);
        let (mut elements_read, mut elements_made) = (before[read] as u64, after[made] as u64);
        (read, made) = (read + 1, made + 1);
        while elements_read != elements_made {
            let (sizes, place, elements) = if elements_read < elements_made {
                (before, &mut read, &mut elements_read)
            } else {
                (after, &mut made, &mut elements_made)
            };
            let Some(&size) = sizes.get(*place) else { return origins };
            *elements = elements.saturating_mul(size as u64);
            *place += 1;
        }

        let (Some(from), Some(to)) = (outermost(before, first_read..read), outermost(after, first_made..made)) else {
            continue;
        };
        let is_one = |sizes: &[usize], from: usize, end: usize| sizes[from + 1..end].iter().all(|&size| size == 1);
        let positions = if before[from] == after[to] {
            Positions::Same
        } else if is_one(before, from, read) {
            Positions::Several(before[from] / after[to])
        } else if is_one(after, to, made) {
            Positions::Stretched(Stretch { factor: after[to] / before[from], reach: 0 })
        } else {
            continue;
        };
        origins[to] = Some(vec![Need::Some { axis: from, positions }]);
    }
    origins
}

/// The first of some dimensions that has more than one position.
fn outermost(sizes: &[usize], mut range: std::ops::Range<usize>) -> Option<usize> {
    range.find(|&axis| sizes[axis] > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(axis: usize, positions: Positions) -> Option<Vec<Need>> {
        Some(vec![Need::Some { axis, positions }])
    }

    #[test]
    fn heads_fall_apart_and_are_joined_again() {
        let apart = reshaped(&[1, 49, 384], &[1, 49, 12, 32]);
        assert_eq!(apart, [None, some(1, Positions::Same), some(2, Positions::Several(32)), None]);
        let joined = reshaped(&[1, 49, 12, 32], &[1, 49, 384]);
        let stretched = Positions::Stretched(Stretch { factor: 32, reach: 0 });
        assert_eq!(joined, [None, some(1, Positions::Same), some(2, stretched)]);
    }

    #[test]
    fn dimensions_of_size_1_are_in_nobodys_way() {
        assert_eq!(reshaped(&[1, 7, 5], &[7, 5]), [some(1, Positions::Same), some(2, Positions::Same)]);
        assert_eq!(reshaped(&[7, 5], &[7, 1, 5, 1]), [some(0, Positions::Same), None, some(1, Positions::Same), None]);
        assert_eq!(reshaped(&[4, 6], &[3, 8]), [None, None], "neither falls apart");
        assert_eq!(
            reshaped(&[4, 3, 2], &[4, 6]),
            [some(0, Positions::Same), some(1, Positions::Stretched(Stretch { factor: 2, reach: 0 }))]
        );
        assert_eq!(reshaped(&[0, 6], &[0]), [None], "nothing to divide");
    }
}
