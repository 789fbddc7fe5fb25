//! Values that several processors make together, each its channels.

use std::any::Any;

use bytes::{Bytes, BytesMut};
use millstream_backend::{BackendError, PreparedSegment, Storage, Tensor};
use millstream_graph::{DataType, Graph, Shape};

use crate::program::{Join, Program};
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// Buffers that are kept for later frames: those of frames that are still on their way can't be used again yet.
const KEPT_BUFFERS: usize = 8;

/// A value in the making. Where the channels of a part lie together in memory, every part is written to its place; otherwise the
/// parts are copied together once all are there.
pub(crate) struct Joining {
    data_type: DataType,
    shape: Shape,
    /// Elements times their size in the dimensions within one channel.
    channel_bytes: usize,
    /// How many times the channels repeat.
    outer: usize,
    /// Channels of each part.
    parts: Vec<usize>,
    pieces: Vec<Mutex<Piece>>,
    missing: AtomicUsize,
    buffers: Mutex<Vec<Bytes>>,
}

enum Piece {
    Empty,
    /// Memory of its own within the value's.
    InPlace(BytesMut),
    /// A result to be copied.
    Apart(Tensor),
}

impl Joining {
    /// `None` if type or shape of the value are not known.
    pub(crate) fn new(join: &Join, program: &Program, graph: &Graph) -> Option<Self> {
        let value = graph.value(*program.values.get(join.value)?);
        let (data_type, shape) = (value.data_type?, value.shape.clone()?);
        let dimensions = shape.dimensions();
        let channel_bytes = dimensions.get(join.axis + 1..)?.iter().product::<usize>() * data_type.bytes()?;
        let outer = dimensions.get(..join.axis)?.iter().product();
        Some(Self {
            data_type,
            channel_bytes,
            outer,
            pieces: join.parts.iter().map(|_| Mutex::new(Piece::Empty)).collect(),
            parts: join.parts.clone(),
            missing: AtomicUsize::new(0),
            buffers: Mutex::default(),
            shape,
        })
    }

    /// Makes room for the next frame's value.
    pub(crate) fn begin(&self) {
        self.missing.store(self.parts.len(), Ordering::SeqCst);
        let mut rest = (self.outer == 1).then(|| self.buffer());
        for (piece, channels) in self.pieces.iter().zip(&self.parts) {
            let piece_bytes = channels * self.channel_bytes;
            let own = rest.as_mut().map(|rest| rest.split_to(piece_bytes.min(rest.len())));
            *lock(piece) = own.map_or(Piece::Empty, Piece::InPlace);
        }
    }

    /// A buffer of the value's size: one that nobody reads any more, if there is one.
    fn buffer(&self) -> BytesMut {
        let mut buffers = lock(&self.buffers);
        let size = self.outer * self.parts.iter().sum::<usize>() * self.channel_bytes;
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
        if let Piece::InPlace(memory) = &mut *piece {
            segment.run_into(inputs, memory)?;
        } else {
            let mut made = segment.run(inputs)?;
            match (made.pop(), made.len()) {
                (Some(only), 0) => *piece = Piece::Apart(only),
                (_, others) => {
                    let detail = format!("the backend returned {} values of a part, not one", others + 1);
                    return Err(BackendError::Failed { detail });
                }
            }
        }
        drop(piece);
        if self.missing.fetch_sub(1, Ordering::SeqCst) > 1 {
            return Ok(None);
        }
        let bytes = if self.outer == 1 { self.joined() } else { self.gathered()? };
        let mut buffers = lock(&self.buffers);
        if buffers.len() < KEPT_BUFFERS {
            buffers.push(bytes.clone());
        }
        Ok(Some(Tensor::new(self.data_type, self.shape.clone(), std::sync::Arc::new(Joined(bytes)))))
    }

    /// The pieces, which lie one after the other, as one.
    fn joined(&self) -> Bytes {
        let mut whole = BytesMut::new();
        for piece in &self.pieces {
            let piece = std::mem::replace(&mut *lock(piece), Piece::Empty);
            if let Piece::InPlace(memory) = piece {
                whole.unsplit(memory);
            }
        }
        whole.freeze()
    }

    /// Copies the parts together, row by row.
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
        for row in 0..self.outer {
            for (tensor, channels) in tensors.iter().zip(&self.parts) {
                let size = channels * self.channel_bytes;
                let source = tensor.bytes().and_then(|bytes| bytes.get(row * size..(row + 1) * size));
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
