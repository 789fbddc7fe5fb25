//! Certificates hold, and nothing in them can be changed.

// Engines and the solver make no difference here: this runs once, with all of them.
#![cfg(all(feature = "highs", feature = "ort", feature = "wgpu"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../fixtures/mod.rs"]
mod fixtures;
mod only_teams;
mod promises;

use std::path::Path;
use std::sync::LazyLock;

use fixtures::{fixture, machines, network};
use millstream_api::{Aim, Control, CostSource, Error, Machine, Network, PlanOn, Planned, Scheduled, certify, plan};
use millstream_board::ProcessorClass;
use millstream_certify::{
    Certificate, CertifyError, NetworkBlocks, PartsPerBillion, ReachedState, SearchedProof, SearchedTeams,
    SingleProcessorProof, TeamProof, ThroughputProof, check, check_searched, check_single_processors, check_throughput,
};
use millstream_cost::CostTable;
use millstream_pipeline::{ClusterId, PeriodBound, Problem, ReachableStates, TeamSpace, ThroughputBound, best_period};
use millstream_schedule::{ScheduleDocument, SearchedSpace};
use proptest::prelude::*;
use serde_json::Value;

fn proofs(network: &Network, machine: &Machine, table: &CostTable) -> (ThroughputProof, Option<SingleProcessorProof>) {
    let (graph, board) = (network.graph(), machine.board());
    let ThroughputBound { period, shares } = ThroughputBound::of(graph, board, table);
    let shares = shares.into_iter().map(|(label, parts)| PartsPerBillion { label, parts }).collect();
    let searched = table.within_memory_of(board, graph);
    let problem = Problem::new(graph, network.chain(), board, &searched).unwrap();
    let reach = ReachableStates::of(&problem).unwrap();
    // What does not fit into a small memory still counts in the proof.
    if let (Some(reach), Ok(best)) = (&reach, best_period(&problem)) {
        let is_roomy = board.memory_bytes().is_none_or(|bytes| bytes > 1 << 31);
        assert!(reach.period.0 <= best.period.0 + 1, "{} {}", best.period, reach.period);
        assert!(!is_roomy || reach.period.0 + 1 >= best.period.0, "{} {}", best.period, reach.period);
    }
    let state = |own: millstream_pipeline::ReachableState| ReachedState {
        used: own.cores_per_cluster,
        last: own.last_clusters.into_iter().map(ClusterId::index).collect(),
        ends: own.blocks_done,
    };
    let single = reach.map(|reach| SingleProcessorProof {
        period_nanoseconds: reach.period.0,
        blocks: reach.blocks,
        reached: reach.states.into_iter().map(state).collect(),
    });
    (ThroughputProof { period_nanoseconds: period.0, shares }, single)
}

#[test]
fn proofs_of_some_pairs_hold() {
    proofs_hold(|network, board| (network + board) % 16 == 0, 20);
}

#[test]
fn proofs_of_some_other_pairs_hold() {
    proofs_hold(|network, board| (network + board) % 16 == 8, 20);
}

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn proofs_of_every_pair_hold() {
    proofs_hold(|_, _| true, 340);
}

fn proofs_hold(is_wanted: impl Fn(usize, usize) -> bool, least: usize) {
    let machines = machines();
    let mut with_stages = 0;
    for (place, name) in millstream_zoo::names().enumerate() {
        let network = network(name);
        let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
        let wanted = machines.iter().enumerate().filter(|(board, _)| is_wanted(place, *board));
        for (_, (board, machine)) in wanted {
            let costs = fixture("costs", board);
            let table = CostSource::Models(&costs).table(&network, machine).unwrap();
            let (throughput, single) = proofs(&network, machine, &table);
            check_throughput(&throughput, blocks.graph, machine.board(), &table)
                .unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
            let Some(single) = single else { continue };
            let searched = table.within_memory_of(machine.board(), network.graph());
            check_single_processors(&single, blocks, machine.board(), &searched)
                .unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
            with_stages += 1;
        }
    }
    assert!(with_stages > least, "{with_stages}");
}

/// What proves the bound on all that is searched, teams among it.
fn searched_proof(network: &Network, machine: &Machine, searched: &CostTable) -> SearchedProof {
    let (board, space) = (machine.board(), TeamSpace::of(machine.board()));
    let problem = Problem::with_teams(network.graph(), network.chain(), board, searched, &space.teams(board)).unwrap();
    let TeamSpace { most_processors, spans_clusters, has_all_counts } = space;
    let of_team = |(team, own): (&[ProcessorClass], &millstream_pipeline::DualPrices)| {
        let mut places: Vec<usize> = (0..team.len()).collect();
        places.sort_by_key(|&place| team[place].to_string());
        let sorted = |parts: &Vec<u64>| places.iter().filter_map(|&place| parts.get(place).copied()).collect();
        TeamProof {
            processors: places.iter().map(|&place| team[place].to_string()).collect(),
            subgraphs: own.subgraphs.iter().map(sorted).collect(),
            tiles: sorted(&own.tiles),
        }
    };
    let mut dual_prices: Vec<TeamProof> = problem.team_dual_prices().map(of_team).collect();
    dual_prices.sort_by(|one, other| one.processors.cmp(&other.processors));
    SearchedProof {
        period_nanoseconds: PeriodBound::of(&problem).unwrap().0.0,
        teams: SearchedTeams { most_processors, spans_clusters, has_all_counts },
        dual_prices,
    }
}

/// One in so many pairs of a network and a board; `cargo xtask certificates` looks at all.
#[test]
fn proofs_of_all_that_is_searched_hold() {
    searched_proofs_hold(|network, board| (network + board) % 13 == 4, 40);
}

/// That the proofs hold, and that they prove no other period.
fn searched_proofs_hold(is_wanted: impl Fn(usize, usize) -> bool, least: usize) {
    let machines = machines();
    let mut checked = 0;
    for (place, name) in millstream_zoo::names().enumerate() {
        let network = network(name);
        let wanted = machines.iter().enumerate().filter(|(board, _)| is_wanted(place, *board));
        // Eight clusters that all hand over differently take long to search.
        for (_, (board, machine)) in wanted.filter(|(_, own)| own.1.board().clusters().len() < 8) {
            let costs = fixture("costs", board);
            let table = CostSource::Models(&costs).table(&network, machine).unwrap();
            let searched = table.within_memory_of(machine.board(), network.graph());
            // What is too much to be written down of single processors is so with teams.
            let problem = Problem::new(network.graph(), network.chain(), machine.board(), &searched).unwrap();
            if ReachableStates::of(&problem).unwrap().is_none() {
                continue;
            }
            let proof = searched_proof(&network, machine, &searched);
            let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
            let check = |proof: &SearchedProof| check_searched(proof, blocks, machine.board(), &searched);
            check(&proof).unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
            for other in [proof.period_nanoseconds + 1, proof.period_nanoseconds - 1] {
                let other = SearchedProof { period_nanoseconds: other, ..proof.clone() };
                assert!(matches!(check(&other), Err(CertifyError::Searched { .. })), "{name} on {board}");
            }
            checked += 1;
        }
    }
    assert!(checked > least, "{checked}");
}

struct Case {
    machine: Machine,
    network: Network,
    table: CostTable,
    document: ScheduleDocument,
    certificate: Value,
}

fn case(board: &str) -> Case {
    let (machine, network) = (Machine::read(&fixture("boards", board)).unwrap(), network("squeezenet"));
    let costs = fixture("costs", board);
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let Planned { plans, document, .. } = plan(&machine, &network, &Aim::default(), on, &Control::new()).unwrap();
    let certificate = plans.certificate(&document, &network, machine.board()).unwrap();
    let certificate = serde_json::to_value(&certificate).unwrap();
    Case { machine, network, table: plans.table.clone(), document, certificate }
}

impl Case {
    fn check(&self, certificate: &Value) -> Result<(), CertifyError> {
        self.check_against(certificate, &self.document)
    }

    fn check_against(&self, certificate: &Value, document: &ScheduleDocument) -> Result<(), CertifyError> {
        let certificate = Certificate::from_json(&certificate.to_string())?;
        let blocks = NetworkBlocks { graph: self.network.graph(), chain: self.network.chain() };
        check(&certificate, document, blocks, self.machine.board(), &self.table)
    }
}

/// A board whose processors compete for memory, and one with links.
static CASES: LazyLock<[Case; 2]> = LazyLock::new(|| [case("hikey-970"), case("chiplet-c2")]);

/// Every number in a value, as a path.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(own) => {
            own.iter().enumerate().for_each(|(index, own)| numbers(own, &format!("{path}/{index}"), found));
        }
        Value::Object(own) => own.iter().for_each(|(key, own)| numbers(own, &format!("{path}/{key}"), found)),
        _ => {}
    }
}

fn changed(number: &Value, how: usize) -> Value {
    match (number.as_u64(), how) {
        (Some(number), 0) => Value::from(number + 1),
        (Some(number), 1) => Value::from(if number > 0 { number - 1 } else { 2 }),
        (Some(number), 2) => Value::from(number / 2 + 7 * u64::from(number / 2 == number)),
        (Some(number), _) => Value::from(number * 3 + 1),
        (None, how) => Value::from(number.as_f64().unwrap() * [1.0 + 1e-9, 1.0 - 1e-6, 0.5, 2.0][how]),
    }
}

#[test]
fn unchanged_certificates_hold() {
    for own in CASES.iter() {
        own.check(&own.certificate).unwrap();
        assert!(own.certificate["single_processors"]["reached"].as_array().unwrap().len() > 10);
        assert!(own.certificate["searched"]["worths"].as_array().unwrap().len() > 5);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_number_can_be_changed(which in 0_usize..2, place in any::<prop::sample::Index>(), how in 0_usize..4) {
        let own = &CASES[which];
        let mut paths = Vec::new();
        numbers(&own.certificate, "", &mut paths);
        let path = place.get(&paths);
        let mut certificate = own.certificate.clone();
        let number = certificate.pointer_mut(path).unwrap();
        let other = changed(number, how);
        prop_assert_ne!(&other, &*number);
        *number = other.clone();
        prop_assert!(own.check(&certificate).is_err(), "{path} was changed to {other}");
    }
}

/// A schedule that promises something else than its certificate proves is refused, also where both say the same of it.
#[test]
fn promises_are_what_is_proven() {
    for own in CASES.iter() {
        type Change = fn(&mut ScheduleDocument);
        let changes: [Change; 5] = [
            |own| own.predicted.period_seconds *= 1.0 - 1e-6,
            |own| own.predicted.lower_bound_period_seconds *= 1.0 + 1e-6,
            |own| own.predicted.searched.as_mut().unwrap().period_seconds *= 1.0 + 1e-6,
            |own| own.predicted.searched.as_mut().unwrap().period_seconds *= 1.0 - 1e-6,
            |own| own.predicted.searched.as_mut().unwrap().space = SearchedSpace::Hosts,
        ];
        for change in changes {
            let mut document = own.document.clone();
            change(&mut document);
            let refused = own.check_against(&own.certificate, &document).unwrap_err();
            assert!(matches!(refused, CertifyError::OtherSchedule { .. }), "{refused}");
        }

        // A shorter period in both.
        let shorter = own.document.predicted.period_seconds * 0.5;
        let (mut document, mut certificate) = (own.document.clone(), own.certificate.clone());
        document.predicted.period_seconds = shorter;
        certificate["predicted_period_seconds"] = Value::from(shorter);
        let bound = document.predicted.lower_bound_period_seconds;
        certificate["gap"] = Value::from(shorter / bound - 1.0);
        let refused = own.check_against(&certificate, &document).unwrap_err();
        assert!(matches!(refused, CertifyError::Promise { .. }), "{refused}");

        // Another bound on all that was searched in both.
        let (mut document, mut certificate) = (own.document.clone(), own.certificate.clone());
        let longer = certificate["searched"]["period_nanoseconds"].as_u64().unwrap() + 1;
        certificate["searched"]["period_nanoseconds"] = Value::from(longer);
        document.predicted.searched.as_mut().unwrap().period_seconds = longer as f64 * 1e-9;
        let refused = own.check_against(&certificate, &document).unwrap_err();
        assert!(matches!(refused, CertifyError::Searched { .. }), "{refused}");

        // What is promised and not proven.
        for part in ["single_processors", "searched"] {
            let mut certificate = own.certificate.clone();
            certificate.as_object_mut().unwrap().remove(part).unwrap();
            let refused = own.check(&certificate).unwrap_err();
            assert!(matches!(refused, CertifyError::Missing { .. }), "{refused}");
        }
        let mut certificate = own.certificate.clone();
        certificate["searched"]["worths"].as_array_mut().unwrap().pop();
        let refused = own.check(&certificate).unwrap_err();
        assert!(refused.to_string().contains("which are not the"), "{refused}");
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let [hikey, chiplets] = &*CASES;
    let Err(CertifyError::OtherSchedule { what: "board", .. }) = hikey.check(&chiplets.certificate) else { panic!() };
    let mut shares = hikey.certificate.clone();
    let parts = shares["throughput"]["shares"].as_array_mut().unwrap();
    let (one, other) = (parts[0]["parts"].as_u64().unwrap(), parts[1]["parts"].as_u64().unwrap());
    (parts[0]["parts"], parts[1]["parts"]) = (Value::from(one + 1_000_000), Value::from(other - 1_000_000));
    let Err(CertifyError::Number { what, .. }) = hikey.check(&shares) else { panic!("another proof, another bound") };
    assert_eq!(what, "the bound on all schedules [ns]");

    // From files, on the costs of another board.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("certificate.json");
    std::fs::write(&path, hikey.certificate.to_string()).unwrap();
    let scheduled = || Scheduled::alone(network("squeezenet"), hikey.document.clone(), hikey.machine.board()).unwrap();
    let certified = |path: &Path, costs: &str| {
        certify(path, &scheduled(), &hikey.machine, CostSource::Models(&fixture("costs", costs)))
    };
    assert_eq!(certified(&path, "hikey-970").unwrap().configuration, hikey.document.configuration);
    assert!(certified(&path, "khadas-vim3").is_err());
    let missing = certified(&folder.path().join("none.json"), "hikey-970").unwrap_err().to_string();
    assert!(missing.contains("none.json"), "{missing}");
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(certified(&path, "hikey-970"), Err(Error::File { .. })));
}
