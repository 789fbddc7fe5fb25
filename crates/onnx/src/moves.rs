//! Constants whose elements are moved, picked or repeated, of whatever type.

use millstream_graph::Shape;

use crate::weight::Weight;

/// Places to copy elements from, in the order of the result: `start + sum of index * step` over the dimensions.
fn picked(data: &Weight, start: usize, dimensions: &[(usize, isize)]) -> Option<Weight> {
    let element = data.data_type.bytes()?;
    let shape: Shape = dimensions.iter().map(|&(size, _)| size).collect::<Vec<_>>().into();
    let count = usize::try_from(shape.elements()).ok()?;
    let mut bytes = Vec::with_capacity(count.checked_mul(element)?);
    let mut index = vec![0; dimensions.len()];
    let mut place = isize::try_from(start).ok()?;
    for _ in 0..count {
        let at = usize::try_from(place).ok()?.checked_mul(element)?;
        bytes.extend_from_slice(data.data.get(at..at + element)?);
        // The next index, last dimension first.
        for (axis, &(size, step)) in dimensions.iter().enumerate().rev() {
            index[axis] += 1;
            place += step;
            if index[axis] < size {
                break;
            }
            place -= step * size as isize;
            index[axis] = 0;
        }
    }
    Some(Weight { data_type: data.data_type, shape, data: bytes.into() })
}

/// How far apart neighbours along each dimension are.
fn strides(dimensions: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dimensions.len()];
    for axis in (1..dimensions.len()).rev() {
        strides[axis - 1] = strides[axis] * dimensions[axis];
    }
    strides
}

/// A dimension counted from the end if it is negative.
pub(crate) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// The dimensions in another order; reversed if none is given.
pub(crate) fn transpose(data: &Weight, order: Option<&[usize]>) -> Option<Weight> {
    let sizes = data.shape.dimensions();
    let reversed: Vec<usize> = (0..sizes.len()).rev().collect();
    let order = order.unwrap_or(&reversed);
    if order.len() != sizes.len() {
        return None;
    }
    let strides = strides(sizes);
    let dimensions: Option<Vec<(usize, isize)>> =
        order.iter().map(|&axis| Some((*sizes.get(axis)?, *strides.get(axis)? as isize))).collect();
    picked(data, 0, &dimensions?)
}

/// Repeated along dimensions of size 1 and such as are missing in front.
pub(crate) fn expand(data: &Weight, shape: &Shape) -> Option<Weight> {
    let (sizes, target) = (data.shape.dimensions(), shape.dimensions());
    let missing = target.len().checked_sub(sizes.len())?;
    let strides = strides(sizes);
    let dimension = |(place, &size): (usize, &usize)| match place.checked_sub(missing) {
        Some(axis) if sizes[axis] == size => Some((size, strides[axis] as isize)),
        Some(axis) if sizes[axis] != 1 => None,
        _ => Some((size, 0)),
    };
    if sizes == target {
        return Some(data.clone());
    }
    picked(data, 0, &target.iter().enumerate().map(dimension).collect::<Option<Vec<_>>>()?)
}

/// Every `step`-th element between `start` and `end` of some dimensions.
pub(crate) fn slice(data: &Weight, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Option<Weight> {
    let sizes = data.shape.dimensions();
    let strides = strides(sizes);
    let mut start = 0;
    let mut dimensions: Vec<(usize, isize)> =
        sizes.iter().zip(&strides).map(|(&size, &stride)| (size, stride as isize)).collect();
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return None;
    }
    for (((&from, &to), &along), &step) in starts.iter().zip(ends).zip(axes).zip(steps) {
        let along = axis(along, sizes.len())?;
        let size = i64::try_from(sizes[along]).ok()?;
        let counted = |bound: i64| if bound < 0 { bound.saturating_add(size) } else { bound };
        // Backward, the place before the first element is a bound as well.
        let (from, to) = match step {
            _ if size == 0 => (0, 0),
            1.. => (counted(from).clamp(0, size), counted(to).clamp(0, size)),
            0 => return None,
            _ => (counted(from).clamp(0, size - 1), counted(to).clamp(-1, size - 1)),
        };
        let reach = if step > 0 { to - from } else { from - to };
        let count = if reach <= 0 { 0 } else { (reach - 1) / step.checked_abs()? + 1 };
        start += usize::try_from(from).ok()? * strides[along];
        dimensions[along] =
            (usize::try_from(count).ok()?, isize::try_from(step).ok()?.checked_mul(strides[along] as isize)?);
    }
    picked(data, start, &dimensions)
}

/// Slices along a dimension by number, in the shape of the numbers.
pub(crate) fn gather(data: &Weight, indices: &Weight, along: i64) -> Option<Weight> {
    let sizes = data.shape.dimensions();
    let along = axis(along, sizes.len())?;
    let element = data.data_type.bytes()?;
    let inner = sizes[along + 1..].iter().product::<usize>() * element;
    let outer: usize = sizes[..along].iter().product();
    let indices_of: Option<Vec<usize>> =
        indices.integers()?.into_iter().map(|index| axis(index, sizes[along])).collect();
    let indices_of = indices_of?;
    let mut bytes = Vec::new();
    for block in 0..outer {
        for index in &indices_of {
            let at = (block * sizes[along] + index) * inner;
            bytes.extend_from_slice(data.data.get(at..at + inner)?);
        }
    }
    let shape = [&sizes[..along], indices.shape.dimensions(), &sizes[along + 1..]].concat();
    Some(Weight { data_type: data.data_type, shape: shape.into(), data: bytes.into() })
}

/// One after the other along a dimension.
pub(crate) fn concatenate(parts: &[&Weight], along: i64) -> Option<Weight> {
    let first = parts.first()?;
    let rank = first.shape.dimensions().len();
    let along = axis(along, rank)?;
    let element = first.data_type.bytes()?;
    let mut shape = first.shape.dimensions().to_vec();
    shape[along] = 0;
    for part in parts {
        let sizes = part.shape.dimensions();
        let is_alike = (0..rank).all(|axis| axis == along || sizes.get(axis) == shape.get(axis));
        if part.data_type != first.data_type || sizes.len() != rank || !is_alike {
            return None;
        }
        shape[along] += sizes[along];
    }
    let outer: usize = shape[..along].iter().product();
    let mut bytes = Vec::new();
    for block in 0..outer {
        for part in parts {
            let row = part.shape.dimensions()[along..].iter().product::<usize>() * element;
            bytes.extend_from_slice(part.data.get(block * row..(block + 1) * row)?);
        }
    }
    Some(Weight { data_type: first.data_type, shape: shape.into(), data: bytes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(shape: impl Into<Shape>) -> Weight {
        let shape = shape.into();
        let values: Vec<i64> = (0..shape.elements() as i64).collect();
        Weight::from_i64(shape, &values)
    }

    fn values(weight: Option<Weight>) -> (Vec<usize>, Vec<i64>) {
        let weight = weight.unwrap();
        (weight.shape.dimensions().to_vec(), weight.integers().unwrap())
    }

    #[test]
    fn elements_go_where_they_belong() {
        let data = counted([2, 3]);
        assert_eq!(values(transpose(&data, None)), (vec![3, 2], vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(values(expand(&counted([3, 1]), &[2, 3, 2].into())).1, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!(values(slice(&data, &[-1], &[i64::MIN], &[1], &[-2])), (vec![2, 2], vec![2, 0, 5, 3]));
        assert_eq!(values(slice(&data, &[1], &[i64::MAX], &[0], &[1])), (vec![1, 3], vec![3, 4, 5]));
        assert_eq!(values(slice(&data, &[2], &[1], &[0], &[1])), (vec![0, 3], vec![]));
        assert_eq!(values(gather(&data, &Weight::from_i64([], &[-1]), 1)), (vec![2], vec![2, 5]));
        assert_eq!(values(concatenate(&[&data, &counted([2, 1])], -1)), (vec![2, 4], vec![0, 1, 2, 0, 3, 4, 5, 1]));
    }

    #[test]
    fn what_can_not_be_is_none() {
        let data = counted([2, 3]);
        assert!(transpose(&data, Some(&[0])).is_none() && transpose(&data, Some(&[0, 7])).is_none());
        assert!(expand(&data, &[3, 3].into()).is_none() && expand(&data, &[3].into()).is_none());
        assert!(slice(&data, &[0], &[1], &[5], &[1]).is_none() && slice(&data, &[0], &[1], &[0], &[0]).is_none());
        assert!(gather(&data, &Weight::from_i64([1], &[3]), 1).is_none());
        assert!(concatenate(&[&data, &counted([3, 1])], 1).is_none());
    }
}
