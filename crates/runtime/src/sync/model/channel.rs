//! Bounded queues with the operations that this crate uses.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::world::{me, now, step, wait, wake};

struct Queue<T> {
    items: VecDeque<T>,
    capacity: usize,
    senders: usize,
    receivers: usize,
    waiting: Vec<usize>,
}

struct Shared<T>(std::sync::Mutex<Queue<T>>);

impl<T> Shared<T> {
    fn with<R>(&self, change: impl FnOnce(&mut Queue<T>) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until something changes, or so long.
    fn wait(&self, what: &'static str, time: Option<Duration>) {
        self.with(|queue| queue.waiting.push(me()));
        wait(what, time);
    }

    /// Changes the queue and wakes those who wait for that.
    fn change<R>(&self, change: impl FnOnce(&mut Queue<T>) -> R) -> R {
        self.with(|queue| {
            queue.waiting.drain(..).for_each(wake);
            change(queue)
        })
    }
}

pub(crate) struct Sender<T>(Arc<Shared<T>>);
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

/// A queue with room for so many.
pub(crate) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Queue { items: VecDeque::new(), capacity, senders: 1, receivers: 1, waiting: Vec::new() };
    let shared = Arc::new(Shared(std::sync::Mutex::new(queue)));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    pub(crate) fn send(&self, mut item: T) -> Result<(), SendError<T>> {
        loop {
            match self.try_send(item) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(back)) => return Err(SendError(back)),
                Err(TrySendError::Full(back)) => item = back,
            }
            self.0.wait("waits for room in a queue", None);
        }
    }

    pub(crate) fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        step();
        self.0.with(|queue| {
            if queue.receivers == 0 {
                return Err(TrySendError::Disconnected(item));
            }
            if queue.items.len() >= queue.capacity {
                return Err(TrySendError::Full(item));
            }
            queue.items.push_back(item);
            queue.waiting.drain(..).for_each(wake);
            Ok(())
        })
    }

    pub(crate) fn len(&self) -> usize {
        step();
        self.0.with(|queue| queue.items.len())
    }

    pub(crate) fn is_full(&self) -> bool {
        step();
        self.0.with(|queue| queue.items.len() >= queue.capacity)
    }
}

impl<T> Receiver<T> {
    pub(crate) fn recv(&self) -> Result<T, RecvError> {
        loop {
            match self.try_recv() {
                Ok(item) => return Ok(item),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => self.0.wait("waits for something in a queue", None),
            }
        }
    }

    pub(crate) fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let end = now() + time;
        loop {
            match self.try_recv() {
                Ok(item) => return Ok(item),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            let left = end.saturating_duration_since(now());
            if left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            self.0.wait("waits for a while for something in a queue", Some(left));
        }
    }

    pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
        step();
        self.0.with(|queue| match queue.items.pop_front() {
            Some(item) => {
                queue.waiting.drain(..).for_each(wake);
                Ok(item)
            }
            None if queue.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        })
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.with(|queue| queue.senders += 1);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.with(|queue| queue.receivers += 1);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.change(|queue| queue.senders -= 1);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // What nobody can receive goes with the last receiver.
        let left = self.0.change(|queue| {
            queue.receivers -= 1;
            if queue.receivers == 0 { std::mem::take(&mut queue.items) } else { VecDeque::new() }
        });
        drop(left);
    }
}
