//! The allocator of glibc: returning freed memory, sharing heaps, and counting what is allocated.

/// Gives memory that this process has freed back to the system. Allocators keep what was freed for later, in pieces
/// that other sizes do not fit; a process that lets go of something large, again and again, seems to grow. Takes up to
/// some milliseconds. Does nothing where the system's allocator is not glibc's.
pub fn release_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    trim();
}

/// Has all threads of this process allocate from two heaps. glibc makes up to eight for each core otherwise, and what
/// one thread frees helps no other: a program that starts threads for every schedule holds several times what it uses.
/// For programs to call before they start threads; does nothing where the system's allocator is not glibc's, or where
/// `MALLOC_ARENA_MAX` says another number.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        limit_heaps(2);
    }
}

/// Bytes that this process has allocated and not freed, up to 4 GiB, whatever the allocator keeps beside them: what
/// tells growth from memory that is kept for later. `None` where the system's allocator is not glibc's.
pub fn allocated_bytes() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    return Some(allocated());
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    return None;
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no library wraps this function")]
fn allocated() -> u64 {
    // SAFETY: the function may be called at any time from any thread; it only counts.
    let counted = unsafe { libc::mallinfo() };
    // The numbers are signed, but not meant to be.
    [counted.uordblks, counted.hblkhd].into_iter().map(|bytes| u64::from(bytes.cast_unsigned())).sum()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no library wraps this function")]
fn trim() {
    // SAFETY: the function may be called at any time from any thread; it changes nothing but memory that is free.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no library wraps this function")]
fn limit_heaps(count: libc::c_int) {
    // SAFETY: the function may be called at any time from any thread; it only decides where later allocations are made.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, count) };
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_is_not_counted() {
        const BYTES: usize = 50 << 20;
        let before = allocated_bytes().unwrap_or_default();
        let held = vec![1_u8; BYTES];
        let with = allocated_bytes().unwrap_or_default();
        assert!(with >= before + (BYTES as u64) * 9 / 10, "{before} {with}");
        drop(held);
        let after = allocated_bytes().unwrap_or_default();
        assert!(after <= before + (BYTES as u64) / 10, "{before} {after}");
    }
}
