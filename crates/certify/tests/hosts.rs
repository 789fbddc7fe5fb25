//! What is proven of pipelines over several hosts is what all of them show, one by one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "of its problems of one board, only the parts are of use here")]
mod random_problem;

use millstream_board::{Board, BoardError, Processor, System, SystemDocument, host_of};
use millstream_certify::{CertifyError, HostsProof, NetworkBlocks, can_check_hosts, check_hosts};
use millstream_cost::{CostTable, FrameCost, HostCrossing, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::{Replica, Schedule, Stage, held_bytes};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const HOSTS: [&str; 3] = ["a", "b", "c"];

/// A network and its costs on several hosts.
struct HostsCase {
    graph: Graph,
    chain: Chain,
    board: Board,
    table: CostTable,
}

/// A system of these boards, with links between most of them.
fn system(boards: &[Board], random: &mut ChaCha8Rng) -> Option<System> {
    let hosts = boards.iter().zip(HOSTS).map(|(board, id)| {
        let board = serde_json::to_string(&board.to_document()).unwrap();
        let byte = [0.0, 1e-10, 2e-9][random.random_range(0..3)];
        let way = [
            "",
            r#", "frame_latency_seconds": 1e-6"#,
            r#", "frame_bytes_per_second": 1e8"#,
            r#", "frame_latency_seconds": 2e-7, "frame_bytes_per_second": 1e9"#,
        ][random.random_range(0..4)];
        format!(
            r#"{{"id": "{id}", "board": {board}, "cpu_seconds_per_frame": 3e-8,
                "cpu_seconds_per_frame_byte": {byte}{way}}}"#
        )
    });
    let hosts: Vec<String> = hosts.collect();
    let mut links = Vec::new();
    for (from, to) in (0..boards.len()).flat_map(|from| (from + 1..boards.len()).map(move |to| (from, to))) {
        let mut cost = || [0.0, 1e-10, 1e-9][random.random_range(0..3)];
        let [there, back, sent] = [cost(), cost(), cost()];
        let (from, to) = (HOSTS[from], HOSTS[to]);
        let speed = [1e8, 1e9, 1e12][random.random_range(0..3)];
        let precision = ["f32", "f16", "int8"][random.random_range(0..3)];
        let link = format!(
            r#"{{"hosts": ["{from}", "{to}"], "latency_seconds": 1e-6, "bytes_per_second": {speed},
                "cpu_seconds_per_byte": {{"{from}": {there}, "{to}": {back}}},
                "cpu_seconds_per_sent_byte": {{"{from}": {sent}}},
                "cpu_seconds_per_message": {{"{to}": 2e-8}}, "precision": "{precision}"}}"#
        );
        if random.random_bool(0.85) {
            links.push(link);
        }
    }

    let text = format!(
        r#"{{"format": "millstream-system", "version": 1, "name": "random", "hosts": [{}], "links": [{}]}}"#,
        hosts.join(", "),
        links.join(", ")
    );
    let unknown = |name: &str| -> Result<Board, BoardError> { panic!("{name} is in the file") };
    // A host without any link is refused.
    System::of(SystemDocument::from_json(&text).unwrap(), unknown).ok()
}

/// The case of a seed; `None` if some host has no link. In one of twenty, nothing is known to run anything; in others,
/// some operators take no time.
fn case(seed: u64) -> Option<HostsCase> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let graph = random_problem::graph(None, &mut random);
    let count = random.random_range(2..=3);
    let shapes = if count == 2 { &["B2", "B1+s1", "B1+G", "B3"][..] } else { &["B1", "B1+s1", "B1+G", "B2"][..] };
    let mut board = || random_problem::board_of(shapes[random.random_range(0..shapes.len())], &graph, &mut random);
    let boards: Vec<Board> = (0..count).map(|_| board()).collect();
    let system = system(&boards, &mut random)?;
    let table = |board: &Board| match seed % 20 {
        0 => CostTable::new(graph.operators().len(), board.processor_classes()),
        1..5 => with_zeros(random_problem::table(&graph, board, &mut random), &mut random),
        _ => random_problem::table(&graph, board, &mut random),
    };
    let tables: Vec<CostTable> = boards.iter().map(table).collect();
    let named: Vec<(&str, &CostTable)> = HOSTS.into_iter().zip(&tables).collect();
    let table = CostTable::of_hosts(&named, HostCrossing::all(&system)).with_frame_costs(FrameCost::all(&system));
    Some(HostsCase { chain: Chain::of(&graph), board: system.board(), graph, table })
}

/// The table with operators that take no time.
fn with_zeros(mut table: CostTable, random: &mut ChaCha8Rng) -> CostTable {
    let classes: Vec<_> = table.class_ids().collect();
    let operators: Vec<_> = table.operator_ids().collect();
    for (&class, &id) in classes.iter().flat_map(|class| operators.iter().map(move |id| (class, id))) {
        if random.random_bool(0.4) {
            table.set_time(class, id, Nanoseconds::ZERO);
        }
    }
    table
}

/// Clusters and accelerators with how many of their cores are meant.
type Units = Vec<(String, usize)>;

/// Pipelines, stage by stage.
struct Enumeration<'a> {
    case: &'a HostsCase,
    /// Per host, its clusters and accelerators with how many cores they have.
    hosts: Vec<Units>,
    shortest: Option<u64>,
}

impl<'a> Enumeration<'a> {
    fn of(case: &'a HostsCase, without: &[&str]) -> Self {
        let units = |host: &str| {
            let clusters = case.board.clusters().iter().map(|cluster| (cluster.label.clone(), cluster.cores.len()));
            let accelerators = case.board.accelerators().iter().map(|accelerator| (accelerator.label.clone(), 1));
            clusters.chain(accelerators).filter(|(label, _)| host_of(label) == Some(host)).collect()
        };
        let known = case.table.hosts().into_iter().filter(|host| !without.contains(host));
        let mut all = Self { case, hosts: known.map(units).collect(), shortest: None };
        for host in 0..all.hosts.len() {
            all.go_on(&mut Vec::new(), 0, host, &mut vec![host], &all.hosts[host].clone());
        }
        all
    }

    /// Adds all stages on a host that begin after so many blocks.
    fn go_on(
        &mut self,
        stages: &mut Vec<Stage>,
        start: usize,
        host: usize,
        visited: &mut Vec<usize>,
        free: &[(String, usize)],
    ) {
        let blocks = self.case.chain.blocks();
        if start == blocks.len() {
            let schedule = Schedule { stages: stages.clone() };
            // What can't run, or has no link, is none.
            if let Ok(evaluation) = schedule.evaluate(&self.case.graph, &self.case.table) {
                let period = evaluation.period.0;
                self.shortest = Some(self.shortest.map_or(period, |shortest| shortest.min(period)));
            }
            return;
        }
        if start > 0 {
            for next in (0..self.hosts.len()).filter(|next| !visited.contains(next)).collect::<Vec<_>>() {
                visited.push(next);
                self.enter(stages, start, next, visited, &self.hosts[next].clone());
                visited.pop();
            }
        }
        self.enter(stages, start, host, visited, free);
    }

    /// Adds all stages on just this host.
    fn enter(
        &mut self,
        stages: &mut Vec<Stage>,
        start: usize,
        host: usize,
        visited: &mut Vec<usize>,
        free: &[(String, usize)],
    ) {
        for end in start + 1..=self.case.chain.blocks().len() {
            let blocks = &self.case.chain.blocks()[start..end];
            let operators: Vec<_> = blocks.iter().flat_map(|block| block.operators.clone()).collect();
            let held = held_bytes(&self.case.graph, &operators);
            let fits = |(label, _): &(String, usize)| {
                let accelerator = self.case.board.accelerator(label);
                accelerator.and_then(|accelerator| accelerator.memory_bytes).is_none_or(|most| held <= most)
            };
            for (taken, left) in replicas(free).into_iter().filter(|(taken, _)| taken.iter().all(fits)) {
                let of = |(label, cores): &(String, usize)| {
                    let is_accelerator = self.case.board.accelerator(label).is_some();
                    let processor = Processor::new(label.clone(), 0..if is_accelerator { 0 } else { *cores as u32 });
                    Replica::single(processor, operators.clone())
                };
                stages.push(Stage { replicas: taken.iter().map(of).collect() });
                self.go_on(stages, end, host, visited, &left);
                stages.pop();
            }
        }
    }
}

/// All sets of processors of some cores, each with what it leaves.
fn replicas(free: &[(String, usize)]) -> Vec<(Units, Units)> {
    let mut all: Vec<(Units, Units)> = vec![(Vec::new(), free.to_vec())];
    let mut place = 0;
    while let Some((taken, left)) = all.get(place).cloned() {
        place += 1;
        for unit in 0..left.len() {
            for cores in 1..=left[unit].1 {
                let mut more = (taken.clone(), left.clone());
                more.0.push((left[unit].0.clone(), cores));
                more.1[unit].1 -= cores;
                // Each set once, in one order.
                if more.0.is_sorted() {
                    all.push(more);
                }
            }
        }
    }
    all.remove(0);
    all
}

#[test]
fn the_shortest_period_over_hosts_is_that_of_all_pipelines() {
    let (mut over_several, mut impossible, mut with_fewer) = (0, 0, 0);
    for case in (0..260).filter_map(case) {
        let HostsCase { graph, chain, board, table } = &case;
        let network = NetworkBlocks { graph, chain };
        let blocks = chain.blocks().len();
        let check = |period_nanoseconds: u64, without: &[&str]| {
            let without: Vec<String> = without.iter().map(|host| (*host).to_owned()).collect();
            assert!(can_check_hosts(network, board, table, &without));
            check_hosts(&HostsProof { period_nanoseconds, blocks, without }, network, board, table)
        };
        let shortest = |without: &[&str]| Enumeration::of(&case, without).shortest;

        let found = shortest(&[]);
        if found.is_some_and(|least| least < 3) {
            continue;
        }
        let Some(least) = found else {
            impossible += 1;
            for period in [1, 1000, 1_000_000] {
                check(period, &[]).unwrap_err();
            }
            continue;
        };
        check(least, &[]).unwrap();
        for wrong in [least - 1, least + 1, least / 2, 2 * least, 0, u64::MAX] {
            assert!(matches!(check(wrong, &[]), Err(CertifyError::Hosts { .. })), "{wrong}");
        }
        let more = HostsProof { period_nanoseconds: least, blocks: blocks + 1, without: Vec::new() };
        check_hosts(&more, network, board, table).unwrap_err();

        let without_first = shortest(&["a"]);
        if let Some(least) = without_first {
            check(least, &["a"]).unwrap();
            check(least + 1, &["a"]).unwrap_err();
        }
        with_fewer += usize::from(without_first.is_some_and(|fewer| fewer > least));
        let alone = HOSTS.map(|host| shortest(&HOSTS.into_iter().filter(|other| *other != host).collect::<Vec<_>>()));
        over_several += usize::from(alone.iter().all(|alone| alone.is_none_or(|alone| alone > least)));
    }
    assert!(over_several > 60 && with_fewer > 60 && impossible > 5, "{over_several} {with_fewer} {impossible}");
}

/// So many hosts with this board, as one.
fn chain_of_hosts(hosts: usize, text: &str) -> Board {
    let board = serde_json::to_value(millstream_test_support::board(text).to_document()).unwrap();
    let host = |place: usize| serde_json::json!({"id": format!("h{place}"), "board": board});
    let link = |place: usize| {
        let ends = [place - 1, place].map(|end| format!("h{end}"));
        serde_json::json!({"hosts": ends, "latency_seconds": 1e-6, "bytes_per_second": 1e9})
    };
    let document = serde_json::json!({
        "format": "millstream-system", "version": 1, "name": "chain",
        "hosts": (0..hosts).map(host).collect::<Vec<_>>(), "links": (1..hosts).map(link).collect::<Vec<_>>(),
    });
    let unknown = |name: &str| -> Result<Board, BoardError> { panic!("{name} is in the file") };
    System::of(SystemDocument::from_json(&document.to_string()).unwrap(), unknown).unwrap().board()
}

/// Nine hosts of one core, and two of so many clusters that their cores can be used in too many ways.
#[test]
fn too_many_pipelines_are_not_followed() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let graph = random_problem::graph(None, &mut random);
    let chain = Chain::of(&graph);
    let network = NetworkBlocks { graph: &graph, chain: &chain };
    let is_followed = |hosts: usize, text: &str| {
        let (host, board) = (millstream_test_support::board(text), chain_of_hosts(hosts, text));
        let one = millstream_test_support::table(&graph, &host, |_, _| Some(100));
        let names: Vec<String> = (0..hosts).map(|place| format!("h{place}")).collect();
        let tables: Vec<(&str, &CostTable)> = names.iter().map(|name| (name.as_str(), &one)).collect();
        let table = CostTable::of_hosts(&tables, Vec::new());
        let proof = HostsProof { period_nanoseconds: 400, blocks: chain.blocks().len(), without: Vec::new() };
        let checked = check_hosts(&proof, network, &board, &table).err().map(|error| error.to_string());
        let can_be_checked = can_check_hosts(network, &board, &table, &[]);
        assert_eq!(can_be_checked, !checked.is_some_and(|error| error.contains("more states than can be checked")));
        can_be_checked
    };
    assert!(is_followed(8, "B1") && !is_followed(9, "B1"));
    assert!(is_followed(2, "B4+m4+s4") && !is_followed(2, "B8+m8+s8+t8+u8+v8"));
}
