//! What simulations show, line by line, so that no change of it goes unseen. It need not be right: other tests hold it
//! against evaluation and small cases worked out by hand. Where a change is meant, `cargo xtask snapshots` accepts it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../runtime/tests/teams/mod.rs"]
mod teams;

use std::fmt::Write as _;
use std::sync::Arc;

use millstream_board::{CoreId, OperatingPoint, Processor, Thermal};
use millstream_cost::{
    BlockedEnd, CostTable, HandOver, LinkCost, Nanoseconds, PartCost, PowerOrigin, ProcessorPower, RowCost,
    TransferModel,
};
use millstream_graph::Graph;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{
    ClusterThermal, Conditions, Disturbance, DisturbanceKind, SimulatedNetwork, Simulation, SteadyState, Unit,
    simulate_streams,
};
use millstream_test_support::board;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const FRAMES: usize = 14;
const BYTES_PER_SECOND: f64 = 4e9;

/// A network on a board with three clusters.
struct Case {
    graph: Arc<Graph>,
    table: CostTable,
}

impl Case {
    fn new() -> Self {
        let graph = millstream_zoo::build("squeezenet").unwrap().graph().clone();
        let mut table = CostTable::new(graph.operators().len(), board("B2+m1:600+s2:300").processor_classes());
        let classes: Vec<_> = table.class_ids().collect();
        for (place, &class) in (1_u64..).zip(&classes) {
            for id in graph.operator_ids() {
                let work = graph.operator(id).work;
                let uneven = 80 + (id.index() as u64 * 37 + place * 11) % 41;
                table.set_time(
                    class,
                    id,
                    Nanoseconds((work.macs / 20 + work.bytes() / 10 + 900) * uneven * place / 100),
                );
                table.set_part(class, id, PartCost { fixed_fraction: 0.0625, wave: 4, apart: Nanoseconds(300) });
                let [start, read, write] = [700, 400, 600].map(Nanoseconds);
                table.set_rows(class, id, RowCost { fixed_fraction: 0.03125, start, read, write });
            }
            table.set_hand_over(class, HandOver { seconds: 2e-6, seconds_per_byte: 1e-11 });
            let (active_watts, idle_watts) = (3.0 / place as f64, 0.125);
            table.set_power(class, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
        }
        for (&from, &to) in classes.iter().flat_map(|from| classes.iter().map(move |to| (from, to))) {
            let blocks = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)][(from.index() + to.index()) % 3];
            let model =
                TransferModel { latency_seconds: 1e-6, seconds_per_byte: 1e-10, blocks, ..TransferModel::default() };
            table.set_transfer(from, to, model);
        }
        Self { graph, table }
    }

    /// Two replicas, a team, and a single processor.
    fn pipeline(&self) -> Schedule {
        let order = self.graph.order();
        let single = |core: Processor, operators: &[_]| Replica::single(core, operators.to_vec());
        let first =
            ["B", "B"].iter().zip(0..).map(|(cluster, core)| single(Processor::new(*cluster, [core]), &order[..20]));
        Schedule {
            stages: vec![
                Stage { replicas: first.collect() },
                Stage { replicas: vec![single(Processor::new("m", [2]), &order[20..40])] },
                Stage { replicas: vec![single(Processor::new("s", [3, 4]), &order[40..])] },
            ],
        }
    }

    /// The whole network on a team that divides some operators.
    fn team(&self, seed: u64) -> Schedule {
        let processors = [Processor::new("B", [0, 1]), Processor::new("m", [2]), Processor::new("s", [3])];
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        Schedule { stages: vec![Stage { replicas: vec![teams::random(&self.graph, &processors, 0.6, &mut random)] }] }
    }

    fn network<'a>(&'a self, schedule: &'a Schedule) -> SimulatedNetwork<'a> {
        SimulatedNetwork::new(schedule, &self.graph, &self.table, FRAMES)
    }
}

fn told(title: &str, simulations: &[Simulation]) -> String {
    let mut text = String::new();
    for simulation in simulations {
        let Simulation { ended, unfinished, fell_back, events, replica_times, busy, .. } = simulation;
        writeln!(text, "{title}: {ended} ended, {unfinished} not, {events} events, fell back {fell_back:?}").unwrap();
        for frame in &simulation.frames {
            writeln!(text, "{} {} {}", frame.start.0, frame.end.0, frame.in_stages.0).unwrap();
        }
        writeln!(text, "{:.6e} s, {:?}", simulation.period_seconds(), simulation.worst_latency()).unwrap();
        writeln!(text, "replicas {replica_times:?}\nbusy {busy:?}").unwrap();
        let joules: Vec<String> =
            simulation.active_joules.iter().flatten().flatten().map(|joules| format!("{joules:.6e}")).collect();
        writeln!(text, "joules {}", joules.join(" ")).unwrap();
        for change in &simulation.speeds {
            writeln!(text, "{} {} {:.4}", change.at.0, change.label, change.factor).unwrap();
        }
        for span in simulation.spans.iter().step_by(23) {
            let (stage, operator) = (span.stage.index(), span.operator.index());
            let place = (stage, span.replica, span.processor, operator, span.frame);
            writeln!(text, "{place:?} {} {}", span.start.0, span.end.0).unwrap();
        }
    }
    text
}

fn at(at: u64, kind: DisturbanceKind) -> Disturbance {
    Disturbance { at: Nanoseconds(at), kind }
}

#[test]
fn pipelines() {
    let mut case = Case::new();
    let links: Vec<_> = case.table.class_ids().collect();
    let schedule = case.pipeline();
    let plain = Conditions { keeps_spans: true, ..Conditions::default() };
    let starved = Conditions { memory_bytes_per_second: Some(BYTES_PER_SECOND), ..plain.clone() };
    let mut text = told("plain", &simulate_streams(&[case.network(&schedule)], &plain).unwrap());
    text += &told("starved", &simulate_streams(&[case.network(&schedule)], &starved).unwrap());
    let from_camera = SimulatedNetwork { interval: Some(Nanoseconds(9_000_000)), ..case.network(&schedule) };
    text += &told("from a camera", &simulate_streams(&[from_camera], &starved).unwrap());
    let few = SimulatedNetwork { frames_in_flight: Some(2), ..case.network(&schedule) };
    text += &told("two in flight", &simulate_streams(&[few], &plain).unwrap());
    for rate in [None, Some(BYTES_PER_SECOND)] {
        let steady = SteadyState::over(60, &schedule, &case.graph, &case.table, rate).unwrap();
        let energy = steady.energy.map(|energy| format!("{:.6e}", energy.joules_per_frame));
        writeln!(text, "{:?} {:?} {energy:?}", steady.evaluation.period, steady.evaluation.latency).unwrap();
    }

    for (&from, &to) in links.iter().flat_map(|from| links.iter().map(move |to| (from, to))) {
        let hand_over = HandOver { seconds: 4e-6, seconds_per_byte: 2e-9 };
        case.table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 2e-9 });
    }
    text += &told("with links", &simulate_streams(&[case.network(&schedule)], &plain).unwrap());
    insta::assert_snapshot!(text);
}

#[test]
fn teams_of_processors() {
    let case = Case::new();
    let mut text = String::new();
    for (seed, rate) in [(1, None), (2, Some(BYTES_PER_SECOND)), (3, Some(BYTES_PER_SECOND / 4.0))] {
        let schedule = case.team(seed);
        let conditions = Conditions { keeps_spans: true, memory_bytes_per_second: rate, ..Conditions::default() };
        text += &told(&format!("team {seed}"), &simulate_streams(&[case.network(&schedule)], &conditions).unwrap());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn disturbances_and_other_streams() {
    let case = Case::new();
    let (schedule, team) = (case.pipeline(), case.team(4));
    let disturbances = vec![
        at(20_000_000, DisturbanceKind::Speed { label: "m".into(), factor: 0.5 }),
        at(30_000_000, DisturbanceKind::Lost(Unit::Core(CoreId(1)))),
        at(60_000_000, DisturbanceKind::Restored(Unit::Core(CoreId(1)))),
        at(500_000_000, DisturbanceKind::Lost(Unit::Core(CoreId(3)))),
    ];
    let disturbed = Conditions { disturbances, ..Conditions::default() };
    let mut text = told("lost", &simulate_streams(&[case.network(&schedule)], &disturbed).unwrap());
    let fallback = Schedule { stages: vec![Stage { replicas: case.pipeline().stages[0].replicas[..1].to_vec() }] };
    let whole =
        Replica::single(fallback.stages[0].replicas[0].assignments[0].processor.clone(), case.graph.order().to_vec());
    let fallback = Schedule { stages: vec![Stage { replicas: vec![whole] }] };
    let with_fallback = SimulatedNetwork { fallback: Some(&fallback), ..case.network(&schedule) };
    text += &told("with a fallback", &simulate_streams(&[with_fallback], &disturbed).unwrap());

    let busy =
        Conditions { keeps_all_busy: true, memory_bytes_per_second: Some(BYTES_PER_SECOND), ..Conditions::default() };
    let both = [case.network(&schedule), SimulatedNetwork { weight: 2.0, ..case.network(&team) }];
    text += &told("beside each other", &simulate_streams(&both, &busy).unwrap());
    let in_turns = both.map(|network| SimulatedNetwork { takes_turns: true, ..network });
    text += &told("in turns", &simulate_streams(&in_turns, &busy).unwrap());

    let thermal = Thermal {
        ambient_celsius: 25.0,
        limit_celsius: 40.0,
        resume_celsius: 35.0,
        kelvin_per_watt: 20.0,
        time_constant_seconds: 0.05,
    };
    let operating_points = [1, 2, 3].map(|hertz| OperatingPoint { hertz: hertz * 500_000_000, volts: None }).to_vec();
    let hot = Conditions {
        thermals: vec![ClusterThermal { cluster: "B".into(), thermal, operating_points }],
        ..Conditions::default()
    };
    text += &told("hot", &simulate_streams(&[case.network(&schedule)], &hot).unwrap());
    insta::assert_snapshot!(text);
}
