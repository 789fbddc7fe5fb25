//! Systems whose hosts are cores of this computer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use millstream_api::board::{Host, Processor};
use millstream_api::cost::{CostTable, HostCrossing, Nanoseconds, PartCost};
use millstream_api::pipeline::{Effort, SystemProblem, teams_of};
use millstream_api::schedule::{Prediction, Replica, Schedule, Stage};
use millstream_api::{Hosts, Machine, Network, Objective, ReadOptions, document, files};
use millstream_node::deployment::Deployment;
use millstream_node::launch::LaunchOptions;

/// Hosts with a core of this computer each, and links between all of them.
pub(crate) fn system(folder: &Path, hosts: &[&str]) {
    system_that_sends(folder, hosts, "f32");
}

/// The same with what floats are sent as.
pub(crate) fn system_that_sends(folder: &Path, hosts: &[&str], precision: &str) {
    system_with_cores(folder, hosts, 1, precision);
}

/// The same with so many cores for the first host, some of which others may have as well.
pub(crate) fn system_with_cores(folder: &Path, hosts: &[&str], of_first: usize, precision: &str) {
    let cores: Vec<u32> = Machine::detect().unwrap().board().cores().map(|core| core.id.0).collect();
    let host = |(place, id): (usize, &&str)| {
        let core = |place: usize| format!(r#"{{"id": {}}}"#, cores[place % cores.len()]);
        let count = if place == 0 { of_first } else { 1 };
        let own = (place..place + count).map(core).collect::<Vec<_>>().join(", ");
        let board = format!(
            r#"{{"format": "millstream-board", "version": 1, "name": "some cores", "clusters": [{{"label": "B",
                "core_type": "core", "capacity": 1024, "cores": [{own}], "operating_points": []}}],
                "memory": {{"bytes_per_second": 8e9, "bytes": 4000000000}}}}"#
        );
        format!(r#"{{"id": "{id}", "board": {board}, "cost": "none"}}"#)
    };
    let link = |one: &str, other: &str| {
        format!(
            r#"{{"hosts": ["{one}", "{other}"], "latency_seconds": 1e-4, "bytes_per_second": 1e9,
                "precision": "{precision}"}}"#
        )
    };
    let links =
        hosts.iter().enumerate().flat_map(|(place, one)| hosts[..place].iter().map(move |other| link(one, other)));
    let text = format!(
        r#"{{"format": "millstream-system", "version": 1, "name": "cores", "hosts": [{}], "links": [{}]}}"#,
        hosts.iter().enumerate().map(host).collect::<Vec<_>>().join(", "),
        links.collect::<Vec<_>>().join(", ")
    );
    fs::write(folder.join("system.json"), text).unwrap();
}

/// A schedule with as many operators of a network on each host that is not left out, which is written into the folder.
/// No costs of these hosts are known, so what it predicts is made up.
pub(crate) fn plan(folder: &Path, without: &[&str], name: &str) {
    plan_of(folder, "zoo:squeezenet", without, name);
}

/// The same of a network that is in the folder, or in the zoo.
pub(crate) fn plan_of(folder: &Path, network: &str, without: &[&str], name: &str) {
    let hosts = Hosts::read(&folder.join("system.json")).unwrap();
    let source =
        if network.starts_with("zoo:") { network.to_owned() } else { folder.join(network).display().to_string() };
    let network = Network::open(&source, ReadOptions::default()).unwrap();
    let board = hosts.machine().board();
    let left: Vec<_> = hosts.system().hosts().iter().filter(|host| !without.contains(&host.id.as_str())).collect();
    let chain = network.chain();
    let count = chain.blocks().len();
    let stage = |(place, host): (usize, &&Host)| {
        let cluster = board.cluster(&format!("{}/B", host.id)).unwrap();
        let processor = Processor::new(&cluster.label, cluster.cores.iter().map(|core| core.id.0));
        let part = |edge: usize| edge * count / left.len();
        Stage { replicas: vec![Replica::single(processor, chain.operators(part(place)..part(place + 1)))] }
    };
    let schedule = Schedule { stages: left.iter().enumerate().map(stage).collect() };
    let predicted = Prediction {
        period_seconds: 0.05,
        latency_seconds: 0.1,
        is_measured: false,
        lower_bound_period_seconds: 0.05,
        searched: None,
        replica_seconds: vec![vec![0.05]; left.len()],
        joules_per_frame: None,
        watts: None,
    };
    let document = document(&schedule, predicted, "by hand", Objective::Throughput, &network, board);
    fs::write(folder.join(name), files::to_json(&document).unwrap()).unwrap();
}

/// A schedule for two hosts of which the first has two cores and can run the first half of a network, and the second
/// all of it, but slowly, with the least latency: the cores of the first work on the same frame.
pub(crate) fn plan_with_a_team(folder: &Path, network: &str, name: &str) {
    let hosts = Hosts::read(&folder.join("system.json")).unwrap();
    let network = Network::open(network, ReadOptions::default()).unwrap();
    let (graph, chain) = (network.graph(), network.chain());
    let first_half = chain.operators(0..chain.blocks().len() / 2);
    let costs = |(place, host): (usize, &Host)| {
        let mut table = CostTable::new(graph.operators().len(), host.board.processor_classes());
        let single = table.class_ids().filter(|id| table.classes()[id.index()].count == 1).collect::<Vec<_>>();
        for (processor, id) in single.into_iter().flat_map(|one| graph.operator_ids().map(move |id| (one, id))) {
            if place == 1 || first_half.contains(&id) {
                let slowness = [1, 3][place];
                table.set_time(processor, id, Nanoseconds(slowness * (10_000 + graph.operator(id).work.macs / 10)));
                table.set_part(processor, id, PartCost { wave: 1, ..PartCost::default() });
            }
        }
        (host.id.clone(), table)
    };
    let tables: Vec<(String, CostTable)> = hosts.system().hosts().iter().enumerate().map(costs).collect();
    let tables: Vec<(&str, &CostTable)> = tables.iter().map(|(host, table)| (host.as_str(), table)).collect();
    let table = CostTable::of_hosts(&tables, HostCrossing::all(hosts.system()));

    let teams = teams_of(hosts.machine().board());
    let asked = (teams.as_slice(), Effort::USUAL);
    let problem = SystemProblem::with_teams(graph, chain, hosts.system(), &table, asked).unwrap();
    let plan = problem.front().unwrap().plans.swap_remove(0);
    assert!(plan.has_teams(), "{}", plan.configuration());
    let schedule = problem.schedule(&plan);
    let predicted = Prediction::new(&schedule.evaluate(graph, &table).unwrap(), 0.0);
    let board = hosts.machine().board();
    let document = document(&schedule, predicted, "by made-up costs", Objective::Latency, &network, board);
    fs::write(folder.join(name), files::to_json(&document).unwrap()).unwrap();
}

/// Runs the command in a folder; whether it succeeded, what it printed, and what it said.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let mut command = assert_cmd::Command::cargo_bin("millstream-node").unwrap();
    let output = command.current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// How a system is brought up with this program, for so many seconds at most.
pub(crate) fn options(program: PathBuf, seconds: u64) -> LaunchOptions {
    let mut options = LaunchOptions::new(program);
    options.dora = std::env::var_os("MILLSTREAM_DORA").map_or(options.dora, PathBuf::from);
    options.limit = Some(Duration::from_secs(seconds));
    options
}

/// So many frames through these schedules.
pub(crate) fn deployment(folder: &Path, schedules: &[&str], frames: u64) -> Deployment {
    Deployment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system: folder.join("system.json"),
        model: None,
        schedules: schedules.iter().map(|name| folder.join(name)).collect(),
        inputs: Vec::new(),
        frames,
        in_flight: None,
        expected: None,
        tolerance: None,
        trace: None,
    }
}
