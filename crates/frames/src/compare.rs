//! Comparing results, each type in the way that fits it.

use half::{bf16, f16};
use millstream_backend::Tensor;
use millstream_graph::{DataType, Shape};

use crate::error::FramesError;

/// How far results may be from what is expected of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    /// For all floating-point types, relative to the largest finite element that is expected; `None` is what fits each
    /// type.
    pub relative: Option<f64>,
    /// How much rounding alone changes the network's results, relative to the largest element, where that was seen: by
    /// as much as they differ between runtimes that fuse operators and such that do not. Networks may well enlarge what
    /// was rounded.
    pub rounding: f64,
}

/// Results may differ by so many times what rounding was seen to do.
const ROUNDINGS: f64 = 4.0;

impl Tolerance {
    /// What elements of a type may differ by, relative to the largest finite one: 0 for integers, booleans and strings.
    ///
    /// Sums in another order differ by some units in the last place of the type that holds them: 840 of f32 and a like
    /// number of f64 leave room for long sums; the short types are summed in f32 and rounded a few times, so 8 units
    /// are enough.
    pub fn of(self, data_type: DataType) -> f64 {
        let usual = match data_type {
            DataType::F32 => 1e-4,
            DataType::F64 => 1e-10,
            DataType::F16 => 8.0 * f64::from(f16::EPSILON.to_f32()),
            DataType::Bf16 => 8.0 * f64::from(bf16::EPSILON.to_f32()),
            _ => return 0.0,
        };
        self.relative.unwrap_or(usual.max(ROUNDINGS * self.rounding))
    }
}

/// What a comparison of two tensors found.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The largest difference of two elements, relative to the largest finite one that is expected; infinite where
    /// integers, strings, booleans or non-finite values differ at all.
    pub largest: f64,
    /// How many elements differ by more than is allowed.
    pub wrong: u64,
    /// The worst of them, worst first.
    pub worst: Vec<WrongElement>,
}

/// An element that is not what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongElement {
    /// Its place, one number per dimension.
    pub index: Vec<usize>,
    /// What it is.
    pub found: String,
    /// What it should be.
    pub expected: String,
    /// By how much it is off, as in [`Difference::largest`].
    pub difference: f64,
}

/// So many wrong elements are named.
const NAMED: usize = 3;

/// Compares a tensor with what it should be, element by element.
///
/// # Errors
/// [`FramesError::Misfit`] if type or shape differ, or elements are not in host memory.
pub fn compare(found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Result<Difference, FramesError> {
    if found.shape() != expected.shape() || found.data_type() != expected.data_type() {
        let detail = format!("it is {} where {} is expected", found.description(), expected.description());
        return Err(FramesError::misfit(detail));
    }

    // The usual case, which costs as little as it can: this is done while frames flow.
    if found.bytes().is_some() && found.bytes() == expected.bytes() {
        return Ok(Difference { largest: 0.0, wrong: 0, worst: Vec::new() });
    }
    let (Some(left), Some(right)) = (Elements::of(found), Elements::of(expected)) else {
        return Err(FramesError::misfit("its elements can't be read"));
    };
    let scale = right.largest_finite();
    let allowed = tolerance.of(expected.data_type());
    let mut difference = Difference { largest: 0.0, wrong: 0, worst: Vec::new() };
    for place in 0..right.len() {
        let apart = left.difference(&right, place, scale);
        difference.largest = difference.largest.max(apart);
        if apart > allowed {
            difference.wrong += 1;
            let least = difference.worst.last().map_or(0.0, |worst| worst.difference);
            if difference.worst.len() < NAMED || apart > least {
                let index = index(expected.shape(), place);
                let element =
                    WrongElement { index, found: left.text(place), expected: right.text(place), difference: apart };
                let at = difference.worst.partition_point(|other| other.difference >= apart);
                difference.worst.insert(at, element);
                difference.worst.truncate(NAMED);
            }
        }
    }
    Ok(difference)
}

/// The largest finite difference of results from expected ones, relative to the largest element of each: what
/// [`Tolerance::rounding`] is where nothing but rounding sets the two apart. Values that are not finite say nothing
/// about it.
///
/// # Errors
/// As [`compare`].
pub fn largest_difference(results: &[Tensor], expected: &[Tensor]) -> Result<f64, FramesError> {
    let mut largest: f64 = 0.0;
    for (result, expected) in results.iter().zip(expected) {
        let difference = compare(result, expected, Tolerance::default())?.largest;
        largest = largest.max(if difference.is_finite() { difference } else { 0.0 });
    }
    Ok(largest)
}

/// Elements in a form in which they can be compared.
enum Elements {
    Floats(Vec<f64>),
    Integers(Vec<i128>),
    Strings(Vec<String>),
}

impl Elements {
    fn of(tensor: &Tensor) -> Option<Self> {
        if let Some(strings) = tensor.strings() {
            return Some(Self::Strings(strings));
        }
        let bytes = tensor.bytes()?;
        macro_rules! elements {
            ($kind:ident, $type:ty, $convert:expr) => {
                Self::$kind(bytemuck::pod_collect_to_vec::<u8, $type>(bytes).into_iter().map($convert).collect())
            };
        }
        Some(match tensor.data_type() {
            DataType::F32 => elements!(Floats, f32, f64::from),
            DataType::F64 => elements!(Floats, f64, |element| element),
            DataType::F16 => elements!(Floats, f16, f64::from),
            DataType::Bf16 => elements!(Floats, bf16, f64::from),
            DataType::I8 => elements!(Integers, i8, i128::from),
            DataType::I16 => elements!(Integers, i16, i128::from),
            DataType::I32 => elements!(Integers, i32, i128::from),
            DataType::I64 => elements!(Integers, i64, i128::from),
            DataType::U8 => elements!(Integers, u8, i128::from),
            DataType::U16 => elements!(Integers, u16, i128::from),
            DataType::U32 => elements!(Integers, u32, i128::from),
            DataType::U64 => elements!(Integers, u64, i128::from),
            DataType::Bool => elements!(Integers, u8, |element| i128::from(element != 0)),
            _ => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Floats(elements) => elements.len(),
            Self::Integers(elements) => elements.len(),
            Self::Strings(elements) => elements.len(),
        }
    }

    /// The largest magnitude of a finite element; 1 if all are zero, for then differences are told as they are.
    fn largest_finite(&self) -> f64 {
        let Self::Floats(elements) = self else { return 1.0 };
        let finite = elements.iter().copied().filter(|element| element.is_finite());
        let largest = finite.fold(0.0, |largest: f64, element| largest.max(element.abs()));
        if largest > 0.0 { largest } else { 1.0 }
    }

    /// How far an element is from another tensor's at the same place.
    fn difference(&self, other: &Self, place: usize, scale: f64) -> f64 {
        let is_equal = match (self, other) {
            (Self::Floats(left), Self::Floats(right)) => {
                let (left, right) = (left[place], right[place]);
                if left.is_finite() && right.is_finite() {
                    return (left - right).abs() / scale;
                }
                left == right || left.is_nan() && right.is_nan()
            }
            (Self::Integers(left), Self::Integers(right)) => left[place] == right[place],
            (Self::Strings(left), Self::Strings(right)) => left[place] == right[place],
            _ => false,
        };
        if is_equal { 0.0 } else { f64::INFINITY }
    }

    fn text(&self, place: usize) -> String {
        match self {
            Self::Floats(elements) => elements[place].to_string(),
            Self::Integers(elements) => elements[place].to_string(),
            Self::Strings(elements) => format!("{:?}", elements[place]),
        }
    }
}

/// The place of an element, one number per dimension.
fn index(shape: &Shape, place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut index: Vec<usize> = shape
        .dimensions()
        .iter()
        .rev()
        .map(|&size| {
            let along = rest % size.max(1);
            rest /= size.max(1);
            along
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(elements: &[f32]) -> Tensor {
        Tensor::from_f32([elements.len()], elements.to_vec())
    }

    fn largest(found: &Tensor, expected: &Tensor) -> f64 {
        compare(found, expected, Tolerance::default()).unwrap().largest
    }

    #[test]
    fn what_is_not_finite_must_be_the_same() {
        let expected = floats(&[1.0, f32::INFINITY, f32::NAN]);
        assert_eq!(largest(&expected, &expected), 0.0);
        // An infinite scale would let all of these pass.
        for wrong in [[2.0, f32::INFINITY, f32::NAN], [1.0, f32::NEG_INFINITY, f32::NAN], [1.0, 5.0, f32::NAN]] {
            assert!(largest(&floats(&wrong), &expected) >= 1.0, "{wrong:?}");
        }
        assert!(largest(&floats(&[1.0, f32::INFINITY, 0.0]), &expected).is_infinite());
        assert!(largest(&floats(&[0.0, 1.0]), &floats(&[0.0, f32::NAN])).is_infinite());
        // Beside what differs a little, NaN is still the same as NaN.
        assert!(largest(&floats(&[1.00001, f32::INFINITY, f32::NAN]), &expected) < 1e-4);
    }

    #[test]
    fn integers_and_strings_must_be_equal() {
        let numbers = |last: i64| Tensor::from_i64([2], vec![1 << 60, last]);
        assert_eq!(largest(&numbers((1 << 60) + 1), &numbers((1 << 60) + 1)), 0.0);
        assert!(largest(&numbers((1 << 60) + 1), &numbers(1 << 60)).is_infinite(), "they are one float");
        let text = |text: &str| Tensor::from_strings([1], vec![text.to_owned()]);
        assert_eq!(largest(&text("a"), &text("a")), 0.0);
        assert!(largest(&text("a"), &text("b")).is_infinite());
    }

    #[test]
    fn of_many_wrong_elements_the_worst_are_named() {
        let expected = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let found = floats(&[0.1, 1.2, 2.3, 3.4, 4.0, 5.5]);
        let difference = compare(&found, &expected, Tolerance::default()).unwrap();
        let places: Vec<usize> = difference.worst.iter().map(|worst| worst.index[0]).collect();
        assert_eq!((difference.wrong, places), (5, vec![5, 3, 2]));
    }

    #[test]
    fn the_worst_elements_are_named() {
        let expected = Tensor::from_f32([2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let found = Tensor::from_f32([2, 3], vec![0.1, 1.0, 2.0, 3.0, 4.5, 5.2]);
        let difference = compare(&found, &expected, Tolerance::default()).unwrap();
        assert_eq!(difference.wrong, 3);
        let places: Vec<&[usize]> = difference.worst.iter().map(|worst| worst.index.as_slice()).collect();
        assert_eq!(places, [[1, 1], [1, 2], [0, 0]]);
        // As large as is allowed is not too large.
        let tenth = Tolerance { relative: Some(0.1), ..Tolerance::default() };
        assert_eq!(compare(&found, &expected, tenth).unwrap().wrong, 0);
        assert_eq!((difference.worst[0].found.as_str(), difference.worst[0].expected.as_str()), ("4.5", "4"));
        assert_eq!(
            compare(&found, &expected, Tolerance { relative: Some(0.2), ..Tolerance::default() }).unwrap().wrong,
            0
        );
        assert!(compare(&floats(&[0.0; 6]), &expected, Tolerance::default()).is_err(), "another shape");
    }
}
