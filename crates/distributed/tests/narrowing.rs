//! Values that are sent in fewer bits.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use millstream_backend::Tensor;
use millstream_board::TransferPrecision;
use millstream_distributed::{FrameTag, FrameValue, Message, MessageKind, PlanId, received};
use proptest::prelude::*;

fn message(tensor: Tensor) -> Message {
    let tag = FrameTag { epoch: 0, plan: PlanId(0), visit: 0, position: 0, sequence: 0 };
    let kind = MessageKind::Frame { tag, failure: None };
    Message { kind, values: vec![FrameValue { id: 7, tensor }] }
}

/// What comes, and of how many bytes the message was.
fn sent(tensor: &Tensor, precision: TransferPrecision) -> (Tensor, usize) {
    let encoded = message(tensor.clone()).encode_as(precision).unwrap();
    (Message::decode(&encoded).unwrap().values.remove(0).tensor, encoded.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Half of the distance of what can be sent next to an element, and zero is zero.
    #[test]
    fn elements_come_as_the_nearest_that_can_be_sent(mut floats in prop::collection::vec(-1e3_f32..1e3, 1..60)) {
        floats.push(0.0);
        let tensor = Tensor::from_f32([floats.len()], floats.clone());
        let (halves, _) = sent(&tensor, TransferPrecision::F16);
        for (got, sent) in halves.as_f32().unwrap().iter().zip(&floats) {
            prop_assert!((got - sent).abs() <= sent.abs() / 2048.0 + 3e-8, "{got} for {sent}");
        }

        let (integers, _) = sent(&tensor, TransferPrecision::Int8);
        let span = floats.iter().copied().fold(0.0, f32::max) - floats.iter().copied().fold(0.0, f32::min);
        for (got, sent) in integers.as_f32().unwrap().iter().zip(&floats) {
            prop_assert!((got - sent).abs() <= span / 255.0 * 0.5001, "{got} for {sent}");
        }
        prop_assert!([halves, integers].iter().all(|tensor| tensor.as_f32().unwrap().last() == Some(&0.0)));
    }

    /// So that who compares results knows what comes of a value without sending it.
    #[test]
    fn what_comes_is_what_is_foretold(floats in prop::collection::vec(any::<f32>(), 0..60)) {
        let tensor = Tensor::from_f32([1, floats.len()], floats);
        for precision in [TransferPrecision::F32, TransferPrecision::F16, TransferPrecision::Int8] {
            let (got, foretold) = (sent(&tensor, precision).0, received(&tensor, precision));
            prop_assert_eq!(got.description(), foretold.description());
            prop_assert_eq!(got.bytes(), foretold.bytes());
        }
    }
}

#[test]
fn fewer_bytes_are_sent() {
    let tensor = Tensor::from_f32([1000], (0..1000).map(|place| place as f32).collect());
    let bytes = |precision| sent(&tensor, precision).1;
    let saved = |precision| bytes(TransferPrecision::F32) - bytes(precision);
    // But for what says how.
    assert!((1900..2000).contains(&saved(TransferPrecision::F16)), "{}", saved(TransferPrecision::F16));
    assert!((2900..3000).contains(&saved(TransferPrecision::Int8)), "{}", saved(TransferPrecision::Int8));
}

#[test]
fn what_has_no_place_in_fewer_bits_goes_as_it_is() {
    let comes_as_it_was = |tensor: &Tensor, precision| sent(tensor, precision).0.bytes() == tensor.bytes();
    let floats = |elements: &[f32]| Tensor::from_f32([elements.len()], elements.to_vec());
    assert!(comes_as_it_was(&floats(&[0.1, 1e6]), TransferPrecision::F16));
    assert!(!comes_as_it_was(&floats(&[0.1, 1e4]), TransferPrecision::F16));
    for strange in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(comes_as_it_was(&floats(&[0.1, strange]), TransferPrecision::Int8));
    }
    assert!(comes_as_it_was(&floats(&[1e-44, 0.0]), TransferPrecision::Int8));
    assert!(comes_as_it_was(&floats(&[0.0, 0.0]), TransferPrecision::Int8));
    assert!(comes_as_it_was(&Tensor::from_i64([2], vec![1, i64::MAX]), TransferPrecision::Int8));
}

/// Infinities are floats of 16 bits as well; what is largest of all is not lost.
#[test]
fn extremes_survive() {
    let floats = Tensor::from_f32([3], vec![f32::NEG_INFINITY, 65504.0, 0.0]);
    assert_eq!(received(&floats, TransferPrecision::F16).as_f32(), floats.as_f32());
    let floats = Tensor::from_f32([2], vec![f32::MIN, f32::MAX]);
    let got = received(&floats, TransferPrecision::Int8);
    let farthest = got.as_f32().unwrap().iter().map(|float| float.abs()).fold(0.0, f32::max);
    assert!(farthest.is_finite() && farthest > 0.99 * f32::MAX, "{farthest}");
}

/// A damaged description is refused.
#[test]
fn bytes_that_do_not_fit_are_refused() {
    let encoded = message(Tensor::from_f32([4], vec![1.0; 4])).encode_as(TransferPrecision::F16).unwrap();
    let replaced = |from: &str, to: &str| {
        let place = encoded.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        let mut changed = encoded.clone();
        changed[place..place + from.len()].copy_from_slice(to.as_bytes());
        Message::decode(&changed)
    };
    assert!(replaced("f16", "f61").is_err());
    assert!(replaced("\"f32\"", "\"i32\"").is_err());
    assert!(replaced("[4]", "[3]").is_err());
}
