//! Values that several processors make together, each its channels or rows.

use std::any::Any;

use bytes::{Bytes, BytesMut};
use millstream_backend::{BackendError, PreparedSegment, Storage, Tensor};
use millstream_graph::{DataType, Graph, Shape};

use crate::program::{Join, Program};
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// Buffers that are kept for later frames: those of frames that are still on their way can't be used again yet.
const KEPT_BUFFERS: usize = 8;

/// More pieces than this are not worth their handling.
const MOST_PIECES: usize = 4096;

/// A value in the making. Every part is written where it belongs in the value's memory: by the operator itself where
/// the part lies together there, else piece by piece by the processor that made it. Only where there would be very many
/// pieces are the parts copied once all are there.
pub(crate) struct Joining {
    data_type: DataType,
    shape: Shape,
    /// Elements times their size in the dimensions within one channel, or row.
    unit_bytes: usize,
    /// How many times the channels or rows repeat.
    outer: usize,
    /// Channels or rows of each part.
    parts: Vec<usize>,
    pieces: Vec<Mutex<Piece>>,
    missing: AtomicUsize,
    buffers: Mutex<Vec<Bytes>>,
}

enum Piece {
    Empty,
    /// Memory of its own within the value's, one piece for each repetition.
    InPlace(Vec<BytesMut>),
    /// A result to be copied.
    Apart(Tensor),
}

impl Joining {
    /// `None` if type or shape of the value are not known.
    pub(crate) fn new(join: &Join, program: &Program, graph: &Graph) -> Option<Self> {
        let value = graph.value(*program.values.get(join.slot.index())?);
        let (data_type, shape) = (value.data_type?, value.shape.clone()?);
        let dimensions = shape.dimensions();
        let unit_bytes = dimensions.get(join.axis + 1..)?.iter().product::<usize>() * data_type.bytes()?;
        let outer = dimensions.get(..join.axis)?.iter().product();
        Some(Self {
            data_type,
            unit_bytes,
            outer,
            pieces: join.parts.iter().map(|_| Mutex::new(Piece::Empty)).collect(),
            parts: join.parts.clone(),
            missing: AtomicUsize::new(0),
            buffers: Mutex::default(),
            shape,
        })
    }

    /// Whether parts are written where they belong as they are made.
    fn is_in_place(&self) -> bool {
        self.outer * self.parts.len() <= MOST_PIECES
    }

    /// Makes room for the next frame's value.
    pub(crate) fn begin(&self) {
        self.missing.store(self.parts.len(), Ordering::SeqCst);
        if !self.is_in_place() {
            self.pieces.iter().for_each(|piece| *lock(piece) = Piece::Empty);
            return;
        }
        let mut regions: Vec<Vec<BytesMut>> = self.parts.iter().map(|_| Vec::with_capacity(self.outer)).collect();
        let mut rest = self.buffer();
        for _ in 0..self.outer {
            for (pieces, units) in regions.iter_mut().zip(&self.parts) {
                let piece_bytes = units * self.unit_bytes;
                pieces.push(rest.split_to(piece_bytes.min(rest.len())));
            }
        }
        for (piece, region) in self.pieces.iter().zip(regions) {
            *lock(piece) = Piece::InPlace(region);
        }
    }

    /// A buffer of the value's size: one that is no longer read, if there is one.
    fn buffer(&self) -> BytesMut {
        let mut buffers = lock(&self.buffers);
        let size = self.outer * self.parts.iter().sum::<usize>() * self.unit_bytes;
        for _ in 0..buffers.len() {
            match buffers.remove(0).try_into_mut() {
                Ok(buffer) => return buffer,
                Err(in_use) => buffers.push(in_use),
            }
        }
        BytesMut::zeroed(size)
    }

    /// Runs the segment that makes a part. Returns the value if all others are there already.
    pub(crate) fn run(
        &self,
        part: usize,
        segment: &mut dyn PreparedSegment,
        inputs: &[Tensor],
    ) -> Result<Option<Tensor>, BackendError> {
        let Some(piece) = self.pieces.get(part) else { return Err(BackendError::failed("a part that does not exist")) };
        let mut piece = lock(piece);
        match &mut *piece {
            Piece::InPlace(memory) => match memory.as_mut_slice() {
                [only] => segment.run_into(inputs, only)?,
                several => scatter(&made_alone(segment, inputs)?, several)?,
            },
            other => *other = Piece::Apart(made_alone(segment, inputs)?),
        }
        drop(piece);
        if self.missing.fetch_sub(1, Ordering::SeqCst) > 1 {
            return Ok(None);
        }
        let bytes = if self.is_in_place() { self.joined() } else { self.gathered()? };
        let mut buffers = lock(&self.buffers);
        if buffers.len() < KEPT_BUFFERS {
            buffers.push(bytes.clone());
        }
        Ok(Some(Tensor::new(self.data_type, self.shape.clone(), std::sync::Arc::new(Joined(bytes)))))
    }

    /// The pieces, which lie one after the other, as one.
    fn joined(&self) -> Bytes {
        let take = |piece: &Mutex<Piece>| match std::mem::replace(&mut *lock(piece), Piece::Empty) {
            Piece::InPlace(regions) => regions.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut parts: Vec<_> = self.pieces.iter().map(take).collect();
        let mut whole = BytesMut::new();
        for _ in 0..self.outer {
            parts.iter_mut().filter_map(Iterator::next).for_each(|piece| whole.unsplit(piece));
        }
        whole.freeze()
    }

    /// Copies the parts together, repetition by repetition.
    fn gathered(&self) -> Result<Bytes, BackendError> {
        let mut tensors = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let piece = std::mem::replace(&mut *lock(piece), Piece::Empty);
            if let Piece::Apart(tensor) = piece {
                tensors.push(tensor);
            }
        }
        let mut whole = self.buffer();
        let mut rest: &mut [u8] = &mut whole;
        for repetition in 0..self.outer {
            for (tensor, units) in tensors.iter().zip(&self.parts) {
                let size = units * self.unit_bytes;
                let source = tensor.bytes().and_then(|bytes| bytes.get(repetition * size..(repetition + 1) * size));
                let room = std::mem::take(&mut rest).split_at_mut_checked(size);
                let (Some(source), Some((room, after))) = (source, room) else {
                    return Err(BackendError::failed("a part of an operator has another size than its share"));
                };
                room.copy_from_slice(source);
                rest = after;
            }
        }
        match rest {
            [] => Ok(whole.freeze()),
            _ => Err(BackendError::failed("a part of an operator is missing")),
        }
    }
}

/// The only value that a segment makes.
fn made_alone(segment: &mut dyn PreparedSegment, inputs: &[Tensor]) -> Result<Tensor, BackendError> {
    let mut made = segment.run(inputs)?;
    match (made.pop(), made.len()) {
        (Some(only), 0) => Ok(only),
        (_, others) => {
            let detail = format!("the backend returned {} values of a part, not one", others + 1);
            Err(BackendError::Failed { detail })
        }
    }
}

/// Copies a part to its pieces of the whole.
fn scatter(made: &Tensor, pieces: &mut [BytesMut]) -> Result<(), BackendError> {
    let bytes = made.bytes().ok_or_else(|| BackendError::failed("a part of an operator is not in host memory"))?;
    if bytes.len() != pieces.iter().map(|piece| piece.len()).sum::<usize>() {
        return Err(BackendError::failed("a part of an operator has another size than its share"));
    }
    let mut rest = bytes;
    for piece in pieces {
        let (here, after) = rest.split_at(piece.len());
        piece.copy_from_slice(here);
        rest = after;
    }
    Ok(())
}

/// A value made in parts.
struct Joined(Bytes);

impl Storage for Joined {
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
