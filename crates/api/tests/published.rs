//! Published algorithms on boards that are not here, and on a case that is worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use std::sync::Arc;

use fixtures::{fixture, network};
use millstream_api::board::Board;
use millstream_api::cost::{CostTable, Nanoseconds, TransferModel};
use millstream_api::onnx::ModelBuilder;
use millstream_api::pipeline::ParaPipeStrategy;
use millstream_api::{
    Aim, Constraints, Control, CostSource, Error, Machine, Network, Objective, PlanOn, PublishedAlgorithm,
    PublishedPlan, ReadOptions, compare_published, plan_published,
};
use millstream_test_support::{board, connect, table};

const HYBRIDS: [PublishedAlgorithm; 3] = [
    PublishedAlgorithm::ParaPipe(ParaPipeStrategy::HybridLatency),
    PublishedAlgorithm::ParaPipe(ParaPipeStrategy::HybridThroughput),
    PublishedAlgorithm::ParaPipe(ParaPipeStrategy::Balanced),
];

fn machine(board: &str) -> Machine {
    Machine::read(&fixture("boards", board)).unwrap()
}

/// Algorithms that need nothing that was left out.
fn available() -> impl Iterator<Item = PublishedAlgorithm> {
    let is_program =
        |own: &PublishedAlgorithm| matches!(own, PublishedAlgorithm::CoarseIlp | PublishedAlgorithm::FineIlp);
    PublishedAlgorithm::ALL.into_iter().filter(move |own| cfg!(feature = "highs") || !is_program(own))
}

/// What every schedule of an algorithm must be: one that can run, and that is worth what the costs say.
fn check(plan: &PublishedPlan, network: &Network, machine: &Machine) {
    let (graph, board) = (network.graph(), machine.board());
    let resolved = plan.document.resolve(graph, network.digest(), board).unwrap();
    assert_eq!(resolved, plan.schedule);
    assert_eq!(plan.document.algorithm, plan.algorithm.name());
    let evaluation = plan.schedule.evaluate(graph, &plan.table).unwrap();
    let predicted = &plan.document.predicted;
    // Where processors compete for memory, nothing is sooner than alone.
    let least = |seconds: f64| seconds * (1.0 - 1e-9);
    assert!(predicted.period_seconds >= least(evaluation.period.seconds()), "{}", plan.algorithm);
    assert!(predicted.latency_seconds >= least(evaluation.latency.seconds()), "{}", plan.algorithm);
    assert!(predicted.period_seconds >= least(plan.bound.seconds()), "{} is below the bound", plan.algorithm);
    assert_eq!(predicted.lower_bound_period_seconds, plan.bound.seconds());
    assert!(plan.work.count > 0);
}

/// A GPU that runs everything, and an FPGA that only runs convolutions.
#[test]
fn every_algorithm_makes_schedules_that_can_run_and_no_better_than_the_bound() {
    for (board, hybrids_need) in [("khadas-vim3", None), ("ultra96-4pe", Some("B2-B2-F1"))] {
        let (machine, costs) = (machine(board), fixture("costs", board));
        let on = PlanOn::Costs(CostSource::Models(&costs));
        for name in ["squeezenet", "googlenet"] {
            let network = network(name);
            for algorithm in available() {
                let processors = hybrids_need.filter(|_| HYBRIDS.contains(&algorithm));
                let plan =
                    plan_published(&machine, &network, algorithm, &Aim::default(), on, processors, &Control::new());
                match plan {
                    Ok(plan) => check(&plan, &network, &machine),
                    // No stage of the FPGA's own can run activations.
                    Err(Error::Algorithm { reason, .. }) => {
                        let is_pipe_only = algorithm == PublishedAlgorithm::ParaPipe(ParaPipeStrategy::PipeOnly);
                        assert!(is_pipe_only && board == "ultra96-4pe", "{algorithm} on {board}: {reason}");
                        assert!(reason.contains("each stage must run all its operators"), "{reason}");
                    }
                    Err(error) => panic!("{algorithm} on {board}: {error}"),
                }
            }
        }
    }
}

#[test]
fn all_stand_beside_the_exact_search_and_say_why_they_can_not_serve() {
    let (machine, costs) = (machine("hikey-970"), fixture("costs", "hikey-970"));
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let network = network("squeezenet");
    let compared = compare_published(&machine, &network, &Aim::default(), on, None, &Control::new()).unwrap();
    assert_eq!(compared.rows.len(), PublishedAlgorithm::ALL.len());
    // The schedule that is chosen for throughput may give up 1 % for a shorter latency.
    let own = compared.beside_ours(&compared.ours.document.predicted).unwrap();
    assert!((0.0..=0.011).contains(&own), "{own}");
    let mut served = 0;
    for row in &compared.rows {
        match &row.outcome {
            Ok(plan) => {
                check(plan, &network, &machine);
                served += 1;
                assert!(compared.beside_ours(&plan.document.predicted).unwrap() > -1e-9, "{} is better", row.algorithm);
            }
            Err(Error::Algorithm { algorithm, reason }) => {
                assert_eq!(*algorithm, row.algorithm);
                let expected = if HYBRIDS.contains(algorithm) {
                    "three processors or more, and there are only B4, s4"
                } else {
                    "board 'HiKey970' has no accelerator"
                };
                assert!(reason.contains(expected), "{reason}");
            }
            Err(Error::MissingFeature { feature: "highs", .. }) if cfg!(not(feature = "highs")) => {}
            Err(error) => panic!("{}: {error}", row.algorithm),
        }
    }
    assert_eq!(served, available().count() - 4);

    // With processors of their own the hybrids are there, and the gap is what the objective counts.
    let (aim, processors) = (Aim::best(Objective::Latency), Some("B2-B2-s4"));
    let hybrid =
        |algorithm| plan_published(&machine, &network, algorithm, &Aim::default(), on, processors, &Control::new());
    let [quick, fast, _] = HYBRIDS.map(|algorithm| hybrid(algorithm).unwrap().document.predicted);
    assert!(quick.latency_seconds <= fast.latency_seconds && fast.period_seconds <= quick.period_seconds);
    let compared = compare_published(&machine, &network, &aim, on, processors, &Control::new()).unwrap();
    let best = compared.ours.plans.front.iter().map(|plan| plan.latency).min().unwrap().seconds();
    let expected = quick.latency_seconds / best - 1.0;
    assert!((compared.beside_ours(&quick).unwrap() - expected).abs() < 1e-9);
}

#[test]
fn what_no_published_algorithm_knows_is_refused() {
    let (machine, costs) = (machine("hikey-970"), fixture("costs", "hikey-970"));
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let network = network("squeezenet");
    let limits = Constraints { max_latency: Some(Nanoseconds(1)), ..Constraints::default() };
    let aim = Aim::default().within(limits);
    let refused = |processors, aim: &Aim| {
        plan_published(&machine, &network, PublishedAlgorithm::Heft, aim, on, processors, &Control::new()).unwrap_err()
    };
    assert!(refused(None, &aim).to_string().contains("heft knows no limits"));
    assert!(refused(Some("B9"), &Aim::default()).to_string().contains("more cores"));
    assert!(compare_published(&machine, &network, &aim, on, None, &Control::new()).is_err());
    let cancelled = Control::new().cancelled_by(|| true);
    let ended = compare_published(&machine, &network, &Aim::default(), on, None, &cancelled);
    assert!(matches!(ended, Err(Error::Interrupted)));
    let many = Machine::read(&fixture("boards", "chiplet-c5")).unwrap();
    let costs = fixture("costs", "chiplet-c5");
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let error = plan_published(&many, &network, HYBRIDS[0], &Aim::default(), on, None, &Control::new()).unwrap_err();
    assert!(error.to_string().contains("too many with 8"), "{error}");
}

/// A source, two branches and what joins them.
fn diamond() -> Network {
    let mut builder = ModelBuilder::new("diamond");
    let image = builder.input("image", [1, 4, 8, 8]);
    let convolution = |builder: &mut ModelBuilder, input: &str| {
        let filter = builder.weight("filter", &millstream_api::onnx::Weight::from_f32([4, 4, 1, 1], vec![0.5; 16]));
        builder.node("Conv", &[input, &filter])
    };
    let source = convolution(&mut builder, &image);
    let left = convolution(&mut builder, &source);
    let right = convolution(&mut builder, &source);
    let joined = builder.node_with("Concat", &[&left, &right], millstream_api::onnx::Attributes::new().int("axis", 1));
    builder.output(&joined);
    Network::of_model(Arc::new(builder.build().unwrap()), "diamond", ReadOptions::default())
}

/// Microseconds of the source, the branches and the join on each core; every transfer takes 5.
///
/// | | B | s | mean |
/// |---|---|---|---|
/// | source | 10 | 20 | 15 |
/// | left | 40 | 32 | 36 |
/// | right | 30 | 30 | 30 |
/// | join | 10 | 10 | 10 |
fn costs(network: &Network, board: &Board) -> CostTable {
    let mut table = table(network.graph(), board, |operator, class| {
        let microseconds = match (operator.name.as_str(), class.cluster.as_str()) {
            ("Conv_0", "B") => 10,
            ("Conv_0", _) => 20,
            ("Conv_1", "B") => 40,
            ("Conv_1", _) => 32,
            ("Conv_2", _) => 30,
            _ => 10,
        };
        Some(1000 * microseconds)
    });
    connect(&mut table, TransferModel { latency_seconds: 5e-6, ..TransferModel::default() });
    table
}

fn by_hand(algorithm: PublishedAlgorithm) -> (Vec<Vec<String>>, u64) {
    let (board, network) = (board("B1+s1:341"), diamond());
    let table = costs(&network, &board);
    let machine = Machine::of_board(board);
    let on = PlanOn::Costs(CostSource::Table(&table));
    let plan = plan_published(&machine, &network, algorithm, &Aim::default(), on, None, &Control::new()).unwrap();
    check(&plan, &network, &machine);
    let microseconds = (plan.document.predicted.period_seconds * 1e6).round() as u64;
    let replica = &plan.document.stages[0].replicas[0];
    (replica.assignments.iter().map(|own| own.operators.clone()).collect(), microseconds)
}

fn named(lists: &[&[&str]]) -> Vec<Vec<String>> {
    lists.iter().map(|list| list.iter().map(|&name| name.to_owned()).collect()).collect()
}

/// Upward ranks: join 10, left 36 + 5 + 10 = 51, right 45, source 71. The source ends first on B at 10, left on s at
/// 10 + 5 + 32 = 47 (on B at 50), right on B at 40, the join on s at 47 + 10 = 57 (on B at 47 + 5 + 10 = 62).
#[test]
fn heft_ends_a_diamond_when_it_does_by_hand() {
    assert_eq!(by_hand(PublishedAlgorithm::Heft), (named(&[&["Conv_0", "Conv_2"], &["Conv_1", "Concat_3"]]), 57));
}

/// The critical path is source, left, join, which take 60 on B and 62 on s: B runs it, until 50. Right is done on s at
/// 10 + 5 + 30 = 45 and there on B at 50, when the join starts.
#[test]
fn cpop_ends_a_diamond_when_it_does_by_hand() {
    assert_eq!(by_hand(PublishedAlgorithm::Cpop), (named(&[&["Conv_0", "Conv_1", "Concat_3"], &["Conv_2"]]), 60));
}

/// One after the other: source on B, the rest on s, until 10 + 5 + 32 + 30 + 10 = 87, where 90 on B alone and 92 with
/// the join back on B are longer.
#[test]
fn layers_of_a_diamond_switch_once() {
    assert_eq!(
        by_hand(PublishedAlgorithm::LayerSwitched),
        (named(&[&["Conv_0"], &["Conv_1", "Conv_2", "Concat_3"]]), 87)
    );
}
