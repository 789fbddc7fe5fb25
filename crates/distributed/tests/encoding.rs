//! Messages come out as they went in, and whatever else comes is refused.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use millstream_backend::Tensor;
use millstream_distributed::{FrameFailure, FrameTag, FrameValue, Message, MessageKind, PlanId};
use millstream_graph::DataType;
use proptest::prelude::*;

fn tag() -> FrameTag {
    FrameTag { epoch: 3, plan: PlanId(1), visit: 2, position: 5, sequence: 77 }
}

fn frame(tensors: Vec<Tensor>) -> Message {
    let value = |(id, tensor)| FrameValue { id, tensor };
    Message { kind: MessageKind::Frame { tag: tag(), failure: None }, values: (0..).zip(tensors).map(value).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn frames_come_out_as_they_went_in(floats in prop::collection::vec(any::<f32>(), 0..40), strings: Vec<String>, bytes: Vec<u8>) {
        let sent = frame(vec![
            Tensor::from_f32([floats.len(), 1], floats),
            Tensor::from_strings([strings.len()], strings),
            Tensor::from_bytes(DataType::U8, [1, bytes.len()], bytes),
        ]);
        let got = Message::decode(&sent.encode().unwrap()).unwrap();
        prop_assert_eq!(got.kind, sent.kind);
        prop_assert_eq!(got.values.len(), 3);
        for (got, sent) in got.values.iter().zip(&sent.values) {
            prop_assert_eq!(got.id, sent.id);
            prop_assert_eq!(got.tensor.description(), sent.tensor.description());
            prop_assert_eq!(got.tensor.bytes(), sent.tensor.bytes());
            prop_assert_eq!(got.tensor.strings(), sent.tensor.strings());
        }
    }

    #[test]
    fn anything_else_is_refused(bytes: Vec<u8>, cut in 0_usize..200, place in 0_usize..200, value: u8) {
        prop_assert!(Message::decode(&bytes).is_err());
        let whole = frame(vec![Tensor::from_i64([2], vec![1, 2])]).encode().unwrap();
        prop_assert!(Message::decode(&whole[..cut.min(whole.len() - 1)]).is_err());
        prop_assert!(Message::decode(&[&whole[..], &[0]].concat()).is_err());
        // A damaged one may still be a message, but nothing panics.
        let mut damaged = whole;
        let place = place % damaged.len();
        damaged[place] = value;
        let _ = Message::decode(&damaged);
    }
}

#[test]
fn shapes_that_are_impossible_are_refused() {
    let whole = frame(vec![Tensor::from_i64([2], vec![1, 2])]).encode().unwrap();
    let text = String::from_utf8_lossy(&whole[12..]).into_owned();
    for (from, to) in
        [("[2]", "[3]"), ("i64", "i46"), ("\"bytes\":16", "\"bytes\":61"), ("[2]", "[4611686018427387904,8]")]
    {
        assert!(text.contains(from));
        let json = text.replace(from, to).split_inclusive('}').collect::<String>();
        let end = json.rfind('}').unwrap() + 1;
        let mut changed = whole[..8].to_vec();
        changed.extend_from_slice(&(end as u32).to_le_bytes());
        changed.extend_from_slice(&json.as_bytes()[..end]);
        changed.extend_from_slice(&whole[whole.len() - 16..]);
        assert!(Message::decode(&changed).is_err(), "{to}");
    }
}

/// As many strings as the shape has places.
#[test]
fn strings_that_do_not_fill_their_shape_are_refused() {
    let whole = frame(vec![Tensor::from_strings([2], vec!["a".to_owned(), "b".to_owned()])]).encode().unwrap();
    assert!(Message::decode(&whole).is_ok());
    let place = whole.windows(3).position(|part| part == b"[2]").unwrap();
    let mut changed = whole;
    changed[place + 1] = b'3';
    assert!(Message::decode(&changed).is_err());
}

#[test]
fn a_failure_travels_in_place_of_values() {
    let failure = FrameFailure::Failed { host: "rk".to_owned(), detail: "no memory".to_owned() };
    let sent = Message::plain(MessageKind::Answer { tag: tag(), failure: Some(failure) });
    let got = Message::decode(&sent.encode().unwrap()).unwrap();
    assert_eq!(got.kind, sent.kind);
}
