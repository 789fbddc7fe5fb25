//! What frames occupy of links, worked out by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{CostTable, HandOver, LinkCost, MemoryAccess, Nanoseconds};
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::{
    Assignment, Entry, Evaluation, LinkUse, Replica, Schedule, Stage, StageEvaluation, shared_period,
};
use millstream_test_support::{board, chain_of, find_operators, graph, uniform_table};

/// Clusters A and s and the accelerator G, with 10 ns for every operator; a byte occupies the links from A for so many
/// hundredths of a nanosecond, and hand-overs take no time.
fn table(graph: &Graph, to_s: u32, to_g: u32) -> CostTable {
    let mut table = uniform_table(graph, &board("A1+s1+G"), [10; 3]);
    let [a, s, g] = ["A", "s", "G"].map(|label| table.find(&ProcessorClass::new(label, 1)).unwrap());
    for (to, hundredths) in [(s, to_s), (g, to_g)] {
        let occupied = f64::from(hundredths) * 1e-11;
        table.set_link(a, to, LinkCost { hand_over: HandOver::FREE, occupied_seconds_per_byte: occupied });
    }
    table.set_access(g, MemoryAccess { upload: HandOver::FREE, download: HandOver::FREE });
    table
}

fn from_a() -> Entry {
    Entry::Stage { senders: vec![ProcessorClass::new("A", 1)] }
}

fn link(receiver: &str, nanoseconds: u64) -> LinkUse {
    LinkUse { sender: "A".to_owned(), receiver: receiver.to_owned(), time: Nanoseconds(nanoseconds) }
}

/// Values have 100 bytes. One core of s reads c, the other one a and b, all over the same link.
#[test]
fn processors_of_a_cluster_use_its_link_one_after_the_other() {
    let graph = graph(
        25,
        "stem: input -> a b
         left: a -> c
         right: a b -> d
         join: c d -> e",
    );
    let assignment = |processor, names: &[&str]| Assignment { processor, operators: find_operators(&graph, names) };
    let on = |second: Processor| {
        Replica::new(vec![assignment(Processor::new("s", [1]), &["join"]), assignment(second, &["right"])])
    };
    let uses = |replica: Replica| replica.link_uses(&from_a(), &graph, &table(&graph, 2, 5));
    assert_eq!(uses(on(Processor::new("s", [2]))), [link("s", 2 + 4)]);
    assert_eq!(uses(on(Processor::accelerator("G".to_owned()))), [link("s", 2), link("G", 10)]);
}

/// What the network is given is in the memory that all share: only who has another one brings it there over a link.
#[test]
fn inputs_of_the_network_go_over_links_of_accelerators() {
    let graph = graph(
        25,
        "first: input -> a
         second: input a -> b",
    );
    let uses = |processor: Processor| {
        Replica::single(processor, find_operators(&graph, &["second"])).link_uses(
            &from_a(),
            &graph,
            &table(&graph, 10, 10),
        )
    };
    assert_eq!(uses(Processor::new("s", [1])), [link("s", 10)]);
    assert_eq!(uses(Processor::accelerator("G".to_owned())), [link("G", 20)]);
}

/// The second and the fourth stage take 100 bytes each over the link from A to s, which is the slowest of all.
#[test]
fn stages_add_up_what_they_occupy_of_a_link() {
    let graph = chain_of(4, 25);
    let order = graph.order();
    let evaluated = |last: Vec<Processor>| -> Evaluation {
        let of = |place: usize, processors: Vec<Processor>| Stage {
            replicas: processors.into_iter().map(|processor| Replica::single(processor, vec![order[place]])).collect(),
        };
        let single = |cluster: &str, core| vec![Processor::new(cluster, [core])];
        let stages = vec![of(0, single("A", 0)), of(1, single("s", 2)), of(2, single("A", 1)), of(3, last)];
        Schedule { stages }.evaluate(&graph, &table(&graph, 100, 0)).unwrap()
    };

    let one = evaluated(vec![Processor::new("s", [3])]);
    assert_eq!((one.period, one.least_period()), (Nanoseconds(200), Nanoseconds(200)));
    // The other replica occupies nothing: frames may all go there.
    let two = evaluated(vec![Processor::new("s", [3]), Processor::accelerator("G".to_owned())]);
    assert_eq!(two.least_period(), Nanoseconds(100));
    // The link carries a frame in 100 ns, of which those that go to G take none: 100 + 100 / 11.
    assert_eq!(two.period, Nanoseconds(109));
}

/// Two replicas of 100 ns, of which the one occupies the link for 100 and the other for 60: of the 160 that both would
/// need in 100 ns, they get 100. Were all frames the other's, the link would let one pass every 60.
#[test]
fn replicas_whose_link_carries_no_more_wait_and_another_order_might_pass_more() {
    let (replica_times, links) = (vec![Nanoseconds(100); 2], vec![vec![link("s", 100)], vec![link("s", 60)]]);
    let period = shared_period(&replica_times, &links);
    assert_eq!(period, Nanoseconds(80));
    let stages = vec![StageEvaluation { replica_times, link_uses: links, period }];
    let (links, board_links) = (Vec::new(), Vec::new());
    let evaluation = Evaluation { stages, host_links: links, board_links, period, latency: Nanoseconds(100) };
    assert!(evaluation.shares_board_links());
    assert_eq!(evaluation.least_period(), Nanoseconds(60));
}

/// Replicas of a stage wait for each other where they take unlike times and share a link: then what they promise is to
/// be simulated.
#[test]
fn unlike_replicas_wait_for_links_that_both_take_frames_over() {
    let graph = chain_of(2, 25);
    let (before, after) = graph.order().split_at(1);
    let [single, other, pair] =
        [&[1][..], &[4], &[2, 3]].map(|cores: &[u32]| Processor::new("s", cores.iter().copied()));
    let (sender, accelerator) = (Processor::new("A", [0]), Processor::accelerator("G"));
    let mut table = CostTable::new(2, [&sender, &single, &pair, &accelerator].map(Processor::class));
    for (processor, time) in table.class_ids().zip([90, 100, 60, 70]) {
        table.operator_ids().for_each(|operator| table.set_time(processor, operator, Nanoseconds(time)));
    }
    let [a, s, _, g] = [0, 1, 2, 3].map(|place| table.class_ids().nth(place).unwrap());
    for to in [s, g] {
        table.set_link(a, to, LinkCost { hand_over: HandOver::FREE, occupied_seconds_per_byte: 1e-10 });
    }

    let shares = |replicas: [&Processor; 2]| {
        let stage = |processors: &[&Processor], operators: &[OperatorId]| Stage {
            replicas: processors
                .iter()
                .map(|&processor| Replica::single(processor.clone(), operators.to_vec()))
                .collect(),
        };
        let first = Processor::new("A", [9]);
        let schedule = Schedule { stages: vec![stage(&[&first], before), stage(&replicas, after)] };
        schedule.evaluate(&graph, &table).unwrap().shares_board_links()
    };
    assert!(shares([&single, &pair]) && shares([&pair, &single]));
    assert!(!shares([&single, &other]), "each comes when the other has gone");
    assert!(!shares([&single, &accelerator]), "each has a link of its own");
    assert!(!shares([&pair, &sender]), "only one takes frames over a link");
}
