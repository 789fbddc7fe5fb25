//! Bounded queues in which whoever waits looks again for some microseconds, and then sleeps.
//!
//! Cores are busy with operators here. A thread that would yield its core again and again before it sleeps, as those of
//! other queues do, takes a turn from a worker on the same core each time: callers who received results that way cost
//! instances on all cores up to two percent of their frames (the benchmark `busy_cores` shows a part of that).

use std::collections::VecDeque;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::real::lock;

/// Looks at a queue before a thread sleeps, with a pause before each that is twice as long as the last.
const LOOKS: u32 = 7;

/// A queue with room for so many, of which any end may be cloned.
pub(crate) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let state = State { items: VecDeque::new(), senders: 1, receivers: 1, waiting_to_send: 0, waiting_to_receive: 0 };
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
}

impl<T> Queue<T> {
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
        while state.is_stuck(*capacity) {
            state.waiting_to_send += 1;
            state = room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting_to_send -= 1;
        }
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
        while state.is_idle() {
            state.waiting_to_receive += 1;
            state = self.0.arrival.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting_to_receive -= 1;
        }
        self.0.take(state).map_err(|_| RecvError)
    }

    /// The next item, if there is one within this time.
    pub(crate) fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        // A time that no clock reaches is for ever.
        let Some(end) = Instant::now().checked_add(time) else {
            return self.recv().map_err(|RecvError| RecvTimeoutError::Disconnected);
        };
        let mut state = self.0.watch(State::is_idle);
        while state.is_idle() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            state.waiting_to_receive += 1;
            state = self.0.arrival.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting_to_receive -= 1;
        }
        self.0.take(state).map_err(|_| RecvTimeoutError::Disconnected)
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    /// Longer than a thread looks before it sleeps.
    const A_WHILE: Duration = Duration::from_millis(20);

    #[test]
    fn a_full_queue_refuses_and_an_empty_one_has_nothing() {
        let (sender, receiver) = bounded(2);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        assert_eq!((sender.try_send(1), sender.is_full()), (Ok(()), false));
        assert_eq!((sender.send(2), sender.is_full(), sender.len()), (Ok(()), true, 2));
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!((receiver.recv(), receiver.try_recv()), (Ok(1), Ok(2)));
        let begin = Instant::now();
        assert_eq!(receiver.recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
        assert!(begin.elapsed() >= A_WHILE);
    }

    #[test]
    fn what_is_in_a_queue_outlives_the_last_sender() {
        let (sender, receiver) = bounded(2);
        let other = sender.clone();
        sender.send(1).unwrap();
        drop(sender);
        other.send(2).unwrap();
        drop(other);
        assert_eq!((receiver.recv(), receiver.recv_timeout(A_WHILE)), (Ok(1), Ok(2)));
        assert_eq!((receiver.recv(), receiver.try_recv()), (Err(RecvError), Err(TryRecvError::Disconnected)));
        assert_eq!(receiver.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn what_is_in_a_queue_goes_with_the_last_receiver() {
        let (sender, receiver) = bounded(2);
        let other = receiver.clone();
        let held = Arc::new(());
        sender.send(Arc::clone(&held)).unwrap();
        drop(receiver);
        assert_eq!((Arc::strong_count(&held), sender.try_send(Arc::clone(&held))), (2, Ok(())));
        drop(other);
        assert_eq!(Arc::strong_count(&held), 1);
        assert_eq!(sender.send(Arc::clone(&held)), Err(SendError(Arc::clone(&held))));
        assert!(matches!(sender.try_send(held), Err(TrySendError::Disconnected(_))));
    }

    /// What a thread that sleeps in `wait` finds after `change`.
    fn after<T: Send + 'static>(wait: impl FnOnce() -> T + Send + 'static, change: impl FnOnce()) -> T {
        let waiting = thread::spawn(wait);
        thread::sleep(A_WHILE);
        change();
        waiting.join().unwrap()
    }

    #[test]
    fn whoever_sleeps_is_woken_by_what_it_waits_for() {
        let (sender, receiver) = bounded(1);
        let waiting = receiver.clone();
        assert_eq!(after(move || waiting.recv(), || sender.send(1).unwrap()), Ok(1));
        let waiting = receiver.clone();
        let in_time = Duration::from_secs(60);
        assert_eq!(after(move || waiting.recv_timeout(in_time), || sender.send(2).unwrap()), Ok(2));
        let full = sender.clone();
        sender.send(3).unwrap();
        assert_eq!(after(move || full.send(4), || assert_eq!(receiver.recv(), Ok(3))), Ok(()));
        let full = sender.clone();
        assert_eq!(after(move || full.send(5), || drop(receiver)), Err(SendError(5)));

        let (sender, receiver) = bounded::<u32>(1);
        let waiting = receiver.clone();
        assert_eq!(after(move || [receiver.recv(), waiting.recv()], || drop(sender)), [Err(RecvError); 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// However many threads there are at either end.
        #[test]
        fn everything_comes_out_once_and_in_the_order_of_its_sender(
            (capacity, senders, receivers) in (1_usize..5, 1_usize..4, 1_usize..4),
            count in 0_usize..200,
        ) {
            let (sender, receiver) = bounded(capacity);
            let send = |place: usize| {
                let sender = sender.clone();
                thread::spawn(move || (0..count).for_each(|number| sender.send((place, number)).unwrap()))
            };
            let sending: Vec<_> = (0..senders).map(send).collect();
            drop(sender);
            let take = |_| {
                let receiver = receiver.clone();
                thread::spawn(move || std::iter::from_fn(|| receiver.recv().ok()).collect::<Vec<_>>())
            };
            let receiving: Vec<_> = (0..receivers).map(take).collect();
            sending.into_iter().for_each(|thread| thread.join().unwrap());
            let taken: Vec<Vec<(usize, usize)>> = receiving.into_iter().map(|thread| thread.join().unwrap()).collect();
            for own in &taken {
                for place in 0..senders {
                    prop_assert!(own.iter().filter(|(sender, _)| *sender == place).is_sorted());
                }
            }
            let mut all: Vec<_> = taken.concat();
            all.sort_unstable();
            let sent: Vec<_> = (0..senders).flat_map(|place| (0..count).map(move |number| (place, number))).collect();
            prop_assert_eq!(all, sent);
        }
    }
}
