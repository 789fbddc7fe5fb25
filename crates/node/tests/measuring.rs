//! Measuring a way between two hosts that loses messages, without dora-rs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;
use std::time::Duration;

use anyhow::Result;
use millstream_distributed::Peer;
use millstream_node::channels;
use millstream_node::meter::{Direction, Pace, SIZES, echo, measure};
use millstream_node::transport::{Outlet, Transport};

/// Loses one message in so many.
struct Lossy {
    outlet: Box<dyn Outlet>,
    one_in: usize,
    sent: usize,
}

impl Outlet for Lossy {
    fn send(&mut self, to: Peer, bytes: &[u8]) -> Result<()> {
        self.sent += 1;
        if self.sent.is_multiple_of(self.one_in) { Ok(()) } else { self.outlet.send(to, bytes) }
    }
}

/// What is measured of a way that loses one message in so many in either direction.
fn measured(one_in: usize, pace: Pace) -> Result<Vec<Direction>> {
    let (front, mut hosts) = channels::transports(1);
    let lossy = |transport: Transport| Transport {
        outlet: Box::new(Lossy { outlet: transport.outlet, one_in, sent: 0 }),
        inlet: transport.inlet,
    };
    let other = lossy(hosts.remove(0));
    // It ends with the channels if the last message is lost.
    thread::spawn(move || echo(other));
    measure(lossy(front), pace)
}

fn quick() -> Pace {
    Pace { each: Duration::from_millis(3), least: 4, ..Pace::default() }
}

#[test]
fn both_directions_are_measured_idle_and_busy() {
    let directions = measured(usize::MAX, quick()).unwrap();
    let kinds: Vec<(bool, bool)> = directions.iter().map(|direction| (direction.is_busy, direction.sends)).collect();
    assert_eq!(kinds, [(false, true), (false, false), (true, true), (true, false)]);
    for direction in &directions {
        assert_eq!((direction.lost, direction.samples.len()), (0, SIZES.len()));
        assert!(
            direction.samples.iter().all(|sample| sample.alone_seconds > 0.0 && sample.among_others_seconds > 0.0),
            "{direction:?}"
        );
        // Moving a byte costs both ends processor time, which is this process's here.
        let cpu = [direction.meter_cpu_seconds_per_byte, direction.echo_cpu_seconds_per_byte];
        assert!(
            cpu.iter().all(|&cost| if direction.is_busy { cost == 0.0 } else { cost > 0.0 && cost < 1e-7 }),
            "{cpu:?}"
        );
        // Those alone, those behind each other, and what fills the way.
        assert!(direction.messages >= SIZES.len() * (4 + 4 + 4), "{direction:?}");
    }
}

#[test]
fn a_way_can_be_measured_idle_alone() {
    let directions = measured(usize::MAX, Pace { is_busy_too: false, ..quick() }).unwrap();
    assert_eq!(directions.iter().map(|direction| direction.is_busy).collect::<Vec<_>>(), [false, false]);
}

#[test]
fn messages_that_are_lost_are_sent_again_and_counted() {
    let each = Duration::ZERO;
    let pace = Pace { each, patience: Duration::from_millis(20), most_lost: 10_000, ..quick() };
    let one_in = 17;
    let directions = measured(one_in, pace).unwrap();
    assert_eq!(directions.len(), 4);
    for direction in &directions {
        // One in `one_in` each way.
        assert!(direction.lost >= direction.messages / one_in && direction.lost < direction.messages, "{direction:?}");
        assert_eq!(direction.samples.len(), SIZES.len());
    }
}

#[test]
fn a_way_that_loses_nearly_all_is_told() {
    let pace = Pace { patience: Duration::from_millis(1), most_lost: 5, ..quick() };
    let error = measured(2, pace).unwrap_err().to_string();
    assert!(error.starts_with("the way loses messages: "), "{error}");
    let pace = Pace { begin: Duration::from_millis(1200), ..quick() };
    let error = measured(1, pace).unwrap_err().to_string();
    assert_eq!(error, "the other host did not answer within 1 s");
}
