use millstream_board::CoreId;

/// The cores that this process may use, by its cpuset and affinity mask; `None` if the system does not tell.
pub fn usable_cores() -> Option<Vec<CoreId>> {
    Some(core_affinity::get_core_ids()?.into_iter().map(|core| CoreId(core.id as u32)).collect())
}

/// Pins the calling thread to a core. False if the system refuses.
#[must_use]
pub fn pin_current_thread(core: CoreId) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: core.0 as usize })
}

/// How long the calling thread wants to run at a time where it shares its core.
#[cfg(target_os = "linux")]
const SHORT_SLICE_NANOSECONDS: u64 = 100_000;

/// Asks the system to let the calling thread run in short slices. Its share of a core that other load uses stays the same, but it
/// gets its turn sooner after waiting, which is what matters to a thread that others wait for. False if the system does not
/// know of such requests (Linux before 6.12, other systems), which does no harm.
pub fn prefer_short_slices() -> bool {
    #[cfg(target_os = "linux")]
    {
        request_slice(SHORT_SLICE_NANOSECONDS)
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library wraps this system call")]
fn request_slice(nanoseconds: u64) -> bool {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: nanoseconds,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the call reads as many bytes as `size` says from a structure that lives until it returns, and changes nothing but
    // the scheduling of the calling thread (0).
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    result == 0
}
