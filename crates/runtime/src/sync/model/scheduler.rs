//! The order in which the model lets threads go on, those that sleep in virtual time left out.

use shuttle::current::TaskId;
use shuttle::scheduler::{Schedule, Scheduler, Task};

use super::world::with;

/// Lets only those tasks go on that do not wait; which of them, another scheduler decides.
#[derive(Debug)]
pub struct SleepingScheduler<S> {
    inner: S,
}

impl<S> SleepingScheduler<S> {
    /// A simulation that `inner` decides about.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: Scheduler> Scheduler for SleepingScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        // What the last one left can be asked for until the next one begins.
        let next = self.inner.new_execution().filter(|_| super::standstill().is_none())?;
        with(super::world::World::reset);
        Some(next)
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let awake = with(|world| {
            world.advance();
            loop {
                let awake: Vec<&Task> =
                    runnable.iter().copied().filter(|task| world.can_go_on(task.id().into())).collect();
                if world.is_too_late() {
                    world.stand_still(runnable.iter().map(|task| task.id().into()));
                    return None;
                }
                if !awake.is_empty() {
                    return Some(awake);
                }
                if !world.skip(runnable.iter().map(|task| task.id().into())) {
                    return None;
                }
            }
        })?;
        self.inner.next_task(&awake, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
