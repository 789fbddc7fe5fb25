//! Pointers of C's as references, if there is something to refer to.

use std::ffi::{CStr, c_char};

use crate::failure::Failure;

/// What a pointer points at.
///
/// # Safety
/// It is null or points at a valid value that nobody changes or frees for as long as the reference is used.
pub(super) unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    check_alignment(pointer, name)?;
    // SAFETY: it is aligned; the rest is asked of the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Where something is to be put. It need hold nothing valid yet.
pub(super) fn place<T>(pointer: *mut T, name: &str) -> Result<*mut T, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    check_alignment(pointer, name)?;
    Ok(pointer)
}

fn check_alignment<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    if pointer.is_aligned() {
        Ok(())
    } else {
        Err(Failure::argument(format!("{name} is not aligned to {} bytes", align_of::<T>())))
    }
}

/// As many values as a caller says, which may be at no address if there are none.
///
/// # Safety
/// The pointer is null or points at as many valid values, which nobody changes or frees for as long as the slice is
/// used.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    check_alignment(pointer, name)?;
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::argument(format!("{name} has {count} elements, more than any memory")));
    }
    // SAFETY: it is neither null, nor unaligned, nor longer than an object may be; the rest is asked of the caller.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A text, or none for a null pointer.
///
/// # Safety
/// The pointer is null or points at bytes that end with a zero, which nobody changes or frees for as long as the text
/// is used.
pub(super) unsafe fn text_or_none<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null; the rest is asked of the caller.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map(Some).map_err(|error| Failure::argument(format!("{name} is not UTF-8: {error}")))
}

pub(super) fn null(name: &str) -> Failure {
    Failure::argument(format!("{name} is a null pointer"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn elements_are_looked_at_only_where_they_can_be() {
        let numbers = [1_u64, 2, 3];
        // SAFETY: the array is there, and what is not aligned or longer than any memory is not looked at.
        let of =
            |pointer: *const u64, count| unsafe { slice(pointer, count, "numbers") }.map_err(|failure| failure.message);
        assert_eq!(of(numbers.as_ptr(), 3).unwrap(), [1, 2, 3]);
        assert!(of(std::ptr::null(), 0).unwrap().is_empty());
        assert_eq!(of(std::ptr::null(), 1).unwrap_err(), "numbers is a null pointer");
        let unaligned = numbers.as_ptr().wrapping_byte_add(1);
        assert_eq!(of(unaligned, 1).unwrap_err(), "numbers is not aligned to 8 bytes");
        let (unaligned, message) = (unaligned.cast_mut(), "number is not aligned to 8 bytes");
        assert_eq!(place(unaligned, "number").map_err(|failure| failure.message).unwrap_err(), message);
        // SAFETY: what is not aligned is not looked at.
        let looked_at = unsafe { reference(unaligned, "number") };
        assert_eq!(looked_at.map_err(|failure| failure.message).unwrap_err(), message);
        assert!(of(numbers.as_ptr(), usize::MAX).unwrap_err().contains("more than any memory"));
    }
}
