//! What the libraries for other languages share, beside [`Session`](crate::Session): requests as callers in other
//! languages make them, in plain numbers; owners of a session's frames; and waiting that looks at signals in between.
//!
//! The Python package and the library for C are made with it, so that both mean the same by an argument and say the
//! same of what is wrong with it. Programs in Rust need none of it unless they hand a session on in such a way.

pub use crate::session::{
    Limits, Owner, SessionRequest, Submissions, Submitted, misfit, not_within, positive_seconds, wait_for,
};
