//! What schedules promise beside their periods, and on boards whose links are slow.

use std::path::{Path, PathBuf};

use millstream_api::{Aim, Control, CostSource, Error, Machine, PlanOn, Planned, Scheduled, certify, plan};
use millstream_certify::CertifyError;
use millstream_schedule::{ScheduleDocument, StatedConstraints};
use serde_json::Value;

use crate::CASES;
use crate::fixtures::{fixture, network};

/// A schedule of `squeezenet` on a board of the fixtures, with its certificate in a file.
struct Promised {
    machine: Machine,
    costs: PathBuf,
    certificate: PathBuf,
    _folder: tempfile::TempDir,
}

impl Promised {
    fn new(machine: Machine, costs: &str, certificate: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("certificate.json");
        std::fs::write(&path, certificate.to_string()).unwrap();
        Self { machine, costs: fixture("costs", costs), certificate: path, _folder: folder }
    }

    fn certify(&self, model: &str, document: &ScheduleDocument) -> Result<(), Error> {
        let scheduled = Scheduled::alone(network(model), document.clone(), self.machine.board()).unwrap();
        certify(&self.certificate, &scheduled, &self.machine, CostSource::Models(&self.costs)).map(|_| ())
    }
}

fn is_promise(refused: &Error) -> bool {
    matches!(refused, Error::File { source, .. } if matches!(**source, Error::Certificate(CertifyError::Promise { .. })))
}

/// Latency, the times of replicas, energy and power are what the schedule takes, whether nobody waits for memory or all
/// do.
#[test]
fn everything_that_is_promised_is_checked() {
    type Change = fn(&mut ScheduleDocument);
    let changes: [Change; 6] = [
        |own| own.predicted.latency_seconds *= 1.0 - 1e-6,
        |own| own.predicted.latency_seconds *= 1.0 + 1e-6,
        |own| own.predicted.replica_seconds[0][0] *= 0.5,
        |own| own.predicted.replica_seconds.push(vec![0.001]),
        |own| own.predicted.joules_per_frame = own.predicted.joules_per_frame.map(|own| own * 0.9),
        |own| own.predicted.watts = own.predicted.watts.map(|own| own * 0.9),
    ];
    for (own, board) in CASES.iter().zip(["hikey-970", "chiplet-c2"]) {
        let promised = Promised::new(Machine::read(&fixture("boards", board)).unwrap(), board, &own.certificate);
        promised.certify("squeezenet", &own.document).unwrap();
        // The power of chiplets is not known.
        let counts_energy = own.document.predicted.watts.is_some();
        assert_eq!(counts_energy, board == "hikey-970");
        for (place, change) in changes.iter().take(if counts_energy { 6 } else { 4 }).enumerate() {
            let mut document = own.document.clone();
            change(&mut document);
            let refused = promised.certify("squeezenet", &document).unwrap_err();
            assert!(is_promise(&refused), "{board}, change {place}: {refused}");
        }

        let mut document = own.document.clone();
        document.predicted.joules_per_frame = Some(0.1);
        document.predicted.watts = Some(0.1 / document.predicted.period_seconds);
        promised.certify("squeezenet", &document).unwrap_err();
        // A power of no energy, and a limit on a power that nobody says.
        document.predicted.joules_per_frame = None;
        let refused = promised.certify("squeezenet", &document).unwrap_err().to_string();
        assert!(refused.contains("promises a mean power without an energy"), "{refused}");
        document.predicted.watts = None;
        promised.certify("squeezenet", &document).unwrap();
        document.constraints.max_watts = Some(1e6);
        let refused = promised.certify("squeezenet", &document).unwrap_err().to_string();
        assert!(refused.contains("does not say what it draws"), "{refused}");

        // That it was measured is in the certificate as well.
        let mut document = own.document.clone();
        document.predicted.is_measured = true;
        let refused = promised.certify("squeezenet", &document).unwrap_err().to_string();
        assert!(refused.contains("its promise is by costs alone, that of the schedule is measured"), "{refused}");
    }
}

/// What a schedule was planned for is held against what it promises itself.
#[test]
fn limits_are_kept_by_what_is_promised() {
    for (own, board) in CASES.iter().zip(["hikey-970", "chiplet-c2"]) {
        let promised = Promised::new(Machine::read(&fixture("boards", board)).unwrap(), board, &own.certificate);
        // A limit that the schedule does not keep by what it says itself.
        let mut document = own.document.clone();
        document.constraints.max_latency_seconds = Some(document.predicted.latency_seconds * 0.9);
        let refused = promised.certify("squeezenet", &document).unwrap_err().to_string();
        assert!(refused.contains("11.1 % over"), "{refused}");
        // One that it keeps, with a margin that it keeps and with one that it does not.
        document.constraints.max_latency_seconds = Some(document.predicted.latency_seconds * 1.1);
        document.constraints.margin = 0.0999;
        promised.certify("squeezenet", &document).unwrap();
        document.constraints.margin = 0.9;
        let refused = promised.certify("squeezenet", &document).unwrap_err().to_string();
        assert!(refused.contains("72.7 % over"), "{refused}");
        document.constraints = StatedConstraints {
            min_throughput_hertz: Some(0.5 / document.predicted.period_seconds),
            margin: 1.1,
            ..StatedConstraints::default()
        };
        let refused = promised.certify("squeezenet", &document).unwrap_err().to_string();
        assert!(refused.contains("4.8 % under"), "{refused}");
    }
}

/// Two clusters that are joined by links of so many megabytes a second in both directions.
fn linked(folder: &Path, megabytes_per_second: f64) -> Machine {
    let text = std::fs::read_to_string(fixture("boards", "hikey-970")).unwrap();
    let mut board: Value = serde_json::from_str(&text).unwrap();
    board.as_object_mut().unwrap().remove("memory").unwrap();
    let link = |from: &str, to: &str| serde_json::json!({"from": from, "to": to, "bytes_per_second": 1e6 * megabytes_per_second, "latency_seconds": 1e-5});
    board["links"] = serde_json::json!([link("B", "s"), link("s", "B")]);
    let path = folder.join("board.json");
    std::fs::write(&path, board.to_string()).unwrap();
    Machine::read(&path).unwrap()
}

/// Clusters of several cores behind links: replicas and stages wait for each other there, and what is promised is
/// simulated.
#[test]
fn certificates_hold_where_links_are_slow() {
    let mut periods = Vec::new();
    let mut algorithms = Vec::new();
    for megabytes_per_second in [20.0, 50.0, 400.0, 1e6] {
        let folder = tempfile::tempdir().unwrap();
        let machine = linked(folder.path(), megabytes_per_second);
        let (costs, network) = (fixture("costs", "hikey-970"), network("mobilenet-v1"));
        let on = PlanOn::Costs(CostSource::Models(&costs));
        let Planned { plans, document, .. } = plan(&machine, &network, &Aim::default(), on, &Control::new()).unwrap();
        let certificate = plans.certificate(&document, &network, machine.board()).unwrap();
        let promised = Promised::new(machine, "hikey-970", &serde_json::to_value(&certificate).unwrap());
        promised.certify("mobilenet-v1", &document).unwrap_or_else(|error| panic!("{megabytes_per_second}: {error}"));
        periods.push(document.predicted.period_seconds);
        algorithms.push(document.algorithm.clone());
    }
    assert!(periods.is_sorted_by(|slower, faster| slower > faster), "{periods:?}");
    assert!(algorithms.iter().any(|own| own.ends_with("then-simulated")), "{algorithms:?}");
}
