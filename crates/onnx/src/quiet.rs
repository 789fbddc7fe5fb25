//! Panics of the library `rten-shape-inference` that are expected and handled: they become `None`, and nothing is
//! printed.
//!
//! The library infers shapes by rules for models that are right. On a damaged one they may insert behind the end of a
//! shape, as for an `Unsqueeze` with the same axis twice, and their numbers of 32 bits may overflow, which panics here
//! since release builds check arithmetic too. Whatever a rule leaves half done is dropped with the panic. None of this
//! was reported to the library's authors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// What `work` returns, or `None` if it panics. The message of such a panic is not printed; those of all other threads,
/// and of this one outside `work`, are.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                others(panic);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(before);
    outcome.ok()
}
