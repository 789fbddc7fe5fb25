//! Who waits, for how long, and what time it is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a step takes, in nanoseconds.
const STEP: u64 = 100;
/// After so many nanoseconds, what still goes on is no better than a standstill. Preparations may be stuck for minutes,
/// one after another.
const END: u64 = 5_000_000_000_000;

#[derive(Default)]
pub(super) struct World {
    /// Nanoseconds since the beginning.
    pub(super) time: u64,
    /// By task: what it waits for.
    waits: Vec<Option<Wait>>,
    /// By task: whether its next `park` returns at once.
    tokens: Vec<bool>,
    /// By task: its name.
    names: Vec<String>,
    /// The tasks that have begun and not ended, with their names.
    living: BTreeMap<usize, String>,
    /// Who waited for what when nobody could go on any more.
    standstill: Option<String>,
    /// What threads panicked with.
    pub(super) panics: Vec<String>,
    /// Threads that can still be started until one can't.
    spawns: Option<usize>,
}

struct Wait {
    until: Option<u64>,
    is_woken: bool,
    what: &'static str,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

/// Works on the state. Nothing that `change` does may be a step.
pub(super) fn with<R>(change: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with(|world| change(&mut world.borrow_mut()))
}

/// The task that asks.
pub(super) fn me() -> usize {
    usize::from(shuttle::current::me())
}

/// A point where another task may go on.
pub fn step() {
    shuttle::thread::sleep(Duration::ZERO);
}

/// The virtual time.
pub fn now() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    let base = *BASE.get_or_init(Instant::now);
    base + Duration::from_nanos(with(|world| world.time))
}

/// The threads that have begun and not ended, the first one included: their names, and what they wait for.
pub fn living() -> Vec<String> {
    with(|world| {
        let wait = |task: usize| world.waits.get(task).and_then(Option::as_ref).map_or("goes on", |wait| wait.what);
        let others = world.living.iter().map(|(&task, name)| format!("{name} {}", wait(task)));
        std::iter::once("main".to_owned()).chain(others).collect()
    })
}

/// Who waited for what when nobody could go on any more, if it came to that in the last execution.
pub fn standstill() -> Option<String> {
    with(|world| world.standstill.clone())
}

/// What threads panicked with so far.
pub fn panics() -> Vec<String> {
    with(|world| world.panics.clone())
}

/// Has one thread fail to start, once so many others have started.
pub fn fail_spawn(after: usize) {
    with(|world| world.spawns = Some(after));
}

/// Waits until somebody wakes this task, or so long. May end early.
pub(super) fn wait(what: &'static str, time: Option<Duration>) {
    let me = me();
    with(|world| {
        let until = time.map(|time| world.time.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        *world.wait(me) = Some(Wait { until, is_woken: false, what });
    });
    step();
    with(|world| *world.wait(me) = None);
}

/// Lets a task that waits go on.
pub(super) fn wake(task: usize) {
    with(|world| {
        if let Some(wait) = world.wait(task) {
            wait.is_woken = true;
        }
    });
}

impl World {
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    fn wait(&mut self, task: usize) -> &mut Option<Wait> {
        if self.waits.len() <= task {
            self.waits.resize_with(task + 1, || None);
        }
        &mut self.waits[task]
    }

    pub(super) fn token(&mut self, task: usize) -> &mut bool {
        if self.tokens.len() <= task {
            self.tokens.resize(task + 1, false);
        }
        &mut self.tokens[task]
    }

    pub(super) fn may_spawn(&mut self) -> bool {
        match &mut self.spawns {
            Some(0) => {
                self.spawns = None;
                return false;
            }
            Some(left) => *left -= 1,
            None => {}
        }
        true
    }

    pub(super) fn begin(&mut self, task: usize, name: String) {
        self.living.insert(task, name.clone());
        if self.names.len() <= task {
            self.names.resize(task + 1, String::new());
        }
        self.names[task] = name;
    }

    pub(super) fn end(&mut self, task: usize) {
        self.living.remove(&task);
    }

    pub(super) fn advance(&mut self) {
        self.time += STEP;
    }

    pub(super) fn can_go_on(&self, task: usize) -> bool {
        let wait = self.waits.get(task).and_then(Option::as_ref);
        wait.is_none_or(|wait| wait.is_woken || wait.until.is_some_and(|until| until <= self.time))
    }

    /// Goes on to the first time limit of these tasks, which all wait. Where there is none, this is a standstill.
    pub(super) fn skip(&mut self, tasks: impl Iterator<Item = usize> + Clone) -> bool {
        let wait = |task: usize| self.waits.get(task).and_then(Option::as_ref);
        if let Some(next) = tasks.clone().filter_map(|task| wait(task)?.until).min() {
            self.time = self.time.max(next);
            return true;
        }
        self.stand_still(tasks);
        false
    }

    /// Notes who waits for what.
    pub(super) fn stand_still(&mut self, tasks: impl Iterator<Item = usize>) {
        let wait = |task: usize| self.waits.get(task).and_then(Option::as_ref);
        let name = |task: usize| self.names.get(task).filter(|name| !name.is_empty()).map_or("main", String::as_str);
        let stands = |task: usize| {
            let what = wait(task).map_or("goes on and on", |wait| wait.what);
            format!("{} ({task}): {what}", name(task))
        };
        self.standstill = Some(tasks.map(stands).collect::<Vec<_>>().join("; "));
    }

    /// Whether all should be over by now.
    pub(super) fn is_too_late(&self) -> bool {
        self.time > END
    }
}
