//! The engine of the cores: it is recorded with times and plans, and may differ from cluster to cluster.

#![cfg(all(feature = "ort", feature = "openvino"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_api::{
    Aim, AskedEngines, Control, CostSource, EngineName, EngineOptions, EngineSet, Event, Machine, Network, ReadOptions,
    ReducedPrecision, RunLength, RunOptions, Scheduled, Stream, Tensor, TurnOptions, compare, engines, files, run,
};
use millstream_board::{Board, Processor};
use millstream_graph::OperatorId;
use millstream_onnx::{Attributes, ModelBuilder, Weight};
use millstream_schedule::{Prediction, Replica, Schedule, ScheduleDocument, Stage};
use millstream_test_support::not_tested;

/// Whether set-up could fetch OpenVINO for this machine. That what was fetched can be loaded is another test's.
fn has_openvino() -> bool {
    let is_there = std::env::var_os("OPENVINO_INSTALL_DIR").is_some_and(|folder| Path::new(&folder).exists());
    if !is_there {
        not_tested("OPENVINO", "there is no OpenVINO here");
    }
    is_there
}

fn small() -> Network {
    let mut builder = ModelBuilder::new("small");
    let mut map = builder.input("image", [1, 8, 16, 16]);
    for layer in 0..4 {
        let values = (0..8 * 8 * 9).map(|index| ((index * 7 + layer) % 13) as f32 / 40.0 - 0.1).collect();
        let filter = builder.weight("filter", &Weight::from_f32([8, 8, 3, 3], values));
        map = builder.node_with("Conv", &[&map, &filter], Attributes::new().ints("pads", &[1, 1, 1, 1]));
        map = builder.node("Relu", &[&map]);
    }
    builder.output(&map);
    Network::of_model(Arc::new(builder.build().unwrap()), "small", ReadOptions::default())
}

fn results(machine: &Machine, scheduled: &Scheduled) -> Vec<f32> {
    let frame =
        || vec![Tensor::from_f32([1, 8, 16, 16], (0..8 * 16 * 16).map(|index| (index % 17) as f32 / 17.0).collect())];
    let stream = Stream::start(machine, scheduled, &EngineOptions::default()).unwrap();
    let results: Vec<_> = stream.run((0..3).map(|_| frame())).map(|result| result.outcome.unwrap()).collect();
    assert_eq!(results.len(), 3);
    results[0][0].as_f32().unwrap().to_vec()
}

fn agree(one: &[f32], other: &[f32]) {
    let largest = one.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    assert!(largest > 0.0 && one.len() == other.len());
    assert!(one.iter().zip(other).all(|(one, other)| (one - other).abs() <= 1e-5 * largest));
}

#[test]
fn the_engine_is_recorded_with_times_and_plans() {
    if !has_openvino() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let usual = Machine::detect().unwrap().with_cache_folder(folder.path());
    let other = usual.clone().with_engines(EngineName::OpenVino);
    assert_ne!(usual.board().fingerprint(), other.board().fingerprint(), "their times are different ones");
    let control = Control::new();
    let profile = other.profile(&small(), Duration::from_millis(200), &control).unwrap();
    assert!(profile.check_board(other.board()).is_ok() && profile.check_board(usual.board()).is_err());
    let scheduled = other.plan(small(), &Aim::default(), &control).unwrap();
    let engines = &scheduled.document.board.engines;
    assert!(engines.values().all(|engines| *engines == EngineName::OpenVino.into()) && !engines.is_empty());

    // From its file it is run with the engine that it was planned for, unless another one is asked for.
    let text = files::to_json(&scheduled.document).unwrap();
    let document = ScheduleDocument::from_json(&text).unwrap();
    let planned = usual.as_planned(&document);
    assert_eq!(planned.board().fingerprint(), other.board().fingerprint());
    let again = Scheduled::alone(small(), document, usual.board()).unwrap();
    let with_openvino = results(&usual, &again);
    assert_eq!(with_openvino, results(&other, &again), "the same engine gives the same bits");
    let asked = usual.clone().with_engines(EngineName::OnnxRuntime);
    assert!(asked.as_planned(&again.document).board().engines().is_empty());
    let refused = Stream::start(&asked, &again, &EngineOptions::default()).err().unwrap().to_string();
    assert!(refused.contains("does not compute with openvino, only with onnxruntime"), "{refused}");
    agree(&with_openvino, &results(&asked, &again.with_engines_of(&asked)));

    // Costs in a file bring their engine along.
    let path = folder.path().join("profile.json");
    files::write(&path, &files::to_json(&profile).unwrap()).unwrap();
    let costs = CostSource::Profile(&path);
    assert_eq!(costs.machine(&usual).unwrap().board().fingerprint(), other.board().fingerprint());
    let refused = costs.machine(&asked).unwrap_err().to_string();
    assert!(
        refused.contains("the costs are of the engines openvino on ") && refused.contains("not of onnxruntime on "),
        "{refused}"
    );
}

/// What the search found runs as it is, with whatever engines it chose.
#[test]
fn a_plan_may_have_any_of_several_engines() {
    if !has_openvino() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let usual = Machine::detect().unwrap().with_cache_folder(folder.path());
    let both = usual.clone().with_engines(EngineSet::all());
    let control = Control::new();
    let profile = both.profile(&small(), Duration::from_millis(400), &control).unwrap();
    let measured = &profile.networks[0];
    for engine in EngineName::BUILT_IN {
        let is_measured = measured.operator_samples.iter().any(|sample| sample.processor.engine == engine);
        assert!(is_measured, "{engine} was looked at");
        let is_left_out = measured.left_out.iter().any(|own| own.engine == engine);
        let has_segments = measured.samples.iter().any(|sample| sample.processor.engine == engine);
        assert_ne!(is_left_out, has_segments, "what is left out is not measured further");
    }
    let planned = both.plan(small(), &Aim::default(), &control).unwrap();
    let document = ScheduleDocument::from_json(&files::to_json(&planned.document).unwrap()).unwrap();
    let again = Scheduled::alone(small(), document, usual.board()).unwrap();
    assert_eq!(again.schedule, planned.schedule, "engines are kept in the file");
    let plain = both
        .plan(small(), &Aim::default(), &control)
        .unwrap()
        .with_engines_of(&usual.clone().with_engines(EngineName::OnnxRuntime));
    agree(&results(&usual, &again), &results(&usual.with_engines(EngineName::OnnxRuntime), &plain));
}

/// A stage of operators on a processor.
fn on(processor: Processor, operators: &[OperatorId]) -> Stage {
    Stage { replicas: vec![Replica::single(processor, operators.to_vec())] }
}

/// What a network makes of the frame with these stages.
fn by_hand(machine: &Machine, network: Network, stages: Vec<Stage>) -> Vec<f32> {
    let predicted = Prediction {
        period_seconds: 1.0,
        latency_seconds: 1.0,
        is_measured: false,
        lower_bound_period_seconds: 0.0,
        searched: None,
        replica_seconds: Vec::new(),
        joules_per_frame: None,
        watts: None,
    };
    let (schedule, objective) = (Schedule { stages }, millstream_api::Objective::Throughput);
    let document = millstream_api::document(&schedule, predicted, "by hand", objective, &network, machine.board());
    results(machine, &Scheduled::alone(network, document, machine.board()).unwrap())
}

#[test]
fn clusters_may_have_different_engines() {
    if !has_openvino() {
        return;
    }
    let detected = Machine::detect().unwrap();
    let document = detected.board().to_document();
    let Some(first) = document.clusters.iter().find(|cluster| cluster.cores.len() > 1) else {
        return not_tested("CORES", "no cluster has several cores");
    };
    let (mut left, mut right) = (first.clone(), first.clone());
    left.cores.truncate(1);
    right.cores = first.cores[1..].to_vec();
    (right.label, right.engines) = ("o".to_owned(), EngineName::OpenVino.into());
    let (left_core, right_core) = (left.cores[0].id.0, right.cores[0].id.0);
    let label = left.label.clone();
    let board = Board::try_from(millstream_board::BoardDocument { clusters: vec![left, right], ..document }).unwrap();
    let machine = Machine::of_board(board);
    let used: Vec<_> = engines(&machine).into_iter().filter(|report| !report.used_by.is_empty()).collect();
    assert!(used.iter().any(|report| report.engine == "openvino" && report.used_by == ["o"]), "{used:?}");

    let network = small();
    let graph = Arc::clone(network.graph());
    let (head, tail) = graph.order().split_at(4);
    let run = |stages: Vec<Stage>| by_hand(&machine, small(), stages);
    let (one, other) =
        (Processor::new(&label, [left_core]), Processor::new("o", [right_core]).with_engine(EngineName::OpenVino));
    let whole = run(vec![on(one.clone(), graph.order())]);
    agree(&whole, &run(vec![on(one.clone(), head), on(other.clone(), tail)]));
    agree(&whole, &run(vec![on(other, head), on(one, tail)]));
}

/// Convolutions before and after two operators with floats of 64 bits, which OpenVINO refuses.
fn with_refused_operators() -> Network {
    let mut builder = ModelBuilder::new("refused");
    let mut map = builder.input("image", [1, 8, 16, 16]);
    let filters = |layer: usize| {
        let values = (0..8 * 8 * 9).map(|index| ((index * 7 + layer) % 13) as f32 / 40.0 - 0.1).collect();
        Weight::from_f32([8, 8, 3, 3], values)
    };
    for layer in 0..6 {
        let filter = builder.weight("filter", &filters(layer));
        map = builder.node_with("Conv", &[&map, &filter], Attributes::new().ints("pads", &[1, 1, 1, 1]));
        if layer == 2 {
            let wide = builder.node_with("Cast", &[&map], Attributes::new().int("to", 11));
            map = builder.node_with("Cast", &[&wide], Attributes::new().int("to", 1));
        }
    }
    builder.output(&map);
    Network::of_model(Arc::new(builder.build().unwrap()), "refused", ReadOptions::default())
}

/// Notes what is told of some kinds.
fn noting(wanted: fn(&Event<'_>) -> Option<String>) -> (Control, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let control = Control::new().observed_by(move |event| heard.lock().unwrap().extend(wanted(event)));
    (control, said)
}

/// An engine that refuses an operator is measured on the others.
#[test]
fn an_engine_is_measured_on_what_it_does_not_refuse() {
    if !has_openvino() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let both = Machine::detect().unwrap().with_cache_folder(folder.path()).with_engines(EngineSet::all());
    let network = with_refused_operators();
    let (control, said) = noting(|event| match event {
        Event::LeftOut(left_out) => Some(left_out.to_string()),
        Event::Unsupported(text) => Some((*text).to_owned()),
        _ => None,
    });
    let profile = both.profile(&network, Duration::from_millis(800), &control).unwrap();
    let known = &profile.networks[0];
    assert_eq!(known.unsupported.len(), both.board().clusters().len());
    let operators: Vec<_> = known.operators().collect();
    for unsupported in &known.unsupported {
        let named: Vec<&str> = unsupported.operators.iter().map(|&place| operators[place].op_type.as_str()).collect();
        assert_eq!((unsupported.engine, &named[..]), (EngineName::OpenVino, &["Cast", "Cast"][..]));
        let traced = known.operator_samples.iter().filter(|sample| unsupported.concerns(&sample.processor));
        let traced: BTreeSet<usize> = traced.flat_map(|sample| sample.operators.clone()).collect();
        let others = (0..operators.len()).filter(|place| !unsupported.operators.contains(place));
        assert_eq!(traced, others.collect(), "both stretches are measured");
    }
    // Either that it refuses some, or that what it runs can't help.
    let said = said.lock().unwrap();
    let of_engines = said.iter().filter(|text| text.contains("does not run") || text.contains("is left out"));
    assert_eq!(of_engines.count(), known.unsupported.len(), "{said:?}");

    // Where it is not left out, it may run what it does not refuse.
    let path = folder.path().join("profile.json");
    files::write(&path, &files::to_json(&profile).unwrap()).unwrap();
    let table = CostSource::Profile(&path).table(&network, &both).unwrap();
    let order = network.chain().operators(network.chain().whole());
    for class in both.board().core_classes().filter(|class| class.engine == EngineName::OpenVino) {
        let is_left_out = known.left_out.iter().any(|own| own.concerns(&class));
        let processor = table.find(&class).unwrap();
        let runs = |place: usize| table.time(processor, order[place]).is_some();
        let refused = |place: usize| known.unsupported.iter().any(|own| own.operators.contains(&place));
        assert!((0..order.len()).all(|place| !(runs(place) && refused(place))), "{class}");
        assert_eq!((0..order.len()).any(runs), !is_left_out, "{class}");
    }
}

/// What an engine refuses is run by another one, in whatever is planned and in plans by hand.
#[test]
fn what_an_engine_refuses_is_run_by_another() {
    if !has_openvino() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let usual = Machine::detect().unwrap().with_cache_folder(folder.path());
    let both = usual.clone().with_engines(EngineSet::all());
    let planned = both.plan(with_refused_operators(), &Aim::default(), &Control::new()).unwrap();
    let plain = usual.clone().with_engines(EngineName::OnnxRuntime);
    let expected = plain.plan(with_refused_operators(), &Aim::default(), &Control::new()).unwrap();
    let expected = results(&plain, &expected);
    agree(&results(&both, &planned), &expected);

    // It is no rival, and says so.
    let network = with_refused_operators();
    let (control, said) = noting(|event| match event {
        Event::Warning(text) if text.starts_with("OpenVINO is no rival: ") => Some((*text).to_owned()),
        _ => None,
    });
    let turns = TurnOptions::new(1).with_turn(Duration::from_millis(100));
    let contest = compare(&both, &network, &turns, Duration::from_millis(400), &control).unwrap();
    let mut rivals = contest.contenders.iter().filter(|contender| contender.rival.is_some()).peekable();
    assert!(rivals.peek().is_some() && rivals.all(|rival| !rival.name.contains("OpenVINO")));
    assert_eq!(said.lock().unwrap().len(), 1, "{said:?}");

    let Some(cluster) = both.board().clusters().iter().find(|cluster| cluster.cores.len() > 1) else {
        return not_tested("CORES", "no cluster has several cores");
    };
    let [one, other] = [0, 1].map(|place: usize| cluster.processor([cluster.cores[place].id]));
    let other = other.with_engine(EngineName::OpenVino);
    let order = network.graph().order();
    let casts: Vec<usize> =
        (0..order.len()).filter(|&place| network.graph().operator(order[place]).op_type == "Cast").collect();
    let (accepted, rest) = order.split_at(casts[0]);
    let (first, last) = order.split_at(casts[1] + 1);
    let run = |stages| by_hand(&both, with_refused_operators(), stages);
    agree(&run(vec![on(one.clone(), first), on(other.clone(), last)]), &expected);
    agree(&run(vec![on(other, accepted), on(one, rest)]), &expected);
}

/// Nobody gets less precision than the model says by asking for all engines; by its name it is an engine like others.
#[test]
fn less_precision_is_an_engine_of_its_own() {
    if !has_openvino() {
        return;
    }
    let reduced = ReducedPrecision::ALL.map(EngineName::OpenVinoWith);
    assert!(reduced.iter().all(|engine| !EngineSet::all().contains(*engine)));

    let folder = tempfile::tempdir().unwrap();
    let usual = Machine::detect().unwrap().with_cache_folder(folder.path());
    let control = Control::new();
    usual.profile(&small(), Duration::from_millis(200), &control).unwrap();
    let plain = usual.plan(small(), &Aim::default(), &control).unwrap();
    let expected = results(&usual, &plain);
    let bits = |engine: EngineName| {
        let machine = usual.clone().asked_to_use(&engine.into()).unwrap();
        machine.profile(&small(), Duration::from_millis(200), &control).unwrap();
        let planned = machine.plan(small(), &Aim::default(), &control).unwrap();
        assert!(planned.schedule.processors().all(|processor| processor.engine == engine), "{}", planned.schedule);
        results(&machine, &planned)
    };
    // Nothing is quantised here.
    assert_eq!(bits(reduced[0]), bits(EngineName::OpenVino));
    // A thousandth and a hundredth for each of four layers, where the processor has the instructions.
    for (engine, tolerance) in [(reduced[1], 4e-3), (reduced[2], 4e-2)] {
        if !has_instructions_for(engine) {
            let machine = usual.clone().asked_to_use(&engine.into()).unwrap();
            let refused = machine.profile(&small(), Duration::from_millis(200), &control).unwrap_err().to_string();
            let label = &machine.board().clusters()[0].label;
            let expected =
                format!("{engine} runs nothing on {label}: this processor has no instructions for floats of 16 bits");
            assert!(
                refused.starts_with(&expected) && refused.ends_with("; openvino computes as the model says"),
                "{refused}"
            );
            continue;
        }
        let made = bits(engine);
        let largest = expected.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        assert_eq!(made.len(), expected.len());
        let is_near = |(one, other): (&f32, &f32)| (one - other).abs() <= tolerance * largest;
        assert!(made.iter().zip(&expected).all(is_near), "{engine}");
    }
}

/// Whether a row of the engines says that it can be used.
fn has_instructions_for(engine: EngineName) -> bool {
    engines(&Machine::detect().unwrap()).iter().any(|row| row.engine == engine.name() && row.version.is_ok())
}

/// What stages with less precision do to a frame is no defect: the check knows which precisions the board computes with.
#[test]
fn precisions_that_differ_from_stage_to_stage_pass_the_check_of_a_run() {
    if !has_openvino() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let asked: AskedEngines = "onnxruntime,openvinobf16".parse().unwrap();
    let machine = Machine::detect().unwrap().with_cache_folder(folder.path()).asked_to_use(&asked).unwrap();
    let control = Control::new();
    machine.profile(&small(), Duration::from_millis(200), &control).unwrap();
    let planned = machine.plan(small(), &Aim::default(), &control).unwrap();

    let Some(cluster) = machine.board().clusters().iter().find(|cluster| cluster.cores.len() > 1) else {
        return not_tested("CORES", "no cluster has several cores");
    };
    let bf16 = EngineName::OpenVinoWith(ReducedPrecision::Bf16);
    if !has_instructions_for(bf16) {
        return not_tested("BF16", "this processor has no instructions for it");
    }
    let network = small();
    let (head, tail) = network.graph().order().split_at(4);
    let stage = |core: usize, engine, operators: &[_]| {
        let processor = cluster.processor([cluster.cores[core].id]).with_engine(engine);
        Stage { replicas: vec![Replica::single(processor, operators.to_vec())] }
    };
    let stages = vec![stage(0, bf16, head), stage(1, EngineName::OnnxRuntime, tail)];
    let mixed = Scheduled { schedule: Schedule { stages }, ..planned };
    let mut options = RunOptions::default();
    options.length = RunLength::Frames(4);
    let outcomes = run(&machine, &[mixed], &options, &control).unwrap();
    let report = &outcomes[0].report;
    assert_eq!((report.failed_frames, report.reference_engine), (0, EngineName::OnnxRuntime));
    assert!(report.largest_difference > 1e-4, "{}", report.largest_difference);
}
