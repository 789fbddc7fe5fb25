//! What a host and the front make of single messages, above all of those that come late, twice, or to the wrong place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use millstream_distributed::{
    Ask, FrameTag, Front, FrontAction, FrontEvent, FrontOptions, HostAction, HostId, HostSide, HostSpan, Identity,
    Message, MessageKind, Peer, PlanId, Route, Tell,
};

const PLAN: PlanId = PlanId(0);
const NOW: Duration = Duration::from_secs(3);

fn identity(host: &str) -> Identity {
    Identity { host: host.to_owned(), ..Identity::default() }
}

/// The second of two hosts on the only route, which is ready for it and knows of epoch 5.
fn host() -> HostSide {
    let mut host = HostSide::new(HostId(1), identity("pi"), 1, vec![Route::new([HostId(0), HostId(1)])]);
    host.prepared(PLAN, Ok(()));
    assert!(matches!(&probe(&mut host, 5)[..], [MessageKind::Probed { epoch: 5 }]));
    host
}

/// What a host sends when it is probed.
fn probe(host: &mut HostSide, epoch: u64) -> Vec<MessageKind> {
    sent(host.receive(Message::plain(MessageKind::Probe { epoch, plan: PLAN, visit: 1 }), NOW))
}

fn sent(actions: Vec<HostAction>) -> Vec<MessageKind> {
    let message = |action| match action {
        HostAction::Send { to: Peer::Front, message } => Some(message.kind),
        _ => None,
    };
    actions.into_iter().filter_map(message).collect()
}

fn tag(visit: usize, position: u64) -> FrameTag {
    FrameTag { epoch: 5, plan: PLAN, visit, position, sequence: position }
}

fn frame(tag: FrameTag) -> Message {
    Message::plain(MessageKind::Frame { tag, failure: None })
}

#[test]
fn frames_are_computed_without_a_gap() {
    let mut host = host();
    assert!(matches!(&host.receive(frame(tag(1, 0)), NOW)[..], [HostAction::Compute { .. }]));
    assert!(!host.is_over(&tag(1, 0)));
    // Frame 1 is missing: nothing of this epoch is worth anything any more.
    let told = sent(host.receive(frame(tag(1, 2)), NOW));
    assert!(matches!(&told[..], [MessageKind::Missing { epoch: 5, .. }]), "{told:?}");
    assert!(host.is_over(&tag(1, 0)));
    assert!(host.receive(frame(tag(1, 1)), NOW).is_empty() && host.computed(tag(1, 0), Ok(Vec::new())).is_empty());
}

#[test]
fn a_frame_for_another_host_is_missing_there() {
    let told = sent(host().receive(frame(tag(0, 0)), NOW));
    assert!(matches!(&told[..], [MessageKind::Missing { epoch: 5, .. }]), "{told:?}");
}

#[test]
fn probes_of_older_epochs_are_not_answered() {
    let mut host = host();
    assert!(probe(&mut host, 4).is_empty());
    assert_eq!(probe(&mut host, 6).len(), 1);
}

/// A front with two plans, of which the second does without the first host.
fn front() -> Front {
    let plans = vec![Route::new([HostId(0), HostId(1)]), Route::new([HostId(1)])];
    Front::new(plans, vec![identity("rk"), identity("pi")], FrontOptions::new(2)).unwrap()
}

/// What the front notices when a host tells of itself.
fn hear(front: &mut Front, host: usize, incarnation: u64, seconds: u64) -> Vec<FrontEvent> {
    let identity = identity(["rk", "pi"][host]);
    let tell =
        Tell { nanoseconds: 0, clock_nanoseconds: 0, incarnation, identity, prepared: vec![PLAN], refused: Vec::new() };
    let actions = front.receive(HostId(host), Message::plain(MessageKind::Tell(tell)), Duration::from_secs(seconds));
    let event = |action| match action {
        FrontAction::Event(event) => Some(event),
        _ => None,
    };
    actions.into_iter().filter_map(event).collect()
}

#[test]
fn what_a_host_told_before_it_was_started_again_is_old() {
    let mut front = front();
    assert_eq!(hear(&mut front, 0, 7, 1), [FrontEvent::Came(HostId(0))]);
    assert_eq!(hear(&mut front, 0, 8, 2), [FrontEvent::Restarted(HostId(0))]);
    // A message of the run before is still under way. It does not make the host another one again.
    assert_eq!(hear(&mut front, 0, 7, 3), []);
    assert_eq!(hear(&mut front, 0, 8, 4), []);
}

/// The front's time is 40 s ahead of the host's, until the host is started again.
#[test]
fn what_stages_did_is_told_in_the_time_of_the_front() {
    let (mut front, mut host) = (front(), host());
    let second = Duration::from_secs;
    let asked = Ask { nanoseconds: 50_000_000_000, prepare: Vec::new() };
    let told = sent(host.receive(Message::plain(MessageKind::Ask(asked)), second(12)));
    let [MessageKind::Tell(tell)] = &told[..] else { panic!("{told:?}") };
    front.receive(HostId(1), Message::plain(MessageKind::Tell(tell.clone())), second(54));

    let span =
        |begin, end| HostSpan { plan: PLAN, stage: 1, replica: 0, sequence: 8, begin: second(begin), end: second(end) };
    let told = sent(host.figures(Vec::new(), vec![span(10, 11)])).remove(0);
    let spans = |front: &mut Front| {
        let actions = front.receive(HostId(1), Message::plain(told.clone()), second(60));
        let spans = |action| if let FrontAction::Figures { spans, .. } = action { spans } else { Vec::new() };
        actions.into_iter().flat_map(spans).collect::<Vec<_>>()
    };
    assert_eq!(spans(&mut front), [span(50, 51)]);

    // Its clock begins anew.
    let again = Tell { clock_nanoseconds: 0, incarnation: 2, nanoseconds: 70_000_000_000, ..tell.clone() };
    front.receive(HostId(1), Message::plain(MessageKind::Tell(again)), second(70));
    assert_eq!(spans(&mut front), [span(80, 81)]);
}

/// Nobody else would notice that the last answer is missing.
#[test]
fn frames_are_sent_again_when_messages_may_be_lost() {
    let (mut front, now) = (front(), Duration::from_secs(1));
    assert!(front.lost_messages("early", now).is_empty());
    hear(&mut front, 0, 1, 1);
    hear(&mut front, 1, 1, 1);
    let probe = |action| match action {
        FrontAction::Send { message: Message { kind: MessageKind::Probe { epoch, .. }, .. }, .. } => Some(epoch),
        _ => None,
    };
    let epoch = front.tick(now).into_iter().find_map(probe).unwrap();
    front.receive(HostId(1), Message::plain(MessageKind::Probed { epoch }), now);
    front.submit(Vec::new(), now);
    let again = front.lost_messages("broken off", now);
    let is_told = |action: &FrontAction| matches!(action, FrontAction::Event(FrontEvent::SendsAgain { frames: 1, detail }) if detail == "broken off");
    assert!(again.iter().any(is_told), "{again:?}");
    assert!(front.tick(now + Duration::from_millis(500)).into_iter().find_map(probe).unwrap() > epoch);
}
