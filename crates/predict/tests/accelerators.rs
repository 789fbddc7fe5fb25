//! The co-scheduling paper's model, fitted to phases and in cost tables.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor, Provenance};
use millstream_graph::OperatorKind;
use millstream_partition::Chain;
use millstream_predict::calibration::AcceleratorCostModel;
use millstream_predict::published::{AcceleratorFit, AcceleratorModel, Buffering, Coherence, ConvolutionSize, Phases};
use millstream_predict::samples::{GranularityRecord, OperatorRecord, OperatorSample, SampleConditions};
use millstream_predict::{
    ConvolutionChoice, ConvolutionFormula, CostModels, FormulaName, Line, NetworkProfile, PredictError, Profile,
    Statistics, accelerator_of,
};

const HEADER: &str = "input_elements,filter_elements,output_elements,filters,normalisation_elements,computation_seconds,transfer_seconds";
const COHERENCE: &str = ",flush_seconds,invalidation_seconds,total_seconds";

/// Ultra96 in table 2, with four processing elements.
fn truth(coherence: Coherence, buffering: Buffering) -> AcceleratorModel {
    let line = |slope: f64, intercept: f64| Line::new(slope, intercept).scaled(1e-6);
    let is_software = coherence == Coherence::Software;
    let flushed = |slope, intercept| if is_software { line(slope, intercept) } else { Line::new(0.0, 0.0) };
    AcceleratorModel {
        computation: line(0.099999, 0.237558),
        transfer: line(0.01, 2.697551),
        flush: flushed(0.008811, 0.514771),
        invalidation: flushed(0.008812, 1.663402),
        processing_elements: 4,
        coherence,
        buffering,
    }
}

/// A table of what the model says of layers of many sizes, every value multiplied by what `noise` says of its number.
fn table(model: &AcceleratorModel, noise: impl Fn(usize) -> f64) -> String {
    let is_software = model.coherence == Coherence::Software;
    let mut text = format!("{HEADER}{}\n", if is_software { COHERENCE } else { "" });
    for (row, (map, channels)) in [(7, 160), (14, 96), (15, 48), (28, 32), (29, 32), (57, 16)].into_iter().enumerate() {
        for (column, (kernel, filters)) in [(1, 64), (3, 30), (3, 161)].into_iter().enumerate() {
            let (input, filter, output) = (map * map * channels, kernel * kernel * channels, map * map);
            let size = ConvolutionSize { input, filter, output, normalisation: 2 * filters, filters };
            let own = model.latency(&size, filters);
            let mut phases = vec![own.computation_seconds, own.transfer_seconds];
            if is_software {
                phases.extend([own.flush_seconds, own.invalidation_seconds, own.total_seconds]);
            }
            let sizes = [input, filter, output, filters, 2 * filters].map(|size| size.to_string()).join(",");
            let seconds = phases
                .iter()
                .enumerate()
                .map(|(position, seconds)| format!("{:e}", seconds * noise(20 * row + 5 * column + position)));
            text += &format!("{sizes},{}\n", seconds.collect::<Vec<_>>().join(","));
        }
    }
    text
}

fn is_close(one: Line, other: Line, part: f64) -> bool {
    (one.slope / other.slope - 1.0).abs() < part && (one.intercept / other.intercept - 1.0).abs() < part
}

#[test]
fn lines_are_recovered_with_their_errors() {
    for (coherence, buffering) in [
        (Coherence::Software, Buffering::Single),
        (Coherence::Software, Buffering::Double),
        (Coherence::Interconnect, Buffering::Single),
    ] {
        let truth = truth(coherence, buffering);
        let fitted = AcceleratorFit::to(&Phases::from_csv(&table(&truth, |_| 1.0)).unwrap(), 4, buffering).unwrap();
        assert_eq!((fitted.model.coherence, fitted.model.buffering), (coherence, buffering));
        assert!(is_close(fitted.model.computation, truth.computation, 1e-6));
        assert!(is_close(fitted.model.transfer, truth.transfer, 1e-6));
        if coherence == Coherence::Software {
            assert!(is_close(fitted.model.flush, truth.flush, 1e-6));
            assert!(is_close(fitted.model.invalidation, truth.invalidation, 1e-6));
            assert!(fitted.total_error.is_some_and(|error| error < 1e-6));
        } else {
            assert_eq!((fitted.lines.len(), fitted.total_error), (2, None));
        }
    }

    // Alternately 2 % more and less.
    let noisy =
        table(&truth(Coherence::Software, Buffering::Single), |position| if position % 2 == 0 { 1.02 } else { 0.98 });
    let fitted = AcceleratorFit::to(&Phases::from_csv(&noisy).unwrap(), 4, Buffering::Single).unwrap();
    for own in &fitted.lines {
        assert!((0.01..0.021).contains(&own.error) && own.r_squared > 0.99, "{own:?}");
        assert!(own.unseen_error.is_some_and(|unseen| unseen > own.error), "{own:?}");
        assert!(own.standard_errors.iter().all(|&error| error > 0.0));
    }
    let (own, truth) = (&fitted.lines[0], truth(Coherence::Software, Buffering::Single).computation);
    let off = [own.line.slope - truth.slope, own.line.intercept - truth.intercept];
    for (off, error) in off.iter().zip(own.standard_errors) {
        assert!(off.abs() < 4.0 * error, "{off} of {error}");
    }
    // With another number of processing elements, times of waves are no line any more.
    let other = AcceleratorFit::to(&Phases::from_csv(&noisy).unwrap(), 64, Buffering::Single).unwrap();
    assert!(other.lines[0].error > 0.1);
}

#[test]
fn phases_that_determine_no_model_are_refused() {
    let whole = table(&truth(Coherence::Interconnect, Buffering::Single), |_| 1.0);
    let fit = |text: &str| AcceleratorFit::to(&Phases::from_csv(text).unwrap(), 4, Buffering::Single);
    let lines = |count: usize| whole.lines().take(count).collect::<Vec<_>>().join("\n");
    assert!(fit(&lines(3)).unwrap_err().to_string().contains("there are 2 convolutions and 3 are needed"));
    let same = format!("{}\n{}", lines(2), [whole.lines().nth(1).unwrap(); 3].join("\n"));
    assert!(fit(&same).unwrap_err().to_string().contains("equation 2 (computation): all convolutions have the same"));
    let falling = format!("{HEADER}\n100,9,4,4,0,5e-3,1\n100,18,4,4,0,4e-3,2\n100,27,4,4,0,3e-3,3\n");
    assert!(fit(&falling).unwrap_err().to_string().contains("more elements would take less time"));
}

fn fixture(folder: &str, name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../fixtures/{folder}/{name}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn cost_tables_take_what_equations_3_to_9_say() {
    let board = Board::from_json(&fixture("boards", "ultra96-4pe")).unwrap();
    assert_eq!(accelerator_of(&board, None), Ok(("F", 4)));
    let slower = AcceleratorModel { transfer: Line::new(1e-6, 1e-3), ..truth(Coherence::Software, Buffering::Single) };
    let models = CostModels::from_json(&fixture("costs", "ultra96-4pe")).unwrap();
    let count = models.accelerators.len();
    let models = models.with_accelerator(&board, "F", slower).unwrap();
    assert_eq!(models.accelerators.len(), count, "what was known of it is replaced");

    let models = CostModels::from_json(&serde_json::to_string(&models).unwrap()).unwrap();
    let network = millstream_zoo::build("squeezenet").unwrap();
    let (graph, chain) = (network.graph(), Chain::of(network.graph()));
    let table = models.table(&board, network.digest(), graph, &chain).unwrap();
    let accelerator = table.class_ids().last().unwrap();
    let mut convolutions = 0;
    for id in graph.operator_ids() {
        let (operator, time) = (graph.operator(id), table.time(accelerator, id));
        let OperatorKind::Convolution(_) = &operator.kind else {
            assert_eq!(time, None, "{}", operator.name);
            continue;
        };
        let gemm = operator.work.gemm.unwrap();
        let size = ConvolutionSize {
            input: operator.work.input_bytes / 4,
            filter: gemm.k,
            output: gemm.n,
            normalisation: 0,
            filters: gemm.m,
        };
        let expected = slower.latency(&size, size.filters).total_seconds;
        assert!((time.unwrap().seconds() - expected).abs() < 2e-9, "{}", operator.name);
        convolutions += 1;
    }
    assert_eq!(convolutions, 26);
}

#[test]
fn accelerators_of_other_boards_are_refused() {
    let model = truth(Coherence::Software, Buffering::Single);
    let board = |name| Board::from_json(&fixture("boards", name)).unwrap();
    let models = || CostModels::from_json(&fixture("costs", "ultra96-4pe")).unwrap();
    let refused = |name, label| models().with_accelerator(&board(name), label, model).unwrap_err();
    assert!(refused("hikey-970", "F").to_string().contains("'HiKey970' has no accelerator; add it"));
    assert!(refused("ultra96-4pe", "N").to_string().contains("has no accelerator 'N'; it has F"));
    assert!(matches!(refused("zed-2pe", "F"), PredictError::OtherBoard { .. }));
    // Cores are the same where the accelerator is not there yet.
    let bare = board("ultra96-4pe").with_accelerators(Vec::new()).unwrap();
    let cores = CostModels {
        board: bare.to_document(),
        board_fingerprint: bare.fingerprint(),
        accelerators: Vec::new(),
        ..models()
    };
    let added = cores.with_accelerator(&board("ultra96-4pe"), "F", model).unwrap();
    assert_eq!((added.accelerators.len(), added.board_fingerprint), (1, board("ultra96-4pe").fingerprint()));
    let unknown = accelerator_of(&board("khadas-vim3"), None).map(|_| ()).unwrap_err().to_string();
    assert!(unknown.contains("how many processing elements accelerator G has"), "{unknown}");
    let several = accelerator_of(&board("bst-a1000-like"), None).map(|_| ()).unwrap_err().to_string();
    assert!(several.contains("several accelerators; say which of N, D, E"), "{several}");
}

/// A profile of three networks on a core and an accelerator: there, a convolution takes a nanosecond for 50
/// multiplications with the activation behind it, pooling a nanosecond for ten elements, and nothing else runs.
fn profiled(board: &Board, provenance: Provenance) -> Profile {
    profiled_with(board, provenance, &|own| 2e-11 * own.work.macs as f64)
}

/// The same with these times of convolutions.
fn profiled_with(board: &Board, provenance: Provenance, convolution: &dyn Fn(&OperatorRecord) -> f64) -> Profile {
    let mut profile = Profile::new(board, provenance);
    let (core, gpu) = (Processor::new("B", [0]).class(), Processor::accelerator("G").class());
    for name in ["squeezenet", "alexnet", "vgg16"] {
        let model = millstream_zoo::build(name).unwrap();
        let mut network = NetworkProfile::new(model.digest(), model.graph(), &Chain::of(model.graph()));
        let operators: Vec<_> = network.operators().cloned().collect();
        for (index, own) in operators.iter().enumerate() {
            let mut add = |processor: &millstream_board::ProcessorClass, operators: Vec<usize>, seconds: f64| {
                network.operator_samples.push(OperatorSample {
                    processor: processor.clone(),
                    operators,
                    concurrent: 1,
                    time: Statistics { median_seconds: seconds, mad_seconds: 0.0, repetitions: 9 },
                    conditions: SampleConditions::default(),
                });
            };
            add(&core, vec![index], 1e-6 + 1e-10 * own.work.macs as f64);
            let has_activation = operators.get(index + 1).is_some_and(|next| next.op_type == "Relu");
            match own.op_type.as_str() {
                "Conv" if has_activation => add(&gpu, vec![index, index + 1], convolution(own)),
                "MaxPool" => add(&gpu, vec![index], 2.5e-11 * own.work.input_bytes as f64),
                _ => {}
            }
        }
        profile.networks.push(network);
    }
    profile
}

#[test]
fn what_was_measured_of_an_accelerator_is_a_model_of_it() {
    let board = millstream_test_support::board("B1+G");
    let provenance = Provenance { tool_version: "0".into(), created: "2026-01-01T00:00:00Z".into() };
    let profile = profiled(&board, provenance.clone());
    let models = CostModels::fit(&profile, provenance).unwrap();
    let read = CostModels::from_json(&serde_json::to_string(&models).unwrap()).unwrap();
    assert_eq!(read, models);

    let model = millstream_zoo::build("vgg19").unwrap();
    let table = read.table(&board, model.digest(), model.graph(), &Chain::of(model.graph())).unwrap();
    let gpu = table.find(&Processor::accelerator("G").class()).unwrap();
    for id in model.graph().operator_ids() {
        let operator = model.graph().operator(id);
        let seconds = table.time(gpu, id).map(|time| time.seconds());
        match operator.op_type.as_str() {
            "Conv" => {
                let expected = 2e-11 * operator.work.macs as f64;
                assert!((seconds.unwrap() / expected - 1.0).abs() < 0.05, "{} of {expected}", seconds.unwrap());
            }
            "Relu" => assert_eq!(seconds, Some(0.0)),
            "MaxPool" => assert!(seconds.unwrap() > 0.0),
            other => assert_eq!(seconds, None, "{other} was never seen there"),
        }
    }
    assert_eq!(read.fitted().map(|own| own.processor.to_string()).collect::<Vec<_>>(), ["B1", "G1"]);

    let broken = serde_json::to_string(&models).unwrap().replacen(
        "\"measured\":{\"model\":{",
        "\"measured\":{\"model\":{\"x\":1,",
        1,
    );
    assert!(CostModels::from_json(&broken).is_err());
    let mut negative = serde_json::to_value(&models).unwrap();
    let first = "/accelerators/0/model/measured/model/pooled/terms/0/seconds";
    *negative.pointer_mut(first).unwrap() = (-1.0).into();
    let message = CostModels::from_json(&negative.to_string()).unwrap_err().to_string();
    assert!(message.contains("accelerators[0].model.measured.model") && message.contains("from 0"), "{message}");
}

fn provenance() -> Provenance {
    Provenance { tool_version: "0".into(), created: "2026-01-01T00:00:00Z".into() }
}

/// What `fit` chose for the convolutions of G.
fn choice(models: &CostModels) -> &ConvolutionChoice {
    let AcceleratorCostModel::Measured(measured) = &models.accelerators[0].model else { panic!("G was measured") };
    measured.convolutions.as_ref().unwrap()
}

/// Seconds of every convolution of VGG19 that the models predict on G, beside what it would take there.
fn predicted(models: &CostModels, board: &Board, truth: &dyn Fn(&OperatorRecord) -> f64) -> Vec<(f64, f64)> {
    let model = millstream_zoo::build("vgg19").unwrap();
    let (graph, chain) = (model.graph(), Chain::of(model.graph()));
    let table = models.table(board, model.digest(), graph, &chain).unwrap();
    let gpu = table.find(&Processor::accelerator("G").class()).unwrap();
    let network = NetworkProfile::new(model.digest(), graph, &chain);
    let operators = chain.blocks().iter().flat_map(|block| &block.operators).zip(network.operators());
    let convolutions = operators.filter(|(_, record)| record.op_type == "Conv");
    convolutions.map(|(&id, record)| (table.time(gpu, id).unwrap().seconds(), truth(record))).collect()
}

/// 48 units that each make a channel at a time, and take 3 ns for an output element and 0.05 ns for each element of
/// the filter.
fn in_waves(own: &OperatorRecord) -> f64 {
    let gemm = own.work.gemm.unwrap();
    (3e-9 + 5e-11 * gemm.k as f64) * (gemm.n * gemm.m.div_ceil(48)) as f64
}

#[test]
fn an_accelerator_that_works_in_waves_is_predicted_by_them() {
    let mut board = millstream_test_support::board("B1+G").to_document();
    board.accelerators[0].processing_elements = Some(48);
    let board = Board::try_from(board).unwrap();
    let models = CostModels::fit(&profiled_with(&board, provenance(), &in_waves), provenance()).unwrap();
    let found = choice(&models);
    let Some(ConvolutionFormula::ProcessingElements(waves)) = &found.formula else { panic!("{found:?}") };
    assert_eq!(waves.processing_elements, 48);
    assert!((waves.computation.slope / 5e-11 - 1.0).abs() < 1e-6, "{waves:?}");
    let of = |name| found.errors[&name];
    assert!(of(FormulaName::ProcessingElements) < 1e-6 && of(FormulaName::Default) > 0.02, "{found:?}");
    assert!(!found.errors.contains_key(&FormulaName::Granularity), "no granularity was measured");

    let read = CostModels::from_json(&serde_json::to_string(&models).unwrap()).unwrap();
    for (seconds, truth) in predicted(&read, &board, &in_waves) {
        assert!((seconds - truth).abs() <= 1e-9, "{seconds} s for {truth} s: more than times are rounded to");
    }

    let mut broken = serde_json::to_value(&models).unwrap();
    let slope = "/accelerators/0/model/measured/convolutions/formula/processing-elements/computation/slope";
    *broken.pointer_mut(slope).unwrap() = (-1.0).into();
    let message = CostModels::from_json(&broken.to_string()).unwrap_err().to_string();
    assert!(message.contains("convolutions.formula") && message.contains("do not fall"), "{message}");
}

/// Where the board does not say how many units there are, the number is what fits.
#[test]
fn the_number_of_processing_elements_is_found() {
    let board = millstream_test_support::board("B1+G");
    let waves = |own: &OperatorRecord| {
        let gemm = own.work.gemm.unwrap();
        (3e-9 + 5e-11 * gemm.k as f64) * (gemm.n * gemm.m.div_ceil(128)) as f64
    };
    let models = CostModels::fit(&profiled_with(&board, provenance(), &waves), provenance()).unwrap();
    let Some(ConvolutionFormula::ProcessingElements(found)) = &choice(&models).formula else { panic!() };
    assert_eq!(found.processing_elements, 128);
}

/// Threads of one output begin cheaply, those of eight do much work quicker: the time has a bend where they meet.
#[test]
fn an_accelerator_whose_granularity_bends_its_times_is_predicted_by_lines() {
    let board = millstream_test_support::board("B1+G");
    let lines = [(1_u32, 1e-5, 4e-11), (8, 4e-4, 1e-11)];
    let quickest = |own: &OperatorRecord| {
        lines.map(|(_, start, slope)| start + slope * own.work.macs as f64).into_iter().fold(f64::INFINITY, f64::min)
    };
    let mut profile = profiled_with(&board, provenance(), &quickest);
    for (granularity, start, slope) in lines {
        for macs in [1_u64 << 20, 1 << 24, 1 << 28, 1 << 30] {
            let seconds = start + slope * macs as f64;
            profile.granularity.push(GranularityRecord {
                accelerator: "G".into(),
                policy: 2,
                granularity,
                macs,
                seconds,
            });
        }
    }
    let models = CostModels::fit(&profile, provenance()).unwrap();
    let found = choice(&models);
    let Some(ConvolutionFormula::Granularity(fitted)) = &found.formula else { panic!("{found:?}") };
    assert_eq!(fitted.iter().map(|line| line.granularity).collect::<Vec<_>>(), [1, 8]);
    let of = |name| found.errors[&name];
    assert!(of(FormulaName::Granularity) < 1e-6, "{found:?}");
    assert!(of(FormulaName::Default) > 0.01 && of(FormulaName::ProcessingElements) > 0.01, "{found:?}");
    for (seconds, truth) in predicted(&models, &board, &quickest) {
        assert!((seconds - truth).abs() <= 1e-9, "{seconds} s for {truth} s");
    }
}

/// Times that only the default model knows: reading the weights takes as long as all else, and nothing of it depends on
/// how many channels there are.
#[test]
fn the_default_model_stays_where_no_formula_is_better() {
    let board = millstream_test_support::board("B1+G");
    let by_bytes = |own: &OperatorRecord| 1e-9 * own.work.weight_bytes as f64 + 1e-10 * own.work.output_bytes as f64;
    let models = CostModels::fit(&profiled_with(&board, provenance(), &by_bytes), provenance()).unwrap();
    let found = choice(&models);
    assert_eq!(found.formula, None, "{found:?}");
    let of = |name| found.errors[&name];
    assert!(of(FormulaName::Default) < of(FormulaName::ProcessingElements), "{found:?}");
}
