//! The cores that threads may use, and how the calling thread is scheduled: pinning, slices, real time.

use millstream_board::CoreId;

/// The cores that this process may use, by its cpuset and affinity mask; `None` if the system does not tell.
pub fn usable_cores() -> Option<Vec<CoreId>> {
    Some(core_affinity::get_core_ids()?.into_iter().map(|core| CoreId(core.id as u32)).collect())
}

/// The most cores that the library which pins can tell apart; it ends the process for others.
const MOST_CORES: u32 = 1024;

/// Pins the calling thread to a core. False if the system refuses.
#[must_use]
pub fn pin_current_thread(core: CoreId) -> bool {
    core.0 < MOST_CORES && core_affinity::set_for_current(core_affinity::CoreId { id: core.0 as usize })
}

/// How long the calling thread wants to run at a time where it shares its core.
#[cfg(target_os = "linux")]
const SHORT_SLICE_NANOSECONDS: u64 = 100_000;

/// Asks the system to let the calling thread run in short slices. Its share of a core that other load uses stays the
/// same, but it gets its turn sooner after waiting, which is what matters to a thread that others wait for.
///
/// Its scheduling class and niceness stay what they are. Only the classes `SCHED_OTHER` and `SCHED_BATCH` have slices:
/// a thread of another class, such as a real-time one, is left alone. False then, and if the system does not know of
/// such requests (Linux before 6.12, other systems), which does no harm.
pub fn prefer_short_slices() -> bool {
    #[cfg(target_os = "linux")]
    {
        scheduling().is_some_and(|attributes| request_slice(attributes, SHORT_SLICE_NANOSECONDS))
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// Has the calling thread go before all threads of the usual classes on its core, until it sleeps: the class
/// `SCHED_FIFO` with its lowest priority. False if the system refuses, as it does without the right to real-time
/// scheduling, or has no such class.
pub fn become_real_time() -> bool {
    #[cfg(target_os = "linux")]
    {
        let real_time = |attributes| libc::sched_attr {
            sched_policy: libc::SCHED_FIFO.cast_unsigned(),
            sched_nice: 0,
            sched_priority: 1,
            sched_runtime: 0,
            ..attributes
        };
        scheduling().is_some_and(|attributes| set_scheduling(real_time(attributes)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// How the calling thread is scheduled.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library wraps this system call")]
fn scheduling() -> Option<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>() as u32;
    let mut attributes = libc::sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the call writes at most `size` bytes, which is what the structure has, and the structure lives until it
    // returns.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    (result == 0).then_some(attributes)
}

/// Asks for a slice and leaves all else as `attributes`, those of the calling thread, have it.
#[cfg(target_os = "linux")]
fn request_slice(attributes: libc::sched_attr, nanoseconds: u64) -> bool {
    if ![libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&attributes.sched_policy.cast_signed()) {
        return false;
    }
    set_scheduling(libc::sched_attr { sched_runtime: nanoseconds, ..attributes })
}

/// Tells whether the system does as it is asked.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library wraps this system call")]
fn set_scheduling(attributes: libc::sched_attr) -> bool {
    let attributes = libc::sched_attr { size: size_of::<libc::sched_attr>() as u32, ..attributes };
    // SAFETY: the call reads as many bytes as `size` says from a structure that lives until it returns, and changes
    // nothing but the scheduling of the calling thread (0).
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    result == 0
}
