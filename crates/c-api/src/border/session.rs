//! C functions for a session: opening it, its inputs and outputs, single frames, the plan and a report.

use std::ffi::c_char;

use millstream_api::Tensor;
use millstream_api::bindings::Owner;
use millstream_api::files::to_json;
use millstream_api::runtime::FrameResult;
use serde::Serialize;

use super::pointers::{place, reference, slice, text_or_none};
use super::{MsPort, MsResult, MsStatus, MsTensor};
use crate::failure::Failure;
use crate::last_error::{guarded, guarded_or, text};
use crate::open::{Opened, open};
use crate::options::Options;
use crate::outputs::Outputs;
use crate::ports::{Port, check_count, frame};
use crate::waiting::wait_for;

/// A network that runs on this machine.
pub struct MsSession(pub(super) Opened);

/// Several threads may use a session at once.
const _: () = {
    const fn is_for_threads<T: Send + Sync>() {}
    is_for_threads::<Opened>();
};

/// Opens a session and puts it into `session`: measures the network if nobody did before, which takes about 20 s, finds
/// the best schedule for an objective, tries it out, and starts it.
///
/// `model` is the path of an ONNX file, or zoo:NAME for a built-in network; it may be null if there is a schedule.
/// `options` is null or a JSON object, in which all of these may be left out:
///
/// - "objective": "throughput", "latency", "balanced" or "energy"; "max_latency", "min_throughput", "max_power": what
///   the schedule must keep to, in seconds, frames per second and watts; "margin": by what part predictions must be
///   better than that, 0.1 for a tenth
/// - "schedule": the path of a schedule, or what stands in one, as ms_session_plan_json returns it; then nothing is
///   planned
/// - "profile", "costs": the path of a profile, or that of cost models or the name of a built-in board, to plan on
///   without measuring or trying anything
/// - "fresh": true to measure even if the network was measured before; "profile_seconds": time to measure, where that
///   is done
/// - "dimensions": sizes of open dimensions by name, or by input and position such as image.2; "batch": that of an open
///   first one
/// - "inputs": a list of files with frames to measure and try with, each as FILE or NAME=FILE: .npy, .npz, PNG or JPEG
///   files, or folders of them; made-up frames by default, which some networks refuse
/// - "board": a board file, or the name of a built-in board, if it is not the whole machine; "engine": "onnxruntime",
///   "openvino" (with less precision "openvinoint8", "openvinof16", "openvinobf16"), several with commas between them,
///   or "all" (openvino only if it is installed); "cache_folder": where profiles and optimised sessions are kept
/// - "frames_in_flight": frames in the pipeline at most; "frames_outstanding": frames at most whose results were not
///   received, 16 for each replica by default; "frame_timeout": how many seconds a stage may work on a frame, which
///   fails then
///
/// A process that is forked off can't use the sessions of its parent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_open(
    model: *const c_char,
    options: *const c_char,
    session: *mut *mut MsSession,
) -> MsStatus {
    guarded(|| {
        let session = place(session, "session")?;
        // SAFETY: the caller has room for a pointer there.
        unsafe { session.write(std::ptr::null_mut()) };
        // SAFETY: they are texts of the caller's, who does not touch them before this returns.
        let (model, options) = unsafe { (text_or_none(model, "model")?, text_or_none(options, "options")?) };
        let opened = Box::new(MsSession(open(model, &Options::parse(options)?)?));
        // SAFETY: as above.
        unsafe { session.write(Box::into_raw(opened)) };
        Ok(MsStatus::Ok)
    })
}

/// Ends and frees a session; frames on their way are dropped. No other thread may be using it. Does nothing with a null
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_free(session: *mut MsSession) {
    guarded_or((), || {
        if !session.is_null() {
            // SAFETY: sessions are given away by `Box::into_raw` alone, and the caller frees each of them once.
            drop(unsafe { Box::from_raw(session) });
        }
        Ok(())
    });
}

/// How many inputs the network has; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_input_count(session: *const MsSession) -> usize {
    // SAFETY: a session lives until `ms_session_free`, and may be used by several threads.
    guarded_or(0, || Ok(unsafe { reference(session, "session") }?.0.inputs.len()))
}

/// How many outputs the network has; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_output_count(session: *const MsSession) -> usize {
    // SAFETY: as above.
    guarded_or(0, || Ok(unsafe { reference(session, "session") }?.0.outputs.len()))
}

/// Shows name, type and shape of an input. What it points at is valid until the session is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_input(session: *const MsSession, index: usize, input: *mut MsPort) -> MsStatus {
    // SAFETY: as above; the caller has room for a port there, if it is not null.
    guarded(|| unsafe { show(&reference(session, "session")?.0.inputs, index, place(input, "input")?) })
}

/// Shows name, type and shape of an output. What it points at is valid until the session is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_output(session: *const MsSession, index: usize, output: *mut MsPort) -> MsStatus {
    // SAFETY: as above.
    guarded(|| unsafe { show(&reference(session, "session")?.0.outputs, index, place(output, "output")?) })
}

/// # Safety
/// There is room for a port.
unsafe fn show(ports: &[Port], index: usize, to: *mut MsPort) -> Result<MsStatus, Failure> {
    let missing = || Failure::argument(format!("there is no number {index}, the network has {}", ports.len()));
    let port = MsPort::of(ports.get(index).ok_or_else(missing)?);
    // SAFETY: as asked of the caller.
    unsafe { to.write(port) };
    Ok(MsStatus::Ok)
}

/// Runs one frame, a tensor for each input of the network, and puts its outputs into `result`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_run(
    session: *const MsSession,
    inputs: *const MsTensor,
    input_count: usize,
    result: *mut *mut MsResult,
) -> MsStatus {
    guarded(|| {
        // SAFETY: a session as above, and room for a pointer.
        let (opened, result) = unsafe { opened_and_place(session, result) }?;
        // SAFETY: as many tensors of the caller's as it says.
        let frame = unsafe { read(&opened.inputs, inputs, input_count) }?;
        let received = opened.session.as_owner(|owner| run(opened, owner, frame))?;
        // SAFETY: as above.
        unsafe { hand_out(opened, received, result) }
    })
}

fn run(opened: &Opened, owner: Owner, frame: Vec<Tensor>) -> Result<Option<FrameResult>, Failure> {
    let mut held = Some(frame);
    wait_for(None, "room for the frame", |time| opened.session.submit_within(owner, &mut held, time))?;
    wait_for(None, "result", |time| opened.session.receive_within(owner, time))
}

/// The schedule, as it stands in a file. Free it with ms_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_plan_json(session: *const MsSession, json: *mut *mut c_char) -> MsStatus {
    // SAFETY: a session as above, and room for a pointer unless it is null.
    guarded(|| unsafe {
        let json = place_of_text(json)?;
        hand_out_json(&reference(session, "session")?.0.session.scheduled().document, json)
    })
}

/// What was measured so far, times in seconds. Free it with ms_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_session_report_json(session: *const MsSession, json: *mut *mut c_char) -> MsStatus {
    // SAFETY: as above.
    guarded(|| unsafe {
        let json = place_of_text(json)?;
        hand_out_json(&reference(session, "session")?.0.session.report()?, json)
    })
}

/// Where a text goes, where there is none yet.
///
/// # Safety
/// There is room for a pointer, or it is null.
unsafe fn place_of_text(json: *mut *mut c_char) -> Result<*mut *mut c_char, Failure> {
    let json = place(json, "json")?;
    // SAFETY: it is not null; the rest is asked of the caller.
    unsafe { json.write(std::ptr::null_mut()) };
    Ok(json)
}

/// # Safety
/// There is room for a pointer.
unsafe fn hand_out_json(document: &impl Serialize, to: *mut *mut c_char) -> Result<MsStatus, Failure> {
    let json = text(&to_json(document)?);
    // SAFETY: as asked of the caller.
    unsafe { to.write(json.into_raw()) };
    Ok(MsStatus::Ok)
}

/// A session, and where a result goes, where there is none yet.
///
/// # Safety
/// The session is null or lives; there is room for a pointer, or `result` is null.
pub(super) unsafe fn opened_and_place<'a>(
    session: *const MsSession,
    result: *mut *mut MsResult,
) -> Result<(&'a Opened, *mut *mut MsResult), Failure> {
    let result = place(result, "result")?;
    // SAFETY: as asked of the caller.
    unsafe { result.write(std::ptr::null_mut()) };
    // SAFETY: as asked of the caller.
    Ok((&unsafe { reference(session, "session") }?.0, result))
}

/// Hands a result out, or says that there is none.
///
/// # Safety
/// There is room for a pointer.
pub(super) unsafe fn hand_out(
    opened: &Opened,
    received: Option<FrameResult>,
    to: *mut *mut MsResult,
) -> Result<MsStatus, Failure> {
    let Some(received) = received else { return Ok(MsStatus::End) };
    let outputs = Outputs::new(&opened.outputs, received)?;
    // SAFETY: as asked of the caller.
    unsafe { to.write(Box::into_raw(Box::new(MsResult(outputs)))) };
    Ok(MsStatus::Ok)
}

/// A frame of the caller's tensors.
///
/// # Safety
/// The pointer is null or points at as many tensors, whose pointers are null or point at as much as they say.
pub(super) unsafe fn read(ports: &[Port], inputs: *const MsTensor, count: usize) -> Result<Vec<Tensor>, Failure> {
    // Before any of them is looked at: whoever counts wrong may have fewer than it says.
    check_count(ports, count)?;
    // SAFETY: as asked of the caller.
    let views = unsafe { slice(inputs, count, "inputs") }?;
    // SAFETY: as asked of the caller.
    let tensors = views.iter().enumerate().map(|(position, view)| unsafe { view.read(position) });
    frame(ports, tensors.collect::<Result<_, _>>()?)
}
