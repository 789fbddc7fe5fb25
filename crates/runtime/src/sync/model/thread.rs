//! Threads as shuttle's tasks.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::world::{me, now, step, wait, wake, with};

/// A thread that can be woken.
#[derive(Debug, Clone)]
pub struct Thread(usize);

impl Thread {
    /// As [`std::thread::Thread::unpark`].
    pub fn unpark(&self) {
        step();
        with(|world| *world.token(self.0) = true);
        wake(self.0);
    }
}

pub(crate) fn current() -> Thread {
    Thread(me())
}

pub(crate) fn park() {
    step();
    let me = me();
    while !with(|world| std::mem::take(world.token(me))) {
        wait("parked", None);
    }
}

pub(crate) fn park_timeout(time: Duration) {
    step();
    let me = me();
    let end = now() + time;
    while !with(|world| std::mem::take(world.token(me))) {
        let left = end.saturating_duration_since(now());
        if left.is_zero() {
            return;
        }
        wait("parked for a while", Some(left));
    }
}

/// Goes on after another moment, so that whoever looks at something again and again does not keep time from passing.
pub(crate) fn yield_now() {
    sleep(Duration::from_micros(1));
}

/// As [`std::thread::sleep`], in virtual time.
pub fn sleep(time: Duration) {
    let end = now() + time;
    while now() < end {
        wait("asleep", Some(end.saturating_duration_since(now())));
    }
}

/// A thread that was started.
#[derive(Debug)]
pub struct JoinHandle<T> {
    inner: shuttle::thread::JoinHandle<std::thread::Result<T>>,
    is_finished: Arc<AtomicBool>,
    /// The tasks that wait for its end.
    waiting: Arc<std::sync::Mutex<Vec<usize>>>,
}

impl<T> JoinHandle<T> {
    pub(crate) fn is_finished(&self) -> bool {
        step();
        self.is_finished.load(Ordering::SeqCst)
    }

    /// As [`std::thread::JoinHandle::join`].
    ///
    /// # Errors
    /// What the thread panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        while !self.is_finished.load(Ordering::SeqCst) {
            waiting(&self.waiting).push(me());
            wait("waits for a thread to end", None);
        }
        self.inner.join().flatten()
    }
}

fn waiting(list: &std::sync::Mutex<Vec<usize>>) -> std::sync::MutexGuard<'_, Vec<usize>> {
    list.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Tells others of the end, also if the thread panics.
struct End {
    is_finished: Arc<AtomicBool>,
    waiting: Arc<std::sync::Mutex<Vec<usize>>>,
}

impl Drop for End {
    fn drop(&mut self) {
        let task = me();
        with(|world| world.end(task));
        self.is_finished.store(true, Ordering::SeqCst);
        waiting(&self.waiting).drain(..).for_each(wake);
    }
}

/// As [`std::thread::spawn`], with a name. A panic ends the thread alone; [`super::panics`] tells of it.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (is_finished, waiting) = <(Arc<AtomicBool>, Arc<std::sync::Mutex<Vec<usize>>>)>::default();
    let end = End { is_finished: Arc::clone(&is_finished), waiting: Arc::clone(&waiting) };
    let work = move || {
        let _end = end;
        let result = catch_unwind(AssertUnwindSafe(work));
        if let Err(panic) = &result {
            let message = crate::team::message(&**panic);
            with(|world| world.panics.push(message));
        }
        result
    };
    let inner = shuttle::thread::spawn(work);
    with(|world| world.begin(usize::from(inner.thread().id()), name.to_owned()));
    step();
    JoinHandle { inner, is_finished, waiting }
}

#[derive(Default)]
pub(crate) struct Builder {
    name: String,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn name(self, name: String) -> Self {
        Self { name }
    }

    pub(crate) fn spawn<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        if with(super::world::World::may_spawn) {
            Ok(spawn(&self.name, work))
        } else {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "no more threads"))
        }
    }
}

/// There are no cores.
pub(crate) fn pin_current_thread(_: millstream_board::CoreId) -> bool {
    true
}

/// Nothing large is allocated.
pub(crate) struct MemoryMark;

impl MemoryMark {
    pub(crate) fn now() -> Self {
        Self
    }

    pub(crate) fn move_new_to_huge_pages(&self) -> u64 {
        0
    }
}

/// Nothing large is freed.
pub(crate) fn release_freed_memory() {}

/// There are no time slices.
pub(crate) fn prefer_short_slices() -> bool {
    true
}
