//! Millstream from C: the library `libmillstream`, whose header `include/millstream.h` is made of this source.
//!
//! The front door `millstream` does the work; here are handles, texts and tensors as C has them.
//!
//! Invariants: whatever C hands over that can be looked at is checked, null pointers first; no panic crosses the
//! border; no memory of the caller's is looked at after a call has returned; what is handed out stays where it is until
//! its owner is freed. Unsafe code is in `border` alone.

pub mod border;
mod failure;
mod last_error;
mod open;
mod options;
mod outputs;
mod ports;
mod waiting;
