//! Which operators of a session a provider took.

use std::collections::HashSet;
use std::ffi::CStr;
use std::ptr::NonNull;

use ort::AsPointer;
use ort::session::Session;
use ort::sys::{OrtEpAssignedNode, OrtEpAssignedSubgraph, OrtStatusPtr};

/// Has a session remember what [`nodes_of`] tells.
pub(crate) const RECORD: (&str, &str) = ("session.record_ep_graph_assignment_info", "1");

/// Names of the nodes that a session gave to a provider.
///
/// # Errors
/// What ONNX Runtime does not tell.
#[expect(unsafe_code, reason = "the library does not tell")]
pub(crate) fn nodes_of(session: &Session, provider: &str) -> Result<HashSet<String>, String> {
    let api = ort::api();
    let (mut subgraphs, mut count) = (std::ptr::null::<*const OrtEpAssignedSubgraph>(), 0);
    // SAFETY: the session is alive, and both places are there to be written. What is written is an array of so many
    // pointers that the session owns; it lives as long as the borrow of the session.
    let subgraphs = unsafe {
        done((api.Session_GetEpGraphAssignmentInfo)(session.ptr(), &mut subgraphs, &mut count))?;
        items(subgraphs, count)
    };

    let mut names = HashSet::new();
    for &subgraph in subgraphs {
        let (mut name, mut nodes, mut count) = (std::ptr::null(), std::ptr::null::<*const OrtEpAssignedNode>(), 0);
        // SAFETY: the part of the graph is the session's, as above; so is what it tells of itself.
        let (name, nodes) = unsafe {
            done((api.EpAssignedSubgraph_GetEpName)(subgraph, &mut name))?;
            done((api.EpAssignedSubgraph_GetNodes)(subgraph, &mut nodes, &mut count))?;
            (text(name), items(nodes, count))
        };
        if name != provider {
            continue;
        }
        for &node in nodes {
            let mut name = std::ptr::null();
            // SAFETY: the node is the session's, as above.
            names.insert(unsafe {
                done((api.EpAssignedNode_GetName)(node, &mut name))?;
                text(name)
            });
        }
    }
    Ok(names)
}

/// The elements of an array; none if there is no array.
///
/// # Safety
/// Where `first` is not null, it must point to so many elements that live for `'a` and are not written.
#[expect(unsafe_code, reason = "arrays of the library's interface")]
unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// A text of the library's as a string; empty if there is none.
///
/// # Safety
/// Where `text` is not null, it must point to bytes that end with a null byte.
#[expect(unsafe_code, reason = "texts of the library's interface")]
unsafe fn text(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Whether a call succeeded; if not, what the library says. Takes the status.
///
/// # Safety
/// The status must be one that a call of the library has returned just now.
#[expect(unsafe_code, reason = "the library's statuses have to be given back to it")]
unsafe fn done(status: OrtStatusPtr) -> Result<(), String> {
    let Some(status) = NonNull::new(status.0) else { return Ok(()) };
    // SAFETY: the status is the caller's alone, and given back once, after its message was copied.
    unsafe {
        let message = text((ort::api().GetErrorMessage)(status.as_ptr()));
        (ort::api().ReleaseStatus)(status.as_ptr());
        Err(message)
    }
}
