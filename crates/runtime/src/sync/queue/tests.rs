//! Queues as threads use them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

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

/// What threads that sleep in `wait` find after `change`, which is to wake them.
fn after<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(waits: Vec<W>, change: impl FnOnce()) -> Vec<T> {
    let ready = Arc::new(Barrier::new(waits.len() + 1));
    let start = |wait: W| {
        let ready = Arc::clone(&ready);
        thread::spawn(move || {
            ready.wait();
            wait()
        })
    };
    let waiting: Vec<_> = waits.into_iter().map(start).collect();
    ready.wait();
    thread::sleep(A_WHILE);
    change();
    waiting.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn whoever_sleeps_is_woken_by_what_it_waits_for() {
    let (sender, receiver) = bounded(1);
    let receive = |receiver: Receiver<i32>| move || receiver.recv();
    assert_eq!(after(vec![receive(receiver.clone())], || sender.send(1).unwrap()), [Ok(1)]);
    let send = |sender: Sender<i32>, item| move || sender.send(item);
    sender.send(2).unwrap();
    assert_eq!(after(vec![send(sender.clone(), 3)], || assert_eq!(receiver.recv(), Ok(2))), [Ok(())]);

    // All of them, once the other end is gone.
    let sending = vec![send(sender.clone(), 4), send(sender.clone(), 5)];
    assert_eq!(after(sending, || drop(receiver)), [Err(SendError(4)), Err(SendError(5))]);
    let (sender, receiver) = bounded(1);
    let receiving = vec![receive(receiver.clone()), receive(receiver)];
    assert_eq!(after(receiving, || drop(sender)), [Err(RecvError), Err(RecvError)]);
}

#[test]
fn whoever_sleeps_for_a_time_is_woken_before_it_is_over() {
    let time = Duration::from_secs(60);
    let begin = Instant::now();
    let (sender, receiver) = bounded(1);
    let receive = |receiver: Receiver<i32>, time| move || receiver.recv_timeout(time);
    // No clock reaches the last of these.
    for time in [time, Duration::MAX] {
        assert_eq!(after(vec![receive(receiver.clone(), time)], || sender.send(1).unwrap()), [Ok(1)]);
    }
    let receiving = vec![receive(receiver.clone(), time), receive(receiver, time)];
    assert_eq!(after(receiving, || drop(sender)), [Err(RecvTimeoutError::Disconnected); 2]);
    assert!(begin.elapsed() < time / 2);
}

/// What an item does when it goes may need the queue.
#[test]
fn an_item_may_hold_an_end_of_its_own_queue() {
    struct Held(#[expect(dead_code, reason = "it is there to be dropped")] Sender<Self>);

    let (sender, receiver) = bounded(1);
    sender.send(Held(sender.clone())).ok();
    drop(receiver);
    assert_eq!(sender.len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]
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
