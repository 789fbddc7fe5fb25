//! Memory that a later frame overwrites.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream_backend::{Storage, Tensor};

/// The elements, and what the later frame writes.
struct Reused {
    elements: Vec<u8>,
    zeros: Vec<u8>,
    is_overwritten: AtomicBool,
}

impl Storage for Reused {
    fn bytes(&self) -> Option<&[u8]> {
        Some(if self.is_overwritten.load(Ordering::SeqCst) { &self.zeros } else { &self.elements })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The tensor in such memory.
pub(super) fn reused(tensor: &Tensor) -> Tensor {
    let elements = tensor.bytes().unwrap_or_default().to_vec();
    let storage = Reused { zeros: vec![0; elements.len()], elements, is_overwritten: AtomicBool::new(false) };
    Tensor::new(tensor.data_type(), tensor.shape().clone(), Arc::new(storage))
}

/// What a later frame does to it.
pub(super) fn overwrite(tensor: &Tensor) {
    if let Some(storage) = tensor.storage().as_any().downcast_ref::<Reused>() {
        storage.is_overwritten.store(true, Ordering::SeqCst);
    }
}
