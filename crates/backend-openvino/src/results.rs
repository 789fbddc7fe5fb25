//! What a segment makes, and the memory that it is made in.

use std::sync::Arc;

use millstream_backend::{BackendError, Tensor, marks};

use crate::convert::{self, OpenVinoStorage};
use crate::error::failed;
use crate::native::{Owned, Port};

/// Tensors of an output that are kept to be used again.
const MOST_KEPT: usize = 4;

/// An output, and tensors for it.
pub(crate) struct Results {
    port: Port,
    /// Some are still looked at.
    kept: Vec<Arc<OpenVinoStorage>>,
}

impl Results {
    pub(crate) fn new(port: Port) -> Self {
        Self { port, kept: Vec::new() }
    }

    pub(crate) fn port(&self) -> &Port {
        &self.port
    }

    /// A tensor that nobody looks at, marked as not written.
    pub(crate) fn take(&mut self) -> Result<OpenVinoStorage, BackendError> {
        let unused = self.kept.iter().position(|kept| Arc::strong_count(kept) == 1);
        let unused = unused.and_then(|unused| Arc::into_inner(self.kept.swap_remove(unused)));
        let mut storage = match unused {
            Some(storage) => storage,
            None => {
                let dimensions = self.port.dimensions.as_deref().unwrap_or(&[0]);
                OpenVinoStorage(Owned::new(self.port.element, dimensions).map_err(failed)?)
            }
        };
        marks::mark(storage.0.bytes_mut().map_err(failed)?);
        Ok(storage)
    }

    /// A result, whose tensor is used again once nobody looks at it.
    ///
    /// # Errors
    /// [`BackendError::Failed`] if nothing was written to it.
    pub(crate) fn give(&mut self, storage: OpenVinoStorage) -> Result<Tensor, BackendError> {
        let bytes = storage.0.bytes().map_err(failed)?;
        if !bytes.is_empty() && !marks::is_written(bytes) {
            return Err(BackendError::failed("OpenVINO did not write a result; please report this network"));
        }
        let storage = Arc::new(storage);
        if self.kept.len() < MOST_KEPT {
            self.kept.push(Arc::clone(&storage));
        }
        convert::tensor(&self.port, storage).map_err(BackendError::failed)
    }

    /// A result that is in a tensor of the library's, where the next frame will be.
    pub(crate) fn copy(&self, owned: &Owned) -> Result<Tensor, BackendError> {
        let bytes = owned.bytes().map_err(failed)?.to_vec();
        let dimensions = owned.dimensions().map_err(failed)?;
        convert::copied(&self.port, &dimensions, bytes).map_err(BackendError::failed)
    }
}
