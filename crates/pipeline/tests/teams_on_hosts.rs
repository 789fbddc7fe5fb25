//! Stages that several processors of a host own together, over several hosts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_board::{
    Board, BoardError, BoardSource, Duplex, HostDocument, HostLinkDocument, ProcessorClass, SYSTEM_FORMAT,
    SYSTEM_VERSION, System, SystemDocument, TransferPrecision, host_of,
};
use millstream_cost::{CostTable, FrameCost, HostCrossing, Nanoseconds, PartCost, TransferModel};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{
    Effort, HostDivision, HostPlace, PipelineError, Plan, Problem, SystemFront, SystemProblem, pareto_front, teams_of,
};
use millstream_schedule::{input_bytes, output_bytes, replicated_period};
use millstream_test_support::{board, chain_of, connect, table};

/// What a host is: its board, and how many times as long everything takes there.
struct OnHost {
    board: &'static str,
    slowness: f64,
}

/// Hosts with a link of 1 Gbit/s between each two.
struct Cluster {
    graph: Arc<Graph>,
    system: System,
    table: CostTable,
}

fn host_document(name: &str, board: &Board) -> HostDocument {
    HostDocument {
        id: name.to_owned(),
        board: BoardSource::Inline(Box::new(board.to_document())),
        clusters: Vec::new(),
        cost: None,
        address: None,
        cpu_seconds_per_frame: 1e-4,
        cpu_seconds_per_frame_byte: 1e-10,
        frame_latency_seconds: 1e-4,
        frame_bytes_per_second: Some(1e9),
    }
}

fn link_document(from: &str, to: &str) -> HostLinkDocument {
    let hosts = [from, to].map(str::to_owned);
    HostLinkDocument {
        latency_seconds: 2e-4,
        bytes_per_second: 1.25e8,
        duplex: Duplex::Full,
        cpu_seconds_per_byte: hosts.iter().map(|host| (host.clone(), 5e-10)).collect(),
        cpu_seconds_per_sent_byte: std::iter::empty().collect(),
        cpu_seconds_per_message: hosts.iter().map(|host| (host.clone(), 5e-5)).collect(),
        precision: TransferPrecision::F32,
        origin: None,
        hosts,
    }
}

/// Times by work; two cores are 1.4 times as fast as one, so that teams of single cores are worth it.
fn costs(graph: &Graph, board: &Board, slowness: f64) -> CostTable {
    let mut table = table(graph, board, |operator, class: &ProcessorClass| {
        let speed = (class.count as f64).sqrt() * if class.cluster == "B" { 1.0 } else { 0.5 };
        Some(((operator.work.macs as f64 / 20.0 + 500.0) * slowness / speed) as u64)
    });
    for processor in table.class_ids() {
        for id in graph.operator_ids() {
            table.set_part(processor, id, PartCost { fixed_fraction: 0.05, wave: 1, apart: Nanoseconds(300) });
        }
    }
    connect(&mut table, TransferModel { latency_seconds: 1e-6, seconds_per_byte: 1e-11, ..TransferModel::default() });
    table
}

impl Cluster {
    fn of(network: &str, hosts: &[OnHost]) -> Self {
        let model = millstream_zoo::build(network).unwrap();
        Self::with_costs(Arc::clone(model.graph()), hosts, |graph, board, host| costs(graph, board, host.slowness))
    }

    fn with_costs(graph: Arc<Graph>, hosts: &[OnHost], costs: impl Fn(&Graph, &Board, &OnHost) -> CostTable) -> Self {
        let names = ["a", "b", "c"];
        let boards: Vec<Board> = hosts.iter().map(|host| board(host.board)).collect();
        let pairs = (0..hosts.len()).flat_map(|to| (0..to).map(move |from| (from, to)));
        let document = SystemDocument {
            format: SYSTEM_FORMAT.to_owned(),
            version: SYSTEM_VERSION,
            name: "t".to_owned(),
            hosts: names.iter().zip(&boards).map(|(name, board)| host_document(name, board)).collect(),
            links: pairs.map(|(from, to)| link_document(names[from], names[to])).collect(),
        };
        let system = System::of(document, |_| Err(BoardError::Malformed { detail: String::new() })).unwrap();
        let tables: Vec<CostTable> = boards.iter().zip(hosts).map(|(board, host)| costs(&graph, board, host)).collect();
        let tables: Vec<(&str, &CostTable)> = names.iter().copied().zip(&tables).collect();
        let table = CostTable::of_hosts(&tables, HostCrossing::all(&system));
        Self { table: table.with_frame_costs(FrameCost::all(&system)), graph, system }
    }

    fn alone(&self) -> SystemProblem {
        SystemProblem::new(&self.graph, &Chain::of(&self.graph), &self.system, &self.table).unwrap()
    }

    fn with_teams(&self) -> SystemProblem {
        let chain = Chain::of(&self.graph);
        let teams: Vec<_> = self.system.hosts().iter().flat_map(|host| teams_of(&host.in_system())).collect();
        SystemProblem::with_teams(&self.graph, &chain, &self.system, &self.table, (&teams, Effort::USUAL)).unwrap()
    }

    /// What evaluation says of plans must be what the search says.
    fn check(&self, problem: &SystemProblem, plans: &[Plan]) {
        for plan in plans {
            let schedule = problem.schedule(plan);
            schedule.validate(&self.graph, &self.system.board()).unwrap();
            let evaluation = schedule.evaluate(&self.graph, &self.table).unwrap();
            let found = (evaluation.period, evaluation.latency);
            assert_eq!(found, (plan.period, plan.latency), "{}: {schedule}", plan.configuration());
            for stage in &plan.stages {
                let mut hosts = stage.processors().map(|class| host_of(&class.cluster));
                let first = hosts.next().unwrap();
                assert!(hosts.all(|host| host == first), "{}", plan.configuration());
            }
        }
    }
}

/// Whether some plan is as good as this one, but for so much.
fn is_matched(plans: &[Plan], plan: &Plan, slack: f64) -> bool {
    let most = |time: Nanoseconds| time.seconds() * (1.0 + slack);
    plans.iter().any(|one| one.period.seconds() <= most(plan.period) && one.latency.seconds() <= most(plan.latency))
}

#[test]
fn teams_of_hosts_take_what_evaluation_says_and_only_help() {
    for (network, hosts) in [
        ("googlenet", [OnHost { board: "B2+s2", slowness: 1.0 }, OnHost { board: "B2", slowness: 1.5 }]),
        ("squeezenet", [OnHost { board: "B2", slowness: 1.0 }, OnHost { board: "B1+s1", slowness: 1.0 }]),
    ] {
        let cluster = Cluster::of(network, &hosts);
        let (alone, together) = (cluster.alone(), cluster.with_teams());
        assert!(together.has_teams() && !alone.has_teams() && !together.clone().without_teams().has_teams());
        let (known, front) = (alone.front().unwrap(), together.front().unwrap());

        cluster.check(&together, &front.plans);
        assert!(front.plans.iter().any(Plan::has_teams), "{network}: nothing is gained");
        assert!(front.plans[0].latency < known.plans[0].latency, "{network}");
        assert!(known.plans.iter().all(|plan| is_matched(&front.plans, plan, 0.0)), "{network}");
        // What is proven is of plans without teams, and remains.
        assert!(front.is_exact && known.is_exact);
        assert_eq!(front.shortest_without_teams, known.plans.iter().map(|plan| plan.period).min());
        assert_eq!(known, together.without_teams().front().unwrap());
    }
}

/// Where one host has all of the network, its teams are those of a board of its own.
#[test]
fn a_host_alone_is_as_good_as_a_board() {
    let hosts = [OnHost { board: "B2+s2", slowness: 1.0 }, OnHost { board: "B1", slowness: 1.0 }];
    let cluster = Cluster::of("googlenet", &hosts);
    let problem = cluster.with_teams();
    let SystemFront { plans, .. } = problem.front_of(&HostDivision::only(&problem, HostPlace::new(0))).unwrap();
    cluster.check(&problem, &plans);

    let (graph, board) = (&cluster.graph, board("B2+s2"));
    let chain = Chain::of(graph);
    let table = costs(graph, &board, 1.0);
    let on_board = Problem::with_teams(graph, &chain, &board, &table, &teams_of(&board)).unwrap();
    let expected = pareto_front(&on_board).unwrap();
    assert!(expected.iter().any(Plan::has_teams));
    // On a host, stages take frames in and give results out, and these are on their way, which a board does not count.
    let (frame, results) = (input_bytes(graph), output_bytes(graph));
    let cost = |bytes: u64| cluster.table.frame_cost("a", bytes);
    let outside = HostCrossing::OUTSIDE;
    let ways = [("a", outside, results), (outside, "a", frame)].map(|(from, to, bytes)| {
        let way = cluster.table.crossing(from, to).unwrap();
        way.occupied(bytes) + way.latency()
    });
    for mut plan in expected {
        let costs = cost(frame) + cost(results);
        (plan.period, plan.latency) = (plan.period + costs, plan.latency + costs + ways[0] + ways[1]);
        // Teams are not evaluated for less than half a percent.
        assert!(is_matched(&plans, &plan, 0.006), "{} {:?} {:?}", plan.configuration(), plan.period, plan.latency);
    }
}

/// A host that is lost or not asked for has no team either.
#[test]
fn no_team_is_where_a_division_has_nothing() {
    let hosts = [OnHost { board: "B2", slowness: 1.0 }, OnHost { board: "B2", slowness: 1.0 }];
    let cluster = Cluster::of("squeezenet", &hosts);
    let problem = cluster.with_teams();
    let place = HostPlace::new(1);
    for front in [
        problem.front_without(&[place]).unwrap(),
        problem.front_of(&HostDivision::only(&problem, HostPlace::new(0))).unwrap(),
    ] {
        assert!(front.plans.iter().any(Plan::has_teams));
        assert!(front.plans.iter().all(|plan| !plan.configuration().contains("b/")));
        cluster.check(&problem, &front.plans);
    }
    let equal = problem.front_of(&HostDivision::equal(&problem, &[])).unwrap();
    cluster.check(&problem, &equal.plans);
    assert!(equal.plans.iter().all(|plan| plan.configuration().contains("a/") && plan.configuration().contains("b/")));
}

/// Three operators, of which a core of host a takes 1 ms each but for the second, which takes it 0.1 ms; its accelerator
/// takes 0.1 ms for the others, and 1 ms for the second, if it runs that. Host b runs nothing.
fn there_and_back(runs_all: bool) -> Cluster {
    let hosts = [OnHost { board: "B1+G", slowness: 1.0 }, OnHost { board: "B1", slowness: 1.0 }];
    Cluster::with_costs(Arc::new(chain_of(3, 100)), &hosts, |graph, board, _| {
        let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
        for processor in table.class_ids().filter(|_| !board.accelerators().is_empty()) {
            let is_core = table.classes()[processor.index()].cluster == "B";
            for (place, &id) in graph.order().iter().enumerate() {
                let is_quick = is_core == (place == 1);
                if is_quick || runs_all {
                    table.set_time(processor, id, Nanoseconds(if is_quick { 100_000 } else { 1_000_000 }));
                }
            }
        }
        table
    })
}

/// A team takes each operator to the processor that is quick for it: 0.3 ms, and what frames cost to take in and give
/// out. Without teams, the two do best as replicas, each with operators that take it long.
#[test]
fn a_team_may_have_a_shorter_period_than_all_that_is_proven_of_others() {
    let cluster = there_and_back(true);
    let front = cluster.with_teams().front().unwrap();
    cluster.check(&cluster.with_teams(), &front.plans);
    let [plan] = front.plans.as_slice() else { panic!("{:?}", front.plans) };
    assert_eq!(plan.configuration(), "a/B1+a/G1");
    let frames = cluster.table.frame_cost("a", 400).0 * 2;
    assert_eq!(plan.period.0, 300_000 + frames);
    assert!(front.is_exact);
    let without_teams = front.shortest_without_teams.unwrap();
    let alone = [2_100_000, 1_200_000].map(|time| Nanoseconds(time + frames));
    assert_eq!(without_teams, replicated_period(&alone));
    assert_eq!(cluster.alone().front().unwrap().plans.last().unwrap().period, without_teams);
}

/// Where nothing runs without teams, there is nothing to be proven of that.
#[test]
fn a_team_may_run_what_nothing_else_does() {
    let cluster = there_and_back(false);
    assert_eq!(cluster.alone().front(), Err(PipelineError::Infeasible));
    let front = cluster.with_teams().front().unwrap();
    assert_eq!(front.plans[0].configuration(), "a/B1+a/G1");
    assert_eq!((front.is_exact, front.shortest_without_teams), (false, None));
}
