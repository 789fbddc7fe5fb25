//! What identifies a model's content.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use millstream_graph::Graph;
use prost::Message;
use sha2::{Digest, Sha256};

use crate::header::Header;
use crate::proto::NodeProto;
use crate::weight::Weight;

/// Weights are hashed in pieces of so many bytes, on as many threads as there are cores. Another size gives other
/// digests.
const PIECE_BYTES: usize = 4 << 20;

/// A SHA-256 over operators, shapes, weights, operator sets and functions, in hexadecimal. Every start of a program
/// that runs a network waits for it.
pub(crate) fn digest(
    graph: &Graph,
    nodes: &[NodeProto],
    constant_nodes: &HashMap<String, Arc<NodeProto>>,
    weights: &BTreeMap<String, Weight>,
    header: &Header,
) -> String {
    let mut hasher = Hasher(Sha256::new());
    hasher.list(nodes.iter().map(Message::encode_to_vec));
    // A node of several outputs is there once for each of them.
    let by_output: BTreeMap<_, _> = constant_nodes.iter().collect();
    hasher.list(by_output.values().map(|node| node.encode_to_vec()));
    for value in graph.values() {
        hasher.part(format!("{}{:?}{:?}", value.name, value.data_type, value.shape).as_bytes());
    }
    for ids in [graph.inputs(), graph.outputs()] {
        hasher.list(ids.iter().map(|&id| graph.value(id).name.as_bytes().to_vec()));
    }
    for (name, weight) in weights {
        hasher.part(format!("{name}{}{}", weight.data_type, weight.shape).as_bytes());
        hasher.part(&(weight.data.len() as u64).to_le_bytes());
    }
    let pieces: Vec<&[u8]> = weights.values().flat_map(|weight| weight.data.chunks(PIECE_BYTES)).collect();
    hasher.list(digests(&pieces).into_iter());
    hasher.list(header.opset_import.iter().map(Message::encode_to_vec));
    hasher.list(header.functions.iter().map(|function| function.to_vec()));
    hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of each piece. Weights may share memory, which is hashed once.
fn digests(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut places = HashMap::new();
    let mut different = Vec::new();
    let mut order = Vec::with_capacity(pieces.len());
    for &piece in pieces {
        order.push(*places.entry((piece.as_ptr().addr(), piece.len())).or_insert_with(|| {
            different.push(piece);
            different.len() - 1
        }));
    }
    let digests = different_digests(&different);
    order.into_iter().filter_map(|place| digests.get(place).cloned()).collect()
}

fn different_digests(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    let threads = if bytes < 2 * PIECE_BYTES { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done: Vec<(usize, Vec<u8>)> = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(index) else { return done };
            done.push((index, Sha256::digest(piece).to_vec()));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| thread::Builder::new().spawn_scoped(scope, work)).collect();
        let mut done = work();
        for other in others.into_iter().flatten() {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, digest)| digest).collect()
}

/// Hashes parts with their lengths, so that nothing moves unnoticed from one to the next.
struct Hasher(Sha256);

impl Hasher {
    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn list(&mut self, parts: impl ExactSizeIterator<Item = Vec<u8>>) {
        self.0.update((parts.len() as u64).to_le_bytes());
        parts.for_each(|part| self.part(&part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_order() {
        let data: Vec<u8> = (0..5 * PIECE_BYTES / 2).map(|index| (index % 251) as u8).collect();
        let pieces: Vec<&[u8]> = data.chunks(PIECE_BYTES / 16).collect();
        let one_by_one: Vec<Vec<u8>> = pieces.iter().map(|piece| Sha256::digest(piece).to_vec()).collect();
        assert_eq!(digests(&pieces), one_by_one);
        assert!(digests(&[]).is_empty());
    }
}
