//! What went wrong last, on each thread, and the place where panics end.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::border::MsStatus;
use crate::failure::Failure;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The text, which stays where it is until the next failure on this thread.
pub(crate) fn pointer() -> *const c_char {
    // A thread that is ending may have dropped it.
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

fn remember(message: &str) {
    let text = text(message);
    // As above; there is nobody left to tell.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// A text for C, in which a zero would end it.
pub(crate) fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Does what a function is for. What fails or panics is remembered and becomes a status.
pub(crate) fn guarded(work: impl FnOnce() -> Result<MsStatus, Failure>) -> MsStatus {
    or_else(work, |status| status)
}

/// The same for functions that return something else, `otherwise` if they fail.
pub(crate) fn guarded_or<T>(otherwise: T, work: impl FnOnce() -> Result<T, Failure>) -> T {
    or_else(work, |_| otherwise)
}

fn or_else<T>(work: impl FnOnce() -> Result<T, Failure>, failed: impl FnOnce(MsStatus) -> T) -> T {
    // Whatever the work was in the middle of is either behind locks that tolerate it or gone with it.
    let Failure { status, message } = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return done,
        Ok(Err(failure)) => failure,
        Err(panic) => of_panic(panic),
    };
    remember(&message);
    failed(status)
}

fn of_panic(panic: Box<dyn Any + Send>) -> Failure {
    let told = panic.downcast_ref::<&str>().map(|told| (*told).to_owned());
    let told = told.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    // Its end could panic as well, outside.
    std::mem::forget(panic);
    Failure::new(MsStatus::Panicked, format!("a defect of Millstream, please report it: {told}"))
}

/// What was remembered, for tests.
#[cfg(test)]
pub(crate) fn last() -> String {
    LAST.with(|last| last.borrow().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        let number = 7;
        assert_eq!(guarded(|| panic!("number {number}")), MsStatus::Panicked);
        assert!(last().contains("number 7") && last().contains("report it"), "{}", last());
        assert_eq!(guarded_or(3, || panic!("again")), 3);
        assert!(last().contains("again"), "{}", last());
    }

    #[test]
    fn what_panics_while_it_is_thrown_away_is_kept() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert_eq!(guarded(|| std::panic::panic_any(Bomb)), MsStatus::Panicked);
    }

    #[test]
    fn each_thread_has_its_own_failure() {
        assert_eq!(guarded(|| Err(Failure::argument("here\0there"))), MsStatus::InvalidArgument);
        let other = std::thread::spawn(|| (last(), guarded(|| Err(Failure::frame("elsewhere"))), last()));
        let told = (String::new(), MsStatus::InvalidFrame, "elsewhere".to_owned());
        assert!(other.join().is_ok_and(|other| other == told));
        assert_eq!(guarded(|| Ok(MsStatus::Ok)), MsStatus::Ok);
        assert_eq!(last(), "here\u{fffd}there", "success leaves it");
    }

    #[test]
    fn texts_end_where_they_end() {
        assert_eq!(text("a\0b").as_c_str(), c"a\u{fffd}b");
    }
}
