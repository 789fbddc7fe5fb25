use crate::CoreId;

/// The cores that this process may use, by its cpuset and affinity mask; `None` if the system does not tell.
pub fn usable_cores() -> Option<Vec<CoreId>> {
    Some(core_affinity::get_core_ids()?.into_iter().map(|core| CoreId(core.id as u32)).collect())
}

impl CoreId {
    /// Pins the calling thread to this core. False if the system refuses.
    #[must_use]
    pub fn pin_current_thread(self) -> bool {
        core_affinity::set_for_current(core_affinity::CoreId { id: self.0 as usize })
    }
}
