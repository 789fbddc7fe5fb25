//! The rules by which tasks run, on timelines that were worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{BlockedEnd, CostTable, HandOver, LinkCost, MemoryAccess, Nanoseconds, TransferModel};
use millstream_graph::Graph;
use millstream_schedule::execution::{
    Dependency, Execution, Fetch, Next, OutputId, ProcessorId, Span, TaskGraph, TaskId, TransferCost, recipients,
};
use millstream_schedule::{Assignment, Entry, Replica, ReplicaTasks, Schedule, Stage, StageId};
use millstream_test_support::{board, find_operators, uniform_table};

/// A stem with two values, of which the left and the right operator read one each and the last one both; the join reads
/// left and right.
fn graph() -> Graph {
    millstream_test_support::graph(
        25,
        "stem: input -> a b
         left: a -> c
         right: b -> d
         join: c d -> e
         last: a b e e -> f",
    )
}

/// 10 ns for every operator on A, 20 ns on B; 3 ns from A to B, 5 ns back.
fn table(graph: &Graph, blocks: Option<BlockedEnd>) -> CostTable {
    let mut table = uniform_table(graph, &board("A1+B1"), [10, 20]);
    let processors: Vec<_> = table.class_ids().collect();
    for (from, to, seconds) in [(0, 1, 3e-9), (1, 0, 5e-9)] {
        let model = TransferModel { latency_seconds: seconds, blocks, ..TransferModel::default() };
        table.set_transfer(processors[from], processors[to], model);
    }
    table
}

fn replica(graph: &Graph, on_a: &[&str], on_b: &[&str]) -> Replica {
    let assignment = |cluster: &str, core: u32, names: &[&str]| Assignment {
        processor: Processor::new(cluster, [core]),
        operators: find_operators(graph, names),
    };
    Replica::new(vec![assignment("A", 0, on_a), assignment("B", 1, on_b)])
}

/// Starts and ends of stem, left, join, right and last, and how long A and B were busy.
fn timeline(blocks: Option<BlockedEnd>) -> (Vec<(u64, u64)>, Vec<u64>) {
    let graph = graph();
    let table = table(&graph, blocks);
    let replica = replica(&graph, &["stem", "left", "join"], &["right", "last"]);
    let execution = replica.execute(&graph, &table).unwrap();
    let span = |task: TaskId| (execution.span(task).start.0, execution.span(task).end.0);
    let busy = replica.busy(&Entry::Network, &graph, &table).unwrap();
    assert_eq!(execution.makespan(), replica.time(&Entry::Network, &graph, &table).unwrap());
    (TaskId::all(5).map(span).collect(), busy.into_iter().map(|busy| busy.0).collect())
}

#[test]
fn transfers_beside_computation() {
    // b is on B at 13, a as well; right's value is on A at 38, and join's on B at 51.
    let spans = vec![(0, 10), (10, 20), (38, 48), (13, 33), (51, 71)];
    assert_eq!(timeline(None), (spans, vec![30, 40]));
}

#[test]
fn transfers_that_occupy_their_sender() {
    // A sends a until 13 and b until 16, each once though two operators read b; then left runs. B sends d until 16 +
    // 20 + 5 = 41, join is sent until 54.
    let spans = vec![(0, 10), (16, 26), (41, 51), (16, 36), (54, 74)];
    assert_eq!(timeline(Some(BlockedEnd::Sender)), (spans, vec![10 + 6 + 10 + 10 + 3, 20 + 5 + 20]));
}

#[test]
fn transfers_that_occupy_their_receiver() {
    // B fetches b from 10 to 13 for right; A fetches d from 33 to 38 for join. For last, B fetches a while it waits,
    // from 33 to 36, and e, which it reads twice, from 48 to 51.
    let spans = vec![(0, 10), (10, 20), (38, 48), (13, 33), (51, 71)];
    assert_eq!(timeline(Some(BlockedEnd::Receiver)), (spans, vec![30 + 5, 40 + 9]));
}

#[test]
fn what_is_taken_back_leaves_no_trace() {
    let graph = graph();

    for blocks in [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)] {
        let table = table(&graph, blocks);
        let replica = replica(&graph, &["stem", "left", "join"], &["right", "last"]);
        let tasks = ReplicaTasks::new(&replica, &graph, &table).unwrap();
        let home: Vec<ProcessorId> = tasks.tasks().iter().map(|task| task.processor).collect();
        let order = [0, 1, 3, 2, 4].map(TaskId::new);
        let run = |execution: &mut Execution, tasks_to_run: &[TaskId]| {
            for &task in tasks_to_run {
                execution.run(&tasks, task, &home);
            }
        };
        let state = |execution: &Execution, done: &[TaskId]| {
            let spans: Vec<_> = done.iter().map(|&task| (execution.span(task), execution.home(task))).collect();
            let transfers: Vec<_> =
                TaskId::all(tasks.tasks().len()).map(|task| execution.transfers(task).to_vec()).collect();
            (spans, transfers, execution.free().to_vec(), execution.busy().to_vec(), execution.makespan())
        };
        let mut whole = Execution::new(&tasks);
        run(&mut whole, &order);
        for kept in 0..=order.len() {
            let mut execution = Execution::new(&tasks);
            run(&mut execution, &order[..kept]);
            let (mark, before) = (execution.mark(), state(&execution, &order[..kept]));
            run(&mut execution, &order[kept..]);
            execution.rollback(mark);
            assert_eq!(state(&execution, &order[..kept]), before);
            assert!(order[kept..].iter().all(|&task| execution.home(task).is_none()));
            run(&mut execution, &order[kept..]);
            assert_eq!(state(&execution, &order), state(&whole, &order));
            execution.reset();
            run(&mut execution, &order);
            assert_eq!(state(&execution, &order), state(&whole, &order));
        }
    }
}

/// Runs a replica as a simulator does: moment by moment, each processor begins what is next for it, and what it does is
/// told when it is over. Processors are asked in this order.
fn moment_by_moment(tasks: &ReplicaTasks<'_>, asked: &[usize]) -> Execution {
    #[derive(Clone, Copy)]
    enum Doing {
        Nothing,
        Fetching(Fetch, Nanoseconds),
        Running(TaskId, Span),
        Sending(Nanoseconds),
    }
    let mut execution = Execution::new(tasks);
    let home = |task: TaskId| tasks.tasks()[task.index()].processor;
    let (mut doing, mut next) = ([Doing::Nothing; 2], [0; 2]);
    for now in (0..200).map(Nanoseconds) {
        for &index in asked {
            let processor = ProcessorId::new(index);
            match doing[index] {
                Doing::Fetching(fetch, end) if end == now => {
                    execution.record_fetch(fetch, processor, end);
                    doing[index] = Doing::Nothing;
                }
                Doing::Running(task, span) if span.end == now => {
                    let readers = |reader| std::iter::once(home(reader));
                    execution.record_end(task, processor, span, &recipients(tasks, task, processor, readers));
                    doing[index] = Doing::Sending(execution.free()[index]);
                }
                _ => {}
            }
            if matches!(doing[index], Doing::Sending(end) if end <= now) {
                doing[index] = Doing::Nothing;
            }
        }

        for &index in asked {
            let Some(&task) = tasks.tracks()[index].get(next[index]) else { continue };
            if !matches!(doing[index], Doing::Nothing) {
                continue;
            }
            match execution.next(tasks, task, ProcessorId::new(index)) {
                Next::Fetch(fetch) => doing[index] = Doing::Fetching(fetch, now + fetch.time),
                Next::Run(arrival) if arrival <= now => {
                    let end = now + tasks.time(task, home(task)).unwrap();
                    doing[index] = Doing::Running(task, Span { start: now, end });
                    next[index] += 1;
                }
                Next::Run(_) | Next::Wait => {}
            }
        }
    }
    execution
}

#[test]
fn steps_at_their_time_are_those_of_whole_tasks() {
    let graph = graph();
    for blocks in [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)] {
        let table = table(&graph, blocks);
        for on_a in [&["stem", "left", "join"][..], &["left", "join"], &["stem", "last"], &["right"]] {
            let others = ["stem", "left", "right", "join", "last"].into_iter().filter(|name| !on_a.contains(name));
            let replica = replica(&graph, on_a, &others.collect::<Vec<_>>());
            let tasks = ReplicaTasks::new(&replica, &graph, &table).unwrap();
            let whole = tasks.execute(&graph).unwrap();
            let state = |execution: &Execution| -> Vec<_> {
                let all = TaskId::all(5);
                all.map(|task| (execution.span(task), execution.home(task), execution.transfers(task).to_vec()))
                    .collect()
            };
            for asked in [[0, 1], [1, 0]] {
                let mut steps = moment_by_moment(&tasks, &asked);
                assert_eq!(state(&steps), state(&whole), "{blocks:?} {on_a:?}");
                assert_eq!((steps.free(), steps.busy()), (whole.free(), whole.busy()));
                assert_eq!(steps.makespan(), whole.makespan());
                steps.rollback(Execution::new(&tasks).mark());
                assert!(TaskId::all(5).all(|task| steps.home(task).is_none() && steps.transfers(task).is_empty()));
                assert_eq!(steps.busy(), [Nanoseconds::ZERO; 2]);
            }
        }
    }
}

#[test]
fn a_processor_waits_fetches_and_runs() {
    let graph = graph();
    let table = table(&graph, Some(BlockedEnd::Receiver));
    let replica = replica(&graph, &["stem", "left", "join"], &["right", "last"]);
    let tasks = ReplicaTasks::new(&replica, &graph, &table).unwrap();
    let mut execution = Execution::new(&tasks);
    let [stem, left, right] = [0, 1, 3].map(TaskId::new);
    let [a, b] = [0, 1].map(ProcessorId::new);

    assert_eq!(execution.next(&tasks, right, b), Next::Wait);
    assert_eq!(execution.earliest(&tasks, right, b), None);
    execution.record_end(stem, a, Span { start: Nanoseconds(2), end: Nanoseconds(12) }, &[]);
    assert_eq!(execution.next(&tasks, left, a), Next::Run(Nanoseconds(12)));
    let value = OutputId::new(1);
    let fetch = Fetch { made: Nanoseconds(12), maker: stem, value, time: Nanoseconds(3) };
    assert_eq!(execution.next(&tasks, right, b), Next::Fetch(fetch));
    execution.record_fetch(fetch, b, Nanoseconds(17));
    assert_eq!(execution.next(&tasks, right, b), Next::Run(Nanoseconds(17)));
    assert_eq!((execution.free(), execution.busy()), (&[12, 17].map(Nanoseconds)[..], &[10, 3].map(Nanoseconds)[..]));
}

/// Of two values that are made, the earlier one is fetched first, and the same one only once.
#[test]
fn values_are_fetched_in_the_order_in_which_they_were_made() {
    let graph = graph();
    let table = table(&graph, Some(BlockedEnd::Receiver));
    let replica = replica(&graph, &["stem", "left", "right", "join"], &["last"]);
    let tasks = ReplicaTasks::new(&replica, &graph, &table).unwrap();
    let [stem, left, right, join, last] = [0, 1, 2, 3, 4].map(TaskId::new);
    let [a, b] = [0, 1].map(ProcessorId::new);
    let ran = |execution: &mut Execution, task: TaskId, start: u64| {
        execution.record_end(task, a, Span { start: Nanoseconds(start), end: Nanoseconds(start + 10) }, &[]);
    };
    let mut execution = Execution::new(&tasks);
    [stem, left, right].into_iter().zip([0, 10, 20]).for_each(|(task, start)| ran(&mut execution, task, start));
    let fetch = |made: u64, maker: TaskId, value: usize| {
        let (made, value) = (Nanoseconds(made), OutputId::new(value));
        Fetch { made, maker, value, time: Nanoseconds(3) }
    };
    let expected = [fetch(10, stem, 0), fetch(10, stem, 1)];
    for (at, expected) in [15, 18].into_iter().zip(expected) {
        assert_eq!(execution.next(&tasks, last, b), Next::Fetch(expected));
        execution.record_fetch(expected, b, Nanoseconds(at));
    }
    assert_eq!(execution.next(&tasks, last, b), Next::Wait, "join has not run");
    ran(&mut execution, join, 30);
    assert_eq!(execution.earliest(&tasks, last, b), Some(Nanoseconds(43)), "it reads e twice and fetches it once");
    assert_eq!(execution.next(&tasks, last, b), Next::Fetch(fetch(40, join, 0)));
}

/// The one that was made first is fetched first, whichever operator comes first in the network and whichever input it
/// is.
#[test]
fn values_of_different_makers_are_fetched_as_they_were_made() {
    let graph = millstream_test_support::graph(
        25,
        "left: input -> a
         right: input -> b
         join: a b -> c",
    );
    let table = table(&graph, Some(BlockedEnd::Receiver));
    let replica = replica(&graph, &["left", "right"], &["join"]);
    let tasks = ReplicaTasks::new(&replica, &graph, &table).unwrap();
    let [left, right, join] = [0, 1, 2].map(TaskId::new);
    let [a, b] = [0, 1].map(ProcessorId::new);
    for (order, first) in [([left, right], left), ([right, left], right)] {
        let mut execution = Execution::new(&tasks);
        for (task, start) in order.into_iter().zip([0, 10]) {
            let span = Span { start: Nanoseconds(start), end: Nanoseconds(start + 10) };
            execution.record_end(task, a, span, &[]);
        }
        let Next::Fetch(fetch) = execution.next(&tasks, join, b) else { panic!("both were made") };
        assert_eq!((fetch.maker, fetch.made), (first, Nanoseconds(10)));
    }
}

/// What comes from outside is waited for, and a processor may fetch before.
#[test]
fn tasks_wait_for_what_comes_from_outside() {
    struct Released<'a>(ReplicaTasks<'a>);
    impl TaskGraph for Released<'_> {
        fn task_count(&self) -> usize {
            self.0.task_count()
        }
        fn processor_count(&self) -> usize {
            self.0.processor_count()
        }
        fn time(&self, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
            self.0.time(task, processor)
        }
        fn release(&self, task: TaskId, _processor: ProcessorId) -> Nanoseconds {
            Nanoseconds(50 * task.index() as u64)
        }
        fn inputs(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
            self.0.inputs(task)
        }
        fn readers(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
            self.0.readers(task)
        }
        fn transfer(&self, dependency: Dependency, from: ProcessorId, to: ProcessorId) -> TransferCost {
            self.0.transfer(dependency, from, to)
        }
    }

    let graph = graph();
    let table = table(&graph, Some(BlockedEnd::Receiver));
    let replica = replica(&graph, &["stem"], &["left", "right", "join", "last"]);
    let tasks = Released(ReplicaTasks::new(&replica, &graph, &table).unwrap());
    let home: Vec<ProcessorId> = tasks.0.tasks().iter().map(|task| task.processor).collect();
    let mut execution = Execution::new(&tasks);
    let starts = [0, 1, 2].map(|task| execution.run(&tasks, TaskId::new(task), &home).start.0);
    // Left waits until 50 and right until 100; left has fetched a until 13, and right fetches b when left is done.
    assert_eq!(starts, [0, 50, 100]);
    assert_eq!(execution.transfers(TaskId::new(0)).iter().map(|transfer| transfer.at.0).collect::<Vec<_>>(), [13, 73]);
    assert_eq!(execution.next(&tasks, TaskId::new(3), home[3]), Next::Run(Nanoseconds(150)));
}

#[test]
fn a_task_waits_for_a_value_that_must_be_sent() {
    let graph = graph();
    let table = table(&graph, Some(BlockedEnd::Sender));
    let replica = replica(&graph, &["stem", "left", "join"], &["right", "last"]);
    let tasks = ReplicaTasks::new(&replica, &graph, &table).unwrap();
    let mut execution = Execution::new(&tasks);
    let [stem, left, right] = [0, 1, 3].map(TaskId::new);
    let [a, b] = [0, 1].map(ProcessorId::new);
    execution.run_to(&tasks, stem, a, Nanoseconds(7), &[]).unwrap();
    assert_eq!((execution.span(stem).start, execution.span(stem).end), (Nanoseconds(7), Nanoseconds(17)));
    assert_eq!(execution.earliest(&tasks, right, b), None, "nobody sent b");
    assert_eq!(execution.earliest(&tasks, left, a), Some(Nanoseconds(17)));
    assert!(tasks.time(right, a).is_none(), "right is on B");
}

/// As with an accelerator on B: it fetches what it needs and sends what others need, and A waits for neither.
#[test]
fn an_accelerator_drives_the_transfers_of_both_directions() {
    let graph = graph();
    let mut table = table(&graph, Some(BlockedEnd::Receiver));
    let [core, accelerator] = [0, 1].map(|index| table.class_ids().nth(index).unwrap());
    let back = TransferModel { latency_seconds: 5e-9, blocks: Some(BlockedEnd::Sender), ..TransferModel::default() };
    table.set_transfer(accelerator, core, back);
    let replica = replica(&graph, &["stem", "left", "join"], &["right", "last"]);
    let execution = replica.execute(&graph, &table).unwrap();
    let spans: Vec<(u64, u64)> =
        TaskId::all(5).map(|task| (execution.span(task).start.0, execution.span(task).end.0)).collect();
    // B fetches b from 10 to 13, and sends d from 33 to 38, when join begins. For last it fetches a from 38 to 41 and e
    // from 48 to 51.
    assert_eq!(spans, [(0, 10), (10, 20), (38, 48), (13, 33), (51, 71)]);
    assert_eq!(execution.busy(), [Nanoseconds(30), Nanoseconds(40 + 3 + 5 + 3 + 3)]);
}

/// A stage of two replicas, A and C, before one that D and the accelerator G own together. All values have 100 bytes.
#[test]
fn a_team_waits_for_the_longest_way_of_all_that_it_takes_over() {
    let graph = graph();
    let class = |cluster: &str| ProcessorClass::new(cluster, 1);
    let mut table = uniform_table(&graph, &board("A1+C1+D1+G"), [10; 4]);
    let [a, c, d, g] = ["A", "C", "D", "G"].map(|label| table.find(&class(label)).unwrap());
    let way = |once: f64, per_byte: f64| HandOver { seconds: once * 1e-9, seconds_per_byte: per_byte * 1e-9 };
    table.set_hand_over(d, way(2.0, 0.01));
    table.set_link(a, d, LinkCost { hand_over: way(4.0, 0.02), occupied_seconds_per_byte: 0.02e-9 });
    table.set_access(g, MemoryAccess { upload: way(7.0, 0.05), download: way(11.0, 0.1) });
    table.set_link(c, g, LinkCost { hand_over: way(1.0, 0.01), occupied_seconds_per_byte: 0.0 });

    let single = |cluster: &str, core: u32| {
        Replica::single(Processor::new(cluster, [core]), find_operators(&graph, &["stem", "left"]))
    };
    let assignment =
        |processor: Processor, names: &[&str]| Assignment { processor, operators: find_operators(&graph, names) };
    let team = Replica::new(vec![
        assignment(Processor::new("D", [2]), &["join"]),
        assignment(Processor::accelerator("G".to_owned()), &["right", "last"]),
    ]);
    let stages = |first: Vec<Replica>| vec![Stage { replicas: first }, Stage { replicas: vec![team.clone()] }];
    let hand_over = |first: Vec<Replica>| {
        let schedule = Schedule { stages: stages(first) };
        schedule.stages[1].replicas[0].hand_over(&schedule.entry(StageId::new(1)), &graph, &table).0
    };
    // D takes c over: 2 + 1 from anywhere, and 4 + 2 over the link from A. G takes a and b over, 200 bytes, once each:
    // 7 + 10 into its memory, or 1 + 2 over the link from C; and gives f back in 11 + 10. d stays between the two.
    assert_eq!(hand_over(vec![single("A", 0)]), 17 + 21);
    assert_eq!(hand_over(vec![single("C", 1)]), 3 + 21);
    assert_eq!(hand_over(vec![single("A", 0), single("C", 1)]), 17 + 21, "a frame may come from either");
    // Without G's way into its memory, D's way is the longest: 2 + 1 + 4 + 2.
    let mut shared = table.clone();
    shared.set_access(g, MemoryAccess { upload: HandOver::FREE, download: HandOver::FREE });
    let schedule = Schedule { stages: stages(vec![single("A", 0)]) };
    assert_eq!(schedule.stages[1].replicas[0].hand_over(&schedule.entry(StageId::new(1)), &graph, &shared).0, 9);
    // At the start of the network the input is in the memory that all share: G brings 100 bytes to its own and a, b and
    // c back.
    let first = Replica::single(Processor::accelerator("G".to_owned()), single("A", 0).operators().collect());
    assert_eq!(first.hand_over(&Entry::Network, &graph, &table).0, (7 + 5) + (11 + 30));
    assert_eq!(single("A", 0).hand_over(&Entry::Network, &graph, &table).0, 0);
}
