//! Certificates hold, and nothing in them can be changed.

// Engines and the solver make no difference here: this runs once, with all of them.
#![cfg(all(feature = "highs", feature = "ort", feature = "wgpu"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use std::path::Path;
use std::sync::LazyLock;

use fixtures::{fixture, machines, network};
use millstream_api::{Aim, Control, CostSource, Error, Machine, Network, PlanOn, Planned, Scheduled, certify, plan};
use millstream_certify::{
    Certificate, CertifyError, PartsPerBillion, ReachedState, SingleProcessorProof, ThroughputProof, check,
    check_single_processors, check_throughput,
};
use millstream_cost::CostTable;
use millstream_pipeline::{Problem, SingleProcessorReach, ThroughputBound, best_period};
use millstream_schedule::ScheduleDocument;
use proptest::prelude::*;
use serde_json::Value;

fn proofs(network: &Network, machine: &Machine, table: &CostTable) -> (ThroughputProof, Option<SingleProcessorProof>) {
    let (graph, board) = (network.graph(), machine.board());
    let ThroughputBound { period, shares } = ThroughputBound::of(graph, board, table);
    let shares = shares.into_iter().map(|(label, parts)| PartsPerBillion { label, parts }).collect();
    let searched = table.within_memory_of(board, graph);
    let problem = Problem::new(graph, network.chain(), board, &searched).unwrap();
    let reach = SingleProcessorReach::of(&problem).unwrap();
    // What does not fit into a small memory still counts in the proof.
    if let (Some(reach), Ok(best)) = (&reach, best_period(&problem)) {
        let is_roomy = board.memory_bytes().is_none_or(|bytes| bytes > 1 << 31);
        assert!(reach.period.0 <= best.period.0 + 1, "{} {}", best.period, reach.period);
        assert!(!is_roomy || reach.period.0 + 1 >= best.period.0, "{} {}", best.period, reach.period);
    }
    let state = |own: millstream_pipeline::Reach| ReachedState { used: own.used, last: own.last, ends: own.ends };
    let single = reach.map(|reach| SingleProcessorProof {
        period_nanoseconds: reach.period.0,
        blocks: reach.blocks,
        reached: reach.states.into_iter().map(state).collect(),
    });
    (ThroughputProof { period_nanoseconds: period.0, shares }, single)
}

#[test]
fn every_proof_for_the_zoo_on_the_boards_holds() {
    proofs_hold(|index| index % 2 == 0);
}

#[test]
fn every_proof_for_the_rest_of_the_zoo_holds() {
    proofs_hold(|index| index % 2 == 1);
}

fn proofs_hold(is_wanted: impl Fn(usize) -> bool) {
    let machines = machines();
    let mut with_stages = 0;
    for (_, name) in millstream_zoo::names().enumerate().filter(|(index, _)| is_wanted(*index)) {
        let network = network(name);
        let ground = (&**network.graph(), network.chain());
        for (board, machine) in &machines {
            let costs = fixture("costs", board);
            let table = CostSource::Models(&costs).table(&network, machine).unwrap();
            let (throughput, single) = proofs(&network, machine, &table);
            check_throughput(&throughput, ground.0, machine.board(), &table)
                .unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
            let Some(single) = single else { continue };
            let searched = table.within_memory_of(machine.board(), network.graph());
            check_single_processors(&single, ground, machine.board(), &searched)
                .unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
            with_stages += 1;
        }
    }
    assert!(with_stages > 170, "{with_stages}");
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
        let certificate = Certificate::from_json(&certificate.to_string())?;
        let ground = (&**self.network.graph(), self.network.chain());
        check(&certificate, &self.document, ground, self.machine.board(), &self.table)
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
