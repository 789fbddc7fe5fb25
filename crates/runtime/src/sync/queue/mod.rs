//! Bounded queues in which whoever waits looks again for some microseconds, and then sleeps.
//!
//! Cores are busy with operators here. A thread that yields its core again and again before it sleeps, as those of other
//! queues do, takes a turn from a worker on the same core each time. Two instances of MobileNet v2 on OpenVINO, on two
//! cores, passed 266 frames/s to a caller that waited so, 275 to one that sleeps at once, and 275 to nobody (medians of
//! 24 interleaved turns; 185, 190 and 194 of bevformer-like). Work that needs no cache shows nothing of that: see the
//! benchmark `busy_cores`.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::real::lock;

/// Looks at a queue before a thread sleeps, with a pause after each that is twice as long as the one before.
const LOOKS: u32 = 7;

/// A queue with room for so many, one at least, of which any end may be cloned.
pub(crate) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let capacity = capacity.max(1);
    let items = VecDeque::with_capacity(capacity);
    let state = State { items, senders: 1, receivers: 1, waiting_to_send: 0, waiting_to_receive: 0 };
    let queue = Queue { capacity, state: Mutex::new(state), room: Condvar::new(), arrival: Condvar::new() };
    let queue = Arc::new(queue);
    (Sender(Arc::clone(&queue)), Receiver(queue))
}

/// The end that items go in at. Once the last one is gone, those in the queue can still be received.
pub(crate) struct Sender<T>(Arc<Queue<T>>);

/// The end that items come out of. With the last one, those in the queue go.
pub(crate) struct Receiver<T>(Arc<Queue<T>>);

struct Queue<T> {
    capacity: usize,
    state: Mutex<State<T>>,
    /// Told of each item that was taken out while somebody waited to send.
    room: Condvar,
    /// Told of each item that came in while somebody waited to receive.
    arrival: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    senders: usize,
    receivers: usize,
    waiting_to_send: usize,
    waiting_to_receive: usize,
}

impl<T> Queue<T> {
    /// Puts an item in, if there is room and anybody to receive it.
    fn put(&self, mut state: MutexGuard<'_, State<T>>, item: T) -> Result<(), TrySendError<T>> {
        if state.receivers == 0 {
            return Err(TrySendError::Disconnected(item));
        }
        if state.items.len() >= self.capacity {
            return Err(TrySendError::Full(item));
        }
        state.items.push_back(item);
        let is_awaited = state.waiting_to_receive > 0;
        drop(state);
        if is_awaited {
            self.arrival.notify_one();
        }
        Ok(())
    }

    /// Takes an item out, if there is one.
    fn take(&self, mut state: MutexGuard<'_, State<T>>) -> Result<T, TryRecvError> {
        let Some(item) = state.items.pop_front() else {
            return Err(if state.senders == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty });
        };
        let is_awaited = state.waiting_to_send > 0;
        drop(state);
        if is_awaited {
            self.room.notify_one();
        }
        Ok(item)
    }

    /// The state once it is not as given any more, or after a moment in which it stayed so.
    fn watch(&self, is_in_vain: impl Fn(&State<T>) -> bool) -> MutexGuard<'_, State<T>> {
        for look in 0..LOOKS {
            let state = lock(&self.state);
            if !is_in_vain(&state) {
                return state;
            }
            drop(state);
            (0..1 << look).for_each(|_| std::hint::spin_loop());
        }
        lock(&self.state)
    }
}

impl<T> State<T> {
    fn is_idle(&self) -> bool {
        self.items.is_empty() && self.senders > 0
    }

    fn is_stuck(&self, capacity: usize) -> bool {
        self.items.len() >= capacity && self.receivers > 0
    }
}

impl<T> Sender<T> {
    /// Puts an item in, once there is room.
    pub(crate) fn send(&self, item: T) -> Result<(), SendError<T>> {
        let Queue { capacity, room, .. } = &*self.0;
        let mut state = self.0.watch(|state| state.is_stuck(*capacity));
        state.waiting_to_send += 1;
        let waited = room.wait_while(state, |state| state.is_stuck(*capacity));
        state = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting_to_send -= 1;
        self.0.put(state, item).map_err(|(TrySendError::Full(item) | TrySendError::Disconnected(item))| SendError(item))
    }

    /// Puts an item in, if there is room now.
    pub(crate) fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        self.0.put(lock(&self.0.state), item)
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0.state).items.len()
    }

    /// Whether there is no room now.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.0.capacity
    }
}

impl<T> Receiver<T> {
    /// The next item, once there is one.
    pub(crate) fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.watch(State::is_idle);
        state.waiting_to_receive += 1;
        let waited = self.0.arrival.wait_while(state, |state| state.is_idle());
        state = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting_to_receive -= 1;
        self.0.take(state).map_err(|_| RecvError)
    }

    /// The next item, if there is one within this time.
    pub(crate) fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.0.watch(State::is_idle);
        state.waiting_to_receive += 1;
        let waited = self.0.arrival.wait_timeout_while(state, time, |state| state.is_idle());
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting_to_receive -= 1;
        self.0.take(state).map_err(|nothing| match nothing {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// The next item, if there is one now.
    pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
        self.0.take(lock(&self.0.state))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        lock(&self.0.state).senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        lock(&self.0.state).receivers += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.senders -= 1;
        let is_last = state.senders == 0;
        drop(state);
        if is_last {
            self.0.arrival.notify_all();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.receivers -= 1;
        let left = if state.receivers == 0 { Some(std::mem::take(&mut state.items)) } else { None };
        drop(state);
        if left.is_some() {
            self.0.room.notify_all();
        }
        // Items may hold ends of this queue, so nothing is locked while they go.
        drop(left);
    }
}

#[cfg(test)]
mod tests;
