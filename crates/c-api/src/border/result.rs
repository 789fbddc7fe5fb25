//! C functions for the result of a frame: its outputs, its number, and freeing it.

use super::MsTensor;
use super::pointers::{place, reference};
use super::status::MsStatus;
use crate::failure::Failure;
use crate::last_error::{guarded, guarded_or};
use crate::outputs::Outputs;

/// The outputs of a frame.
pub struct MsResult(pub(super) Outputs);

/// How many outputs a result has: as many as the network. 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_result_output_count(result: *const MsResult) -> usize {
    // SAFETY: a result lives until `ms_result_free`, and nothing changes it.
    guarded_or(0, || Ok(unsafe { reference(result, "result") }?.0.outputs.len()))
}

/// Shows an output of a result, in the order of the network's. It is valid until the result is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_result_output(result: *const MsResult, index: usize, output: *mut MsTensor) -> MsStatus {
    guarded(|| {
        // SAFETY: as above.
        let outputs = &unsafe { reference(result, "result") }?.0.outputs;
        let output = place(output, "output")?;
        let missing = || Failure::argument(format!("there is no output {index}, the result has {}", outputs.len()));
        let view = MsTensor::of(outputs.get(index).ok_or_else(missing)?)?;
        // SAFETY: it is not null, and the caller has room for a tensor there.
        unsafe { output.write(view) };
        Ok(MsStatus::Ok)
    })
}

/// The number that ms_session_submit gave the frame; UINT64_MAX for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_result_sequence(result: *const MsResult) -> u64 {
    // SAFETY: as above.
    guarded_or(u64::MAX, || Ok(unsafe { reference(result, "result") }?.0.sequence))
}

/// Frees a result and all that it shows. Does nothing with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_result_free(result: *mut MsResult) {
    guarded_or((), || {
        if !result.is_null() {
            // SAFETY: results are given away by `Box::into_raw` alone, and the caller frees each of them once.
            drop(unsafe { Box::from_raw(result) });
        }
        Ok(())
    });
}
