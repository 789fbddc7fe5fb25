//! The threads of this process, of which libraries start some, and the cores on which each may run.

use std::collections::BTreeSet;

use millstream_board::CoreId;

/// The cores on which the calling thread may run; `None` if the system does not tell.
pub fn cores_of_current_thread() -> Option<BTreeSet<CoreId>> {
    system::cores(None)
}

/// Lets the calling thread run on every core that the system gives this process, whatever it was pinned to. False if
/// the system refuses.
pub fn spread_current_thread() -> bool {
    system::set_cores(None, None)
}

/// Lets the calling thread run on these cores and no others. False if the system refuses.
pub fn confine_current_thread(cores: &BTreeSet<CoreId>) -> bool {
    system::set_cores(None, Some(cores))
}

/// Threads of this process that bear a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threads(BTreeSet<i32>);

impl Threads {
    /// Those that bear `name` now, of which the system keeps 15 bytes. None where the system does not tell.
    pub fn named(name: &str) -> Self {
        Self(system::named(name))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Lets them run on these cores and no others. False if the system refuses for one that is still there.
    pub fn confine(&self, cores: &BTreeSet<CoreId>) -> bool {
        let mut is_confined = true;
        for &thread in &self.0 {
            is_confined &= system::set_cores(Some(thread), Some(cores)) || system::cores(Some(thread)).is_none();
        }
        is_confined
    }

    /// The cores on which each of them may run.
    pub fn cores(&self) -> Vec<BTreeSet<CoreId>> {
        self.0.iter().filter_map(|&thread| system::cores(Some(thread))).collect()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::fs;

    use millstream_board::CoreId;
    use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

    /// Bytes of a thread's name that the system keeps.
    const NAME_BYTES: usize = 15;

    pub(super) fn named(name: &str) -> BTreeSet<i32> {
        let kept = name.as_bytes().get(..NAME_BYTES).unwrap_or(name.as_bytes());
        let Ok(entries) = fs::read_dir("/proc/self/task") else { return BTreeSet::new() };
        let bears_it = |entry: &fs::DirEntry| {
            fs::read(entry.path().join("comm")).is_ok_and(|comm| comm.strip_suffix(b"\n").unwrap_or(&comm) == kept)
        };
        let bearers = entries.filter_map(Result::ok).filter(bears_it);
        bearers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    pub(super) fn cores(thread: Option<i32>) -> Option<BTreeSet<CoreId>> {
        let set = sched_getaffinity(pid(thread)?).ok()?;
        Some((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| CoreId(core as u32)).collect())
    }

    pub(super) fn set_cores(thread: Option<i32>, cores: Option<&BTreeSet<CoreId>>) -> bool {
        let mut set = CpuSet::new();
        let is_wanted = |core: usize| cores.is_none_or(|cores| cores.contains(&CoreId(core as u32)));
        (0..CpuSet::MAX_CPU).filter(|&core| is_wanted(core)).for_each(|core| set.set(core));
        pid(thread).is_some_and(|pid| sched_setaffinity(pid, &set).is_ok())
    }

    /// A thread as the system's calls take it: nobody is the caller.
    fn pid(thread: Option<i32>) -> Option<Option<Pid>> {
        match thread {
            None => Some(None),
            Some(thread) => Pid::from_raw(thread).map(Some),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::collections::BTreeSet;

    use millstream_board::CoreId;

    pub(super) fn named(_: &str) -> BTreeSet<i32> {
        BTreeSet::new()
    }

    pub(super) fn cores(_: Option<i32>) -> Option<BTreeSet<CoreId>> {
        None
    }

    pub(super) fn set_cores(_: Option<i32>, _: Option<&BTreeSet<CoreId>>) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn threads_are_found_by_name_and_confined() {
        let all = cores_of_current_thread().unwrap();
        let last = BTreeSet::from([*all.last().unwrap()]);
        let (started, is_started) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        let worker = thread::Builder::new().name("a thread of long name".to_owned());
        let worker = worker.spawn(move || {
            started.send(()).unwrap();
            is_over.recv().unwrap();
            let confined = cores_of_current_thread();
            assert!(spread_current_thread());
            (confined, cores_of_current_thread())
        });
        is_started.recv().unwrap();
        let threads = Threads::named("a thread of long name");
        assert_eq!((threads.count(), Threads::named("another").count()), (1, 0));
        assert!(threads.confine(&last));
        assert_eq!(threads.cores(), std::slice::from_ref(&last));
        end.send(()).unwrap();
        let (confined, spread) = worker.unwrap().join().unwrap();
        assert_eq!(confined, Some(last.clone()));
        assert!(spread.unwrap().is_superset(&all), "the test itself may be confined to some cores");
        assert!(threads.confine(&last), "a thread that has gone is no failure");
    }
}
