//! Return codes of the C interface.

/// What became of a call. `ms_last_error` tells more of all but the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum MsStatus {
    /// It was done.
    Ok = 0,
    /// There is no frame whose result was not received; nothing is wrong.
    End = 1,
    /// What was waited for did not come in time; it may be waited for again.
    Timeout = 2,
    /// An argument is a null pointer, no text, or nothing that can be used.
    InvalidArgument = 3,
    /// A frame has other tensors than the network takes.
    InvalidFrame = 4,
    /// A file can't be read or written.
    FileError = 5,
    /// The library of an engine is not there; the message says where it was looked for.
    LibraryMissing = 6,
    /// The frame got lost on its way; the next one is not concerned.
    FrameFailed = 7,
    /// Something else went wrong.
    Failed = 8,
    /// A defect of Millstream.
    Panicked = 9,
}
