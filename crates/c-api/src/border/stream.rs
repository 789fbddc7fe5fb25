//! Frames that are submitted one by one, and their results.

use std::time::Duration;

use super::pointers::reference;
use super::session::{hand_out, opened_and_place, read};
use super::{MsResult, MsSession, MsStatus, MsTensor};
use crate::failure::Failure;
use crate::last_error::guarded;
use crate::waiting::wait_for;

/// Submits a frame, and puts its number into `sequence` unless that is null. Waits while there is no room, for
/// `timeout_ms` milliseconds at most, or as long as it takes if that is negative; results must be received meanwhile,
/// by this thread or another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_submit(
    session: *const MsSession,
    inputs: *const MsTensor,
    input_count: usize,
    timeout_ms: i64,
    sequence: *mut u64,
) -> MsStatus {
    guarded(|| {
        // SAFETY: a session as above.
        let opened = &unsafe { reference(session, "session") }?.0;
        // SAFETY: as many tensors of the caller's as it says.
        let mut held = Some(unsafe { read(&opened.inputs, inputs, input_count) }?);
        let submit = |time| opened.submissions.submit_within(&opened.session, &mut held, time);
        let number = wait_for(limit(timeout_ms), "room for the frame", submit)?;
        if !sequence.is_null() {
            // SAFETY: the caller has room for a number there.
            unsafe { sequence.write(number) };
        }
        Ok(MsStatus::Ok)
    })
}

/// Tells that no more frames will be submitted: ms_session_await returns MS_STATUS_END once the results of those before
/// were received, and ms_session_submit fails from now on. ms_session_run goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_end(session: *const MsSession) -> MsStatus {
    guarded(|| {
        // SAFETY: a session as above.
        unsafe { reference(session, "session") }?.0.submissions.end();
        Ok(MsStatus::Ok)
    })
}

/// Puts the outputs of the next frame that was submitted into `result`, in order. Waits for them as ms_session_submit
/// does. MS_STATUS_END if there is no frame whose result was not received; MS_STATUS_FRAME_FAILED if this one got lost,
/// and then the next call is about the next frame. `result` is null unless there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_receive(
    session: *const MsSession,
    timeout_ms: i64,
    result: *mut *mut MsResult,
) -> MsStatus {
    // SAFETY: a session as above, and room for a pointer.
    guarded(|| unsafe { receive(session, false, timeout_ms, result) })
}

/// The same for a thread that receives what another one submits: while no frame is on its way, the next one is waited
/// for as well, and MS_STATUS_END is the end that ms_session_end told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_await(
    session: *const MsSession,
    timeout_ms: i64,
    result: *mut *mut MsResult,
) -> MsStatus {
    // SAFETY: as above.
    guarded(|| unsafe { receive(session, true, timeout_ms, result) })
}

/// # Safety
/// The session is null or one that lives, and there is room for a pointer unless that is null.
unsafe fn receive(
    session: *const MsSession,
    awaits_more: bool,
    timeout_ms: i64,
    result: *mut *mut MsResult,
) -> Result<MsStatus, Failure> {
    // SAFETY: as asked of the caller.
    let (opened, result) = unsafe { opened_and_place(session, result) }?;
    let receive = |time| opened.submissions.receive_within(&opened.session, awaits_more, time);
    let received = wait_for(limit(timeout_ms), "result", receive)?;
    // SAFETY: as asked of the caller.
    unsafe { hand_out(opened, received, result) }
}

/// How long a caller waits; a negative number is as long as it takes.
fn limit(timeout_ms: i64) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::limit;
    use std::time::Duration;

    #[test]
    fn a_negative_time_is_no_limit() {
        assert_eq!((limit(-1), limit(i64::MIN)), (None, None));
        assert_eq!((limit(0), limit(1500)), (Some(Duration::ZERO), Some(Duration::from_millis(1500))));
    }
}
