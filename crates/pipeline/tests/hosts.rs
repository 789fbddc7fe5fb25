//! Pipelines over several hosts, held to every pipeline that there is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random_cases;

use std::collections::BTreeMap;

use millstream_board::{
    BoardError, BoardSource, Duplex, HostDocument, HostLinkDocument, ProcessorClass, SYSTEM_FORMAT, SYSTEM_VERSION,
    System, SystemDocument, TransferPrecision, host_of,
};
use millstream_cost::{CostTable, FrameCost, HostCrossing};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{
    HostDivision, HostPlace, PipelineError, Plan, Problem, SystemFront, SystemProblem, ThroughputBound,
};
use millstream_schedule::ScheduleError;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use random_cases::{Case, Point, network, plans, undominated};

/// A host of one or two clusters.
#[derive(Debug, Clone)]
struct HostCase {
    /// Cores of its clusters.
    cores: Vec<usize>,
    /// Per class and operator.
    times: Vec<Vec<Option<u64>>>,
    /// What taking over a value costs.
    hand_over: f64,
    /// A link from its first cluster to its last, if there is one.
    link: Option<(f64, f64)>,
    /// Size of its memory.
    memory: Option<u64>,
    /// What it pays for a byte of frames from outside and of results.
    frame_byte: f64,
    /// The way of frames from outside: its latency, and what a byte takes.
    frame_way: (f64, f64),
}

/// A link between two hosts.
#[derive(Debug, Clone)]
struct LinkCase {
    latency: f64,
    seconds_per_byte: f64,
    duplex: Duplex,
    cpu: [f64; 2],
    sent_cpu: [Option<f64>; 2],
    message_cpu: [f64; 2],
    precision: TransferPrecision,
}

#[derive(Debug, Clone)]
struct SystemCase {
    sizes: Vec<usize>,
    hosts: Vec<HostCase>,
    /// Between each two hosts.
    links: Vec<Option<LinkCase>>,
}

impl SystemCase {
    /// `None` if some host has no link.
    fn build(&self) -> Option<(Graph, System, CostTable)> {
        let names = ["a", "b", "c"];
        let cases: Vec<Case> = self.hosts.iter().map(|host| host.case(&self.sizes)).collect();
        let built: Vec<_> = cases.iter().map(Case::build).collect();
        let host = |(index, name): (usize, &&str)| HostDocument {
            id: (*name).to_owned(),
            board: BoardSource::Inline(Box::new(built[index].1.to_document())),
            clusters: Vec::new(),
            cost: None,
            address: None,
            cpu_seconds_per_frame: 50.0 * self.hosts[index].frame_byte,
            cpu_seconds_per_frame_byte: self.hosts[index].frame_byte,
            frame_latency_seconds: self.hosts[index].frame_way.0,
            frame_bytes_per_second: Some(self.hosts[index].frame_way.1)
                .filter(|byte| *byte > 0.0)
                .map(|byte| 1.0 / byte),
        };

        let pairs = (0..self.hosts.len()).flat_map(|from| (from + 1..self.hosts.len()).map(move |to| [from, to]));
        let link = |([from, to], link): ([usize; 2], &Option<LinkCase>)| {
            let link = link.as_ref()?;
            let hosts = [from, to].map(|end| names[end].to_owned());
            let cpu_seconds_per_byte: BTreeMap<String, f64> = hosts.iter().cloned().zip(link.cpu).collect();
            let cpu_seconds_per_message = hosts.iter().cloned().zip(link.message_cpu).collect();
            let sent = hosts.iter().cloned().zip(link.sent_cpu);
            let cpu_seconds_per_sent_byte = sent.filter_map(|(host, cost)| Some((host, cost?))).collect();
            Some(HostLinkDocument {
                hosts,
                latency_seconds: link.latency,
                bytes_per_second: 1.0 / link.seconds_per_byte,
                duplex: link.duplex,
                cpu_seconds_per_byte,
                cpu_seconds_per_sent_byte,
                cpu_seconds_per_message,
                precision: link.precision,
                origin: None,
            })
        };

        let document = SystemDocument {
            format: SYSTEM_FORMAT.to_owned(),
            version: SYSTEM_VERSION,
            name: "t".to_owned(),
            hosts: names.iter().take(self.hosts.len()).enumerate().map(host).collect(),
            links: pairs.zip(&self.links).filter_map(link).collect(),
        };
        let system = System::of(document, |_| Err(BoardError::Malformed { detail: String::new() })).ok()?;
        let tables: Vec<(&str, &CostTable)> =
            names.iter().zip(&built).map(|(name, (_, _, table))| (*name, table)).collect();
        let table = CostTable::of_hosts(&tables, HostCrossing::all(&system));
        let table = table.with_frame_costs(FrameCost::all(&system));
        Some((network(&self.sizes), system, table))
    }
}

impl HostCase {
    fn case(&self, sizes: &[usize]) -> Case {
        let mut case = Case::with_cores(self.cores.clone(), sizes.len());
        case.sizes = sizes.to_vec();
        case.times.clone_from(&self.times);
        case.hand_over = vec![(self.hand_over, 0.0); self.times.len()];
        if let Some(link) = self.link {
            let mut links = vec![None; self.cores.len() * self.cores.len()];
            links[self.cores.len() - 1] = Some(link);
            case.links = links;
        }
        case.memory = self.memory;
        case
    }
}

fn host_cases(operators: usize) -> impl Strategy<Value = HostCase> {
    let time = prop_oneof![1 => Just(None), 12 => (1_u64..2000).prop_map(Some)];
    let shapes = prop::sample::select(vec![vec![1], vec![2], vec![1, 1]]);
    shapes.prop_flat_map(move |cores| {
        let classes: usize = cores.iter().sum();
        let link = prop_oneof![2 => Just(None), 1 => (0.0..1e-6, Just(1e-9)).prop_map(Some)];
        let memory = prop_oneof![4 => Just(None), 1 => (1_u64..2000).prop_map(Some)];
        let times = prop::collection::vec(prop::collection::vec(time.clone(), operators), classes);
        let frame_byte = prop::sample::select(vec![0.0, 1e-10, 5e-9]);
        let frame_way = prop::sample::select(vec![(0.0, 0.0), (3e-7, 0.0), (0.0, 2e-9), (1e-7, 2e-8)]);
        let made = (Just(cores), times, 0.0..2e-7, link, memory, (frame_byte, frame_way));
        made.prop_map(|(cores, times, hand_over, link, memory, (frame_byte, frame_way))| HostCase {
            cores,
            times,
            hand_over,
            link,
            memory,
            frame_byte,
            frame_way,
        })
    })
}

fn link_cases() -> impl Strategy<Value = Option<LinkCase>> {
    let speed = prop::sample::select(vec![1e-11, 1e-9, 4e-9, 1e-8]);
    let cpu = || prop::sample::select(vec![0.0, 1e-10, 2e-9]);
    let duplex = prop::sample::select(vec![Duplex::Full, Duplex::Half]);
    let precision = prop::sample::select(vec![TransferPrecision::F32, TransferPrecision::F16, TransferPrecision::Int8]);
    let sent_cpu = || prop_oneof![Just(None), cpu().prop_map(Some)];
    let message_cpu = prop::sample::select(vec![[0.0, 0.0], [3e-7, 1e-7]]);
    let costs = ([cpu(), cpu()], [sent_cpu(), sent_cpu()], message_cpu);
    let link = (0.0..1e-6, speed, duplex, costs, precision).prop_map(
        |(latency, seconds_per_byte, duplex, (cpu, sent_cpu, message_cpu), precision)| LinkCase {
            latency,
            seconds_per_byte,
            duplex,
            cpu,
            sent_cpu,
            message_cpu,
            precision,
        },
    );
    prop_oneof![1 => Just(None), 6 => link.prop_map(Some)]
}

fn system_cases() -> impl Strategy<Value = SystemCase> {
    (2_usize..4, 1_usize..5).prop_flat_map(|(hosts, operators)| {
        let operators = if hosts == 3 { operators.min(3) } else { operators };
        let sizes = prop::collection::vec(1_usize..100, operators);
        let links = prop::collection::vec(link_cases(), hosts * (hosts - 1) / 2);
        (sizes, prop::collection::vec(host_cases(operators), hosts), links)
            .prop_map(|(sizes, hosts, links)| SystemCase { sizes, hosts, links })
    })
}

/// Whether the stages of each host follow each other.
fn visits_hosts_once(plan: &Plan) -> bool {
    let hosts: Vec<_> = plan.stages.iter().map(|stage| host_of(&stage.replicas[0].processors[0].cluster)).collect();
    let changes = hosts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let different: std::collections::HashSet<_> = hosts.iter().collect();
    changes + 1 == different.len()
}

/// Whether every host has room for what the plan puts there, without any search's help.
fn fits(plan: &Plan, graph: &Graph, system: &System, problem: &SystemProblem) -> bool {
    let schedule = problem.schedule(plan);
    system.hosts().iter().all(|host| {
        let is_own = |stage: &&millstream_schedule::Stage| {
            host_of(&stage.replicas[0].assignments[0].processor.cluster) == Some(host.id.as_str())
        };
        let stages = schedule.stages.iter().filter(is_own).cloned().collect();
        let needed = millstream_schedule::Schedule { stages }.memory_bytes(graph, &host.in_system());
        host.board.memory_bytes().is_none_or(|most| needed <= most)
    })
}

/// Every plan that visits hosts once and can run, with what evaluation says of it.
fn all_plans(graph: &Graph, chain: &Chain, system: &System, table: &CostTable) -> Vec<(Plan, Point)> {
    let whole = Problem::new(graph, chain, &system.board(), table).unwrap();
    let mut all = Vec::new();
    for plan in plans(&whole, &system.board()).into_iter().filter(visits_hosts_once) {
        match whole.schedule(&plan).evaluate(graph, table) {
            Ok(evaluation) => all.push((plan, (evaluation.period, evaluation.latency))),
            Err(
                ScheduleError::SeveralHosts { .. } | ScheduleError::NoLink { .. } | ScheduleError::Unsupported { .. },
            ) => {}
            Err(other) => panic!("{other}"),
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The front is that of all plans in which stages live on one host and the stages of a host follow each other, as
    /// evaluation says.
    #[test]
    fn the_front_over_hosts_is_that_of_all_plans(case in system_cases()) {
        let Some((graph, system, table)) = case.build() else {
            return Err(TestCaseError::reject("a host has no link"));
        };
        let (chain, board) = (Chain::of(&graph), system.board());
        let problem = match SystemProblem::new(&graph, &chain, &system, &table) {
            Ok(problem) => problem,
            Err(error) => {
                prop_assert!(matches!(error, PipelineError::Unsupported { .. }), "{error}");
                return Err(TestCaseError::reject("nothing runs an operator"));
            }
        };
        let all = all_plans(&graph, &chain, &system, &table);
        let points: Vec<Point> = all.iter().map(|(_, point)| *point).collect();
        let front = match problem.front() {
            Ok(front) => front,
            Err(PipelineError::Infeasible) => {
                prop_assert!(points.is_empty(), "{points:?}");
                return Ok(());
            }
            Err(error) => {
                prop_assert!(matches!(error, PipelineError::HostMemory { .. }), "{error}");
                // What is slower may fit where the search does not look, but not on one host alone.
                let alone = |plan: &Plan| plan.stages.len() == 1 && plan.stages[0].replicas.len() == 1;
                prop_assert!(!all.iter().any(|(plan, _)| alone(plan) && fits(plan, &graph, &system, &problem)));
                return Ok(());
            }
        };

        let is_exact = front.is_exact;
        let front = front.plans;
        for plan in &front {
            let schedule = problem.schedule(plan);
            schedule.validate(&graph, &board).unwrap();
            let evaluation = schedule.evaluate(&graph, &table).unwrap();
            prop_assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency), "{}", plan.configuration());
            prop_assert!(fits(plan, &graph, &system, &problem));
        }
        let found: Vec<Point> = front.iter().map(|plan| (plan.period, plan.latency)).collect();
        let best = undominated(&points);
        if is_exact {
            prop_assert_eq!(&found, &best);
        } else {
            let mut plans = all.iter().filter(|(_, point)| best.contains(point));
            prop_assert!(plans.any(|(plan, _)| !fits(plan, &graph, &system, &problem)));
        }
        let bound = ThroughputBound::of(&graph, &board, &table);
        prop_assert!(points.iter().all(|point| bound.period <= point.0));

        // What everybody else would do is in the same space, and no better.
        let shares = vec![1.0; system.hosts().len()];
        let divisions = (0..shares.len()).map(|place| HostDivision::only(&problem, HostPlace::new(place)));
        for division in divisions.chain([HostDivision::by_shares(&problem, &shares)]) {
            for plan in problem.front_of(&division).map_or(Vec::new(), |front| front.plans) {
                prop_assert!(found.iter().any(|point| point.0 <= plan.period && point.1 <= plan.latency));
            }
        }
    }
}

/// Two hosts of one core, on which each of four operators takes 1000 ns; values of 400 bytes.
fn two_hosts(seconds_per_byte: f64) -> SystemCase {
    let times = vec![vec![Some(1000); 4]];
    let host = HostCase {
        cores: vec![1],
        times,
        hand_over: 0.0,
        link: None,
        memory: None,
        frame_byte: 0.0,
        frame_way: (0.0, 0.0),
    };
    let precision = TransferPrecision::F32;
    let link = LinkCase {
        latency: 5e-7,
        seconds_per_byte,
        duplex: Duplex::Full,
        cpu: [1e-9, 2e-9],
        sent_cpu: [None; 2],
        message_cpu: [0.0; 2],
        precision,
    };
    SystemCase { sizes: vec![100; 4], hosts: vec![host.clone(), host], links: vec![Some(link)] }
}

fn shortest(case: &SystemCase) -> (String, u64, u64) {
    let (graph, system, table) = case.build().unwrap();
    let problem = SystemProblem::new(&graph, &Chain::of(&graph), &system, &table).unwrap();
    let plan = problem.front().unwrap().plans.pop().unwrap();
    (plan.configuration(), plan.period.0, plan.latency.0)
}

/// One host that runs everything, with this link between its clusters, and another one that runs nothing.
fn front_within_a_host(cores: Vec<usize>, times: Vec<Vec<Option<u64>>>, link: Option<(f64, f64)>) -> SystemFront {
    let mut case = two_hosts(1e-12);
    case.hosts[0] = HostCase { cores, times, link, ..case.hosts[0].clone() };
    case.hosts[1].times = vec![vec![None; 4]];
    let (graph, system, table) = case.build().unwrap();
    let problem = SystemProblem::new(&graph, &Chain::of(&graph), &system, &table).unwrap();
    let front = problem.front().unwrap();
    for plan in &front.plans {
        let evaluation = problem.schedule(plan).evaluate(&graph, &table).unwrap();
        assert_eq!(evaluation.period, plan.period, "{}", plan.configuration());
    }
    front
}

/// What stages or replicas wait for each other before a link of their host, the search does not know: nothing says then
/// that none is faster.
#[test]
fn fronts_are_exact_where_nobody_waits_for_links() {
    let there_and_back = || {
        let on = |places: [bool; 4]| places.map(|is_there| is_there.then_some(100)).to_vec();
        vec![on([true, false, true, false]), vec![None; 4], on([false, true, false, true]), vec![None; 4]]
    };
    let free = front_within_a_host(vec![2, 2], there_and_back(), None);
    assert!(free.is_exact);
    // 400 bytes or more to the second stage and to the fourth, which each could take a frame more often than the link
    // carries both.
    let held_up = front_within_a_host(vec![2, 2], there_and_back(), Some((0.0, 1e-9)));
    assert!(!held_up.is_exact);
    let shortest = |front: &SystemFront| front.plans.iter().map(|plan| plan.period).min();
    assert!(shortest(&held_up) > shortest(&free));

    // One core, and two, behind the same link: it carries all that they take, and they wait for each other.
    let unlike = || {
        let first = vec![Some(100), None, None, None];
        let rest = |time| vec![None, Some(time), Some(time), Some(time)];
        vec![first, rest(1000), rest(300), rest(300)]
    };
    assert!(front_within_a_host(vec![1, 3], unlike(), None).is_exact);
    assert!(!front_within_a_host(vec![1, 3], unlike(), Some((0.0, 0.5e-9))).is_exact);
}

/// After the first operator its value is needed, and what the network is given, which the second reads as well: 404
/// bytes. Host b pays 2 ns a byte and a half of that, so b takes the first operator, 1000 + 808 ns, and a the others,
/// 3000 + 404 ns. Any other cut sends two values, 800 bytes: then the shorter of two equal halves would be 2000 + 800
/// ns and the longer 2000 + 1600.
#[test]
fn all_stays_on_one_host_as_soon_as_the_link_takes_longer() {
    let fast = shortest(&two_hosts(1e-12));
    assert_eq!((fast.0.as_str(), fast.1), ("b/A1-a/A1", 3404));
    // 404 bytes in 3232 ns, which is less than the longer stage takes: it adds to the latency only, with 500 ns until
    // the last byte is there.
    let slower = shortest(&two_hosts(8e-9));
    assert_eq!(slower, ("b/A1-a/A1".to_owned(), 3404, 1808 + 3232 + 500 + 3404));
    // From then on the link is what counts, until one host alone is as good: 4000 ns for 404 bytes.
    assert_eq!(shortest(&two_hosts(9.8e-9)).1, 3959);
    let alone = shortest(&two_hosts(1e-8));
    assert_eq!((alone.0.as_str(), alone.1, alone.2), ("a/A1", 4000, 4000));
}

#[test]
fn the_link_is_named_as_the_bottleneck_only_where_it_is() {
    let bottleneck = |seconds_per_byte: f64| {
        let (graph, system, table) = two_hosts(seconds_per_byte).build().unwrap();
        let problem = SystemProblem::new(&graph, &Chain::of(&graph), &system, &table).unwrap();
        let plan = problem.front().unwrap().plans.pop().unwrap();
        let evaluation = problem.schedule(&plan).evaluate(&graph, &table).unwrap();
        evaluation.link_bottleneck().map(|link| (link.link.clone(), link.bytes, link.period.0))
    };
    assert_eq!(bottleneck(1e-9), None);
    assert_eq!(bottleneck(9.8e-9), Some(("a-b".to_owned(), 404, 3959)));
    assert_eq!(bottleneck(1e-6), None);
}

/// Three values of 400 bytes are alive at once in any stage that has the third operator: a host with 1300 bytes holds
/// one such stage, and no replica of it.
#[test]
fn what_a_host_has_no_room_for_is_not_put_there() {
    let mut case = two_hosts(1e-12);
    for host in &mut case.hosts {
        (host.cores, host.times) = (vec![2], vec![vec![Some(1000); 4]; 2]);
    }
    let roomy = shortest(&case);
    assert!(roomy.0.contains('|'), "{}", roomy.0);
    for host in &mut case.hosts {
        host.memory = Some(1300);
    }
    let narrow = shortest(&case);
    assert!(!narrow.0.contains('|') && narrow.1 > roomy.1 && narrow.1 <= 3404, "{narrow:?}");
    for host in &mut case.hosts {
        host.memory = Some(10);
    }
    let (graph, system, table) = case.build().unwrap();
    let problem = SystemProblem::new(&graph, &Chain::of(&graph), &system, &table).unwrap();
    assert!(matches!(problem.front(), Err(PipelineError::HostMemory { most_bytes: 10, needed_bytes: 11.., .. })));
}

#[test]
fn too_many_hosts_are_refused_and_shares_divide_all_blocks() {
    let (graph, system, table) = two_hosts(1e-9).build().unwrap();
    let problem = SystemProblem::new(&graph, &Chain::of(&graph), &system, &table).unwrap();
    assert_eq!(HostDivision::by_shares(&problem, &[1.0, 3.0]).spans(), [0..1, 1..4]);
    assert_eq!(HostDivision::by_shares(&problem, &[0.0, 1.0]).spans(), [0..0, 0..4]);
    assert_eq!(HostDivision::only(&problem, HostPlace::new(0)).spans(), [0..4, 0..0]);
    assert_eq!(HostDivision::only(&problem, HostPlace::new(1)).spans(), [0..0, 0..4]);
    let plan = problem.front_of(&HostDivision::by_shares(&problem, &[1.0, 3.0])).unwrap().plans.pop().unwrap();
    // Without one of the two, the other has everything.
    let left = problem.front_without(&[HostPlace::new(0)]).unwrap().plans;
    assert!(left.iter().all(|plan| !plan.configuration().contains("a/")) && left[0].period.0 == 4000);
    assert_eq!(problem.front_without(&[HostPlace::new(0), HostPlace::new(1)]), Err(PipelineError::Infeasible));
    // The value of the first operator only, and what the network is given, which the second reads too: 400 and 4 bytes.
    assert_eq!((plan.configuration().as_str(), plan.period.0), ("a/A1-b/A1", 3000 + 2 * 404));
    assert!(table.find(&ProcessorClass::new("a/A", 1)).is_some());
}
