//! Plans, sets and simulations on costs that are known: nothing runs, so no engine is needed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fixtures::{fixture, network};
use millstream_api::{
    Aim, Constraints, Control, CostSource, Error, Event, Inputs, Loaded, Machine, Network, NetworkShare, Objective,
    PlanOn, ReadOptions, Rounds, RunSource, Scheduled, SimulateOptions, Simulated, files, plan, plan_shared,
    plan_with_clocks, simulate,
};
use millstream_board::ProcessorClass;
use millstream_cost::{CostTable, HandOver, LinkCost, Nanoseconds};
use millstream_graph::OperatorId;
use millstream_onnx::{ModelBuilder, Weight};

fn machine() -> Machine {
    Machine::read(&fixture("boards", "hikey-970")).unwrap()
}

fn planned(aim: &Aim) -> Result<millstream_api::Planned, Error> {
    let costs = fixture("costs", "hikey-970");
    plan(&machine(), &network("squeezenet"), aim, PlanOn::Costs(CostSource::Models(&costs)), &Control::new())
}

fn source(folder: &tempfile::TempDir) -> RunSource {
    RunSource {
        schedule: folder.path().join("schedule.json"),
        is_usual_file: false,
        model: None,
        options: ReadOptions::default(),
        inputs: Inputs::default(),
    }
}

#[test]
fn objectives_and_constraints_are_kept() {
    let [throughput, latency] =
        [Objective::Throughput, Objective::Latency].map(|objective| planned(&Aim::best(objective)).unwrap());
    assert!(throughput.plan.period < latency.plan.period && latency.plan.latency < throughput.plan.latency);
    assert_eq!(latency.document.objective, Objective::Latency);
    let front = throughput.plans.front_with_best(&throughput.plan, Objective::Throughput);
    let best =
        |objective| front.iter().filter(move |(_, best)| best.contains(&objective)).map(|(plan, _)| plan.latency);
    assert_eq!(best(Objective::Throughput).collect::<Vec<_>>(), [throughput.plan.latency]);
    assert_eq!(best(Objective::Latency).collect::<Vec<_>>(), [latency.plan.latency]);
    // Between the two.
    let most = Duration::from_secs_f64((latency.plan.latency.seconds() + throughput.plan.latency.seconds()) / 2.0);
    let limits = Constraints { max_latency: Some(most.into()), ..Constraints::default() };
    let limited = planned(&Aim::default().within(limits)).unwrap();
    assert!(limited.plan.latency <= most.into() && limited.plan.period > throughput.plan.period);
    assert_eq!(limited.document.constraints.max_latency_seconds, Some(Nanoseconds::from(most).seconds()));
    let spare = planned(&Aim::default().within(limits).with_margin(0.05)).unwrap();
    assert!(spare.plan.latency.seconds() * 1.05 <= most.as_secs_f64() * (1.0 + 1e-9));

    let searched = limited.document.predicted.searched.as_ref().unwrap();
    let every = limited.document.predicted.lower_bound_period_seconds;
    assert!(searched.period_seconds <= limited.document.predicted.period_seconds);
    assert!(
        searched.period_seconds > 0.9 * every
            && matches!(searched.space, millstream_schedule::SearchedSpace::Teams { .. }),
        "{searched:?} {every}"
    );
    assert_eq!(spare.document.constraints.margin, 0.05);
    assert_eq!(spare.document.constraints.max_latency_seconds, limited.document.constraints.max_latency_seconds);
    let limits = Constraints { max_latency: Some(Duration::from_nanos(1).into()), ..Constraints::default() };
    assert!(matches!(planned(&Aim::default().within(limits)), Err(Error::Pipeline(_))));
}

#[test]
fn clocks_are_chosen_where_energy_counts() {
    let path = fixture("costs", "hikey-970");
    let aim = Aim::best(Objective::Energy);
    let planned =
        plan_with_clocks(&machine(), &network("squeezenet"), &aim, CostSource::Models(&path), &Control::new()).unwrap();
    assert!(planned.clocked_front.is_some_and(|front| front.len() > 1));
    assert!(planned.plan.energy.is_some());
}

#[test]
fn a_single_network_is_a_set_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let (machine, control, source) = (machine(), Control::new(), source(&folder));
    let alone = planned(&Aim::default()).unwrap().document;
    files::write(&source.schedule, &files::to_json(&alone).unwrap()).unwrap();
    let loaded = Loaded::read(&machine, &source, &control).unwrap();
    assert_eq!((loaded.sets.len(), loaded.sets[0].len(), loaded.has_sizes), (1, 1, false));
    assert_eq!((loaded.sets[0][0].weight, loaded.sets[0][0].takes_turns), (1.0, false));

    let costs = fixture("costs", "hikey-970");
    let networks = [network("squeezenet"), network("mobilenet-v1")];
    let shares = [NetworkShare { weight: 2.0, ..NetworkShare::default() }, NetworkShare::default()];
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let shared = plan_shared(&machine, &networks, &shares, on, &control).unwrap();
    assert!(shared.other_rounds_per_second.is_some_and(|other| other <= shared.document.rounds_per_second));
    files::write(&source.schedule, &files::to_json(&shared.document).unwrap()).unwrap();
    let loaded = Loaded::read(&machine, &source, &control).unwrap();
    assert_eq!(loaded.sets[0].iter().map(|own| own.weight).collect::<Vec<_>>(), [2.0, 1.0]);

    // The same options simulate both.
    let simulated = simulate(&machine, &loaded.sets[0], &undisturbed(&costs, 20), &control).unwrap();
    let frames: Vec<usize> = simulated.iter().map(|own| own.simulation.frames.len()).collect();
    assert!(frames[0] >= 40 && frames[1] >= 20, "{frames:?}");
}

fn undisturbed(costs: &Path, frames: u32) -> SimulateOptions<'_> {
    SimulateOptions::new(CostSource::Models(costs), frames)
}

/// What is promised of networks that share a board is what its simulation shows while all of them are busy.
#[test]
fn promised_rounds_are_simulated_and_turns_keep_deadlines() {
    let folder = tempfile::tempdir().unwrap();
    let (machine, control, source) = (machine(), Control::new(), source(&folder));
    let costs = fixture("costs", "hikey-970");
    let networks = [network("mobilenet-v1"), network("resnet50")];
    let mut rounds = Vec::new();
    // A margin of 2.4 leaves the last deadline where the division is.
    let wanted = [(None, 0.0, true), (Some(900), 0.0, false), (Some(3000), 0.0, true), (Some(3000), 2.4, false)];
    for (deadline, margin, takes_turns) in wanted {
        let deadline = deadline.map(Duration::from_millis);
        let shares = [NetworkShare::default(), NetworkShare { deadline, margin, ..NetworkShare::default() }];
        let on = PlanOn::Costs(CostSource::Models(&costs));
        let shared = plan_shared(&machine, &networks, &shares, on, &control).unwrap();
        assert_eq!(shared.document.takes_turns, takes_turns);
        let latencies = shared.simulated_latencies;
        assert_eq!(latencies.is_some(), takes_turns);
        assert!(latencies.iter().all(|own| deadline.is_none_or(|deadline| own[1] <= deadline)));
        files::write(&source.schedule, &files::to_json(&shared.document).unwrap()).unwrap();
        let set = &Loaded::read(&machine, &source, &control).unwrap().sets[0];

        let options = undisturbed(&costs, 300);
        let simulated = simulate(&machine, set, &options, &control).unwrap();
        for (own, Simulated { simulation, table, .. }) in set.iter().zip(&simulated) {
            assert_eq!(own.missed(simulation, table, &options), [], "{}", own.network.name());
        }
        for own in shared.document.networks.iter().filter(|_| !takes_turns) {
            let promised = &own.schedule.predicted;
            let watts = promised.joules_per_frame.unwrap() / promised.period_seconds;
            assert!((promised.watts.unwrap() / watts - 1.0).abs() < 1e-9, "{watts} W of {}", own.schedule.model.name);
        }
        let found = Rounds::of(set, &simulated);
        assert!((found.promised_hertz / shared.document.rounds_per_second - 1.0).abs() < 1e-9);
        assert!((found.simulated_hertz / found.promised_hertz - 1.0).abs() < 0.02, "{found:?}");
        // Each by itself would be faster: they are in each other's way only while all are there.
        let periods = simulated.iter().map(|own| own.simulation.period_seconds());
        assert!(!takes_turns || periods.zip(set).all(|(found, own)| found > own.document.predicted.period_seconds));
        rounds.push(shared.document.rounds_per_second);
    }
    assert!(rounds[0] >= rounds[2] && rounds[2] > rounds[1], "a late deadline costs less than a division: {rounds:?}");
}

#[test]
fn what_does_not_fit_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (machine, control) = (machine(), Control::new());
    let read = |source: &RunSource| match Loaded::read(&machine, source, &control) {
        Ok(_) => panic!("it fits"),
        Err(error) => error.to_string(),
    };
    assert!(read(&source(&folder)).contains("cannot read"));
    let document = planned(&Aim::default()).unwrap().document;
    files::write(&source(&folder).schedule, &files::to_json(&document).unwrap()).unwrap();
    let sizes = ReadOptions::default().with_dimensions([("height".to_owned(), 7)]);
    let message = read(&RunSource { options: sizes, ..source(&folder) });
    assert!(message.contains("schedule.json: the schedule is for fixed sizes, not for other sizes"), "{message}");
    let message = read(&RunSource { model: Some("zoo:alexnet".to_owned()), ..source(&folder) });
    assert!(message.contains("is for the model 'squeezenet'"), "{message}");
    let message = read(&RunSource { model: Some("missing.onnx".to_owned()), ..source(&folder) });
    assert!(message.contains("missing.onnx"), "{message}");
}

/// No processor runs SqueezeNet in 60 ms, but several do together; in 40 ms nobody does.
#[test]
fn deadlines_that_need_several_processors_are_kept_with_them() {
    let (machine, control) = (machine(), Control::new());
    let costs = fixture("costs", "hikey-970");
    let networks = [network("squeezenet"), network("tiny-darknet")];
    let with_margin = |milliseconds: u64, margin: f64| {
        let deadline = Some(Duration::from_millis(milliseconds));
        let shares = [NetworkShare { deadline, margin, ..NetworkShare::default() }, NetworkShare::default()];
        plan_shared(&machine, &networks, &shares, PlanOn::Costs(CostSource::Models(&costs)), &control)
    };
    let within = |milliseconds: u64| with_margin(milliseconds, 0.0);
    let shared = within(60).unwrap().document;
    let hurried = &shared.networks[0].schedule;
    assert!(!shared.takes_turns && hurried.configuration.contains('+'), "{}", hurried.configuration);
    assert!(hurried.predicted.latency_seconds <= 0.06);
    let Err(refused) = within(40) else { panic!("nothing is so quick") };
    assert!(refused.to_string().contains("'squeezenet' takes"), "{refused}");

    // A margin is planned for, and the deadline stays what it is.
    let careful = with_margin(75, 0.25).unwrap().document;
    assert_eq!(careful.networks[0].schedule.stages, hurried.stages);
    assert_eq!((careful.networks[0].deadline_seconds, careful.networks[0].margin), (Some(0.075), Some(0.25)));
    assert!(with_margin(45, 0.25).is_err() && with_margin(60, -0.1).is_err() && with_margin(60, f64::NAN).is_err());
}

/// Within 80 ms, SqueezeNet needs more cores by itself than MobileNet can do without, unless several of them work on
/// each frame.
#[test]
fn deadlines_that_cost_rounds_are_kept_with_several_processors() {
    let (machine, control) = (machine(), Control::new());
    let costs = fixture("costs", "hikey-970");
    let networks = [network("squeezenet"), network("mobilenet-v1")];
    let within = |milliseconds: u64| {
        let deadline = Some(Duration::from_millis(milliseconds));
        let shares = [NetworkShare { deadline, ..NetworkShare::default() }, NetworkShare::default()];
        plan_shared(&machine, &networks, &shares, PlanOn::Costs(CostSource::Models(&costs)), &control).unwrap().document
    };
    let found = [70, 80, 250].map(within);
    let rounds = found.each_ref().map(|own| own.rounds_per_second);
    let has_teams = |place: usize| found[place].networks.iter().any(|own| own.schedule.configuration.contains('+'));
    assert!(rounds.is_sorted() && rounds[1] > 1.3 * rounds[0], "{rounds:?}");
    assert!(has_teams(1) && !has_teams(2));
}

#[test]
fn what_can_not_be_simulated_is_said_and_a_simulation_can_be_ended() {
    let (machine, costs) = (machine(), fixture("costs", "hikey-970"));
    let document = planned(&Aim::default()).unwrap().document;
    let set = [Scheduled::alone(network("squeezenet"), document, machine.board()).unwrap()];
    let said = |options: &SimulateOptions<'_>, control: &Control| match simulate(&machine, &set, options, control) {
        Ok(_) => panic!("it was simulated"),
        Err(error) => error.to_string(),
    };
    let control = Control::new();
    assert!(said(&undisturbed(&costs, 0), &control).contains("1 is the fewest"));
    for hertz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut options = undisturbed(&costs, 5);
        options.frame_rate_hertz = Some(hertz);
        assert!(said(&options, &control).contains("must be a number above 0"), "{hertz}");
    }
    let mut empty = undisturbed(&costs, 5);
    empty.frames_in_flight = Some(0);
    assert!(said(&empty, &control).contains("the number of frames in flight is 0"));
    let ended = Control::new().cancelled_by(|| true);
    assert!(matches!(simulate(&machine, &set, &undisturbed(&costs, 100_000), &ended), Err(Error::Interrupted)));
}

#[test]
fn a_missing_profile_is_an_error_of_its_own() {
    let no_profile = CostSource::Cached.table(&network("alexnet"), &machine());
    assert!(matches!(no_profile, Err(Error::NoProfile { network, .. }) if network.source == "zoo:alexnet"));
}

#[test]
fn planning_on_this_machine_needs_it() {
    let told: Arc<Mutex<usize>> = Arc::default();
    let count = Arc::clone(&told);
    let control = Control::new().observed_by(move |event| {
        *count.lock().unwrap() += usize::from(matches!(event, Event::Progress(_)));
    });
    // A core that no machine has.
    let board = Machine::of_board(millstream_test_support::board("B1#100000"));
    let refused = board.plan(network("squeezenet"), &Aim::default(), &control);
    assert!(matches!(refused, Err(Error::NotHere { core, .. }) if core.0 == 100_000));
    assert_eq!(*told.lock().unwrap(), 0, "nothing was begun");
}

#[test]
fn every_network_needs_a_share_with_a_weight() {
    let costs = fixture("costs", "hikey-970");
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let networks = [network("squeezenet"), network("mobilenet-v1")];
    let refused = |shares: &[NetworkShare]| match plan_shared(&machine(), &networks, shares, on, &Control::new()) {
        Ok(_) => panic!("{shares:?} were accepted"),
        Err(error) => error.to_string(),
    };
    assert!(refused(&[NetworkShare::default()]).contains("2 networks and 1 shares"));
    assert!(
        refused(&[NetworkShare::default(), NetworkShare { weight: 1e6, ..NetworkShare::default() }])
            .contains("differ by 1000000 times")
    );
    assert!(
        refused(&[NetworkShare::default(), NetworkShare { weight: f64::NAN, ..NetworkShare::default() }])
            .contains("NaN")
    );
}

/// With engines left out, what needs them says which feature brings them.
#[test]
#[cfg(not(feature = "ort"))]
fn without_an_engine_nothing_runs() {
    let machine = Machine::detect().unwrap();
    let refused = machine.profile(&network("squeezenet"), Duration::from_millis(1), &Control::new());
    assert!(matches!(refused, Err(Error::MissingFeature { feature: "ort", .. })));
}

#[test]
#[cfg(all(feature = "ort", not(feature = "wgpu")))]
fn without_an_engine_for_gpus_nothing_runs_there() {
    let machine = Machine::detect().unwrap();
    let gpu = r#"{"label": "G", "kind": "gpu"}"#;
    let accelerators = vec![serde_json::from_str(gpu).unwrap()];
    let machine = Machine::of_board(machine.board().with_accelerators(accelerators).unwrap());
    let refused = machine.profile(&network("squeezenet"), Duration::from_millis(1), &Control::new());
    assert!(matches!(refused, Err(Error::NoEngine { feature: Some("wgpu"), .. })));
}

/// The least of stages on single processors is said to be exact only where a schedule reaches it: not where unlike
/// replicas wait for each other before a link.
#[test]
fn the_least_on_single_processors_is_what_can_be_reached() {
    let mut builder = ModelBuilder::new("two");
    let mut made = builder.input("x", [1, 8, 16, 16]);
    for _ in 0..2 {
        let filter = builder.weight("filter", &Weight::from_f32([8, 8, 1, 1], vec![0.1; 64]));
        made = builder.node("Conv", &[&made, &filter]);
    }
    builder.output(&made);
    let network = Network::of_model(Arc::new(builder.build().unwrap()), "two", ReadOptions::default());
    let machine = Machine::of_board(millstream_test_support::board("c1+d3"));

    let board = machine.board();
    let mut table = CostTable::new(network.graph().operators().len(), board.processor_classes());
    let class = |cluster: &str, count| ProcessorClass::new(cluster, count);
    for (cluster, count, operator, time) in [("c", 1, 0, 100), ("d", 1, 1, 1000), ("d", 2, 1, 300), ("d", 3, 1, 300)] {
        table.set_time(table.find(&class(cluster, count)).unwrap(), OperatorId::new(operator), Nanoseconds(time));
    }
    let [from, to] = [class("c", 1), class("d", 1)].map(|own| table.find(&own).unwrap());
    let least = |table: &CostTable| {
        let source = PlanOn::Costs(CostSource::Table(table));
        let planned = plan(&machine, &network, &Aim::default(), source, &Control::new()).unwrap();
        (planned.plans.best_on_single_processors, planned.plan.period)
    };
    let (free, period) = least(&table);
    assert_eq!(free, Some(period));
    let seconds_per_byte = 300e-9 / (4.0 * 8.0 * 16.0 * 16.0);
    let hand_over = HandOver { seconds: 0.0, seconds_per_byte };
    table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: seconds_per_byte });
    // Processors that work on one frame together pass more than these.
    let (held_up, slower) = least(&table);
    assert!(held_up.is_none() && slower > period, "{held_up:?} {slower}");
}
