//! Engines that a first look at all of them shows not to be worth measuring further.

use std::collections::BTreeMap;

use millstream_board::{Board, Cluster, EngineName, ProcessorClass};

use crate::left_out::LeftOutEngine;
use crate::profile::NetworkProfile;

/// An engine that could save a smaller part of a network's time than this is left out. A first look differs from the next
/// by more, so that engines of which none is clearly slower are all measured.
const LEAST_GAIN: f64 = 0.01;
/// What the clocks of engines count in.
pub const TICK_SECONDS: f64 = 1e-6;
/// Engines tell the times of operators in whole ticks, and not what they do around them. Of operators that take
/// less than this on average, a first look shows too little.
const SHORTEST_OPERATOR_SECONDS: f64 = 10e-6;

impl LeftOutEngine {
    /// The engines that are not worth measuring further, by what each operator took in a first look at all of them, on
    /// each number of cores. One engine stays on every cluster, and all that run something where operators take too
    /// short for a first look.
    pub fn of(network: &NetworkProfile, board: &Board) -> Vec<Self> {
        let several = board.clusters().iter().filter(|cluster| cluster.engines.iter().len() > 1);
        several.flat_map(|cluster| Self::of_cluster(network, cluster)).collect()
    }

    fn of_cluster(network: &NetworkProfile, cluster: &Cluster) -> Vec<Self> {
        let entry = |engine, gain| Self { cluster: cluster.label.clone(), engine, gain };
        let times = |engine: EngineName| {
            let of_count = |count| block_seconds(network, &cluster.class(count).with_engine(engine));
            (1..=cluster.cores.len()).map(of_count).collect::<Option<Vec<_>>>()
        };
        let mut kept: BTreeMap<EngineName, Vec<Vec<f64>>> = BTreeMap::new();
        let mut left_out = Vec::new();
        let on_one = |engine| cluster.class(1).with_engine(engine);
        let runs_something = |engine| network.blocks_run_on(&on_one(engine)).contains(&true);
        let mut is_judged = true;
        for engine in cluster.engines.iter() {
            match times(engine) {
                Some(times) => drop(kept.insert(engine, times)),
                // It tells nothing of what it runs, as where one operator is all.
                None if runs_something(engine) => is_judged = false,
                None => left_out.push(entry(engine, None)),
            }
        }
        let is_short = |&engine: &EngineName| mean_seconds(network, &on_one(engine)) < SHORTEST_OPERATOR_SECONDS;
        if !is_judged || kept.keys().any(is_short) {
            return left_out;
        }

        while kept.len() > 1 {
            let gains = kept.keys().map(|&engine| (gain(engine, &kept), engine));
            let Some((least, engine)) = gains.min_by(|one, other| one.0.total_cmp(&other.0)) else { break };
            if least >= LEAST_GAIN {
                break;
            }
            kept.remove(&engine);
            left_out.push(entry(engine, Some(least)));
        }
        left_out
    }
}

/// What an operator took on average, of those that were traced on a processor and took a microsecond or more; infinite
/// without any trace, and nothing if all took less.
fn mean_seconds(network: &NetworkProfile, class: &ProcessorClass) -> f64 {
    let traced = network.operator_samples.iter().filter(|sample| sample.processor == *class);
    let times: Vec<f64> = traced.map(|sample| sample.time.median_seconds).collect();
    if times.is_empty() {
        return f64::INFINITY;
    }
    let seen: Vec<f64> = times.into_iter().filter(|&time| time >= TICK_SECONDS).collect();
    seen.iter().sum::<f64>() / seen.len().max(1) as f64
}

/// What each block took in a trace, for ever if it does not run there; `None` if nothing of the network was traced there.
fn block_seconds(network: &NetworkProfile, class: &ProcessorClass) -> Option<Vec<f64>> {
    let block_of: Vec<usize> =
        network.blocks.iter().enumerate().flat_map(|(block, operators)| operators.iter().map(move |_| block)).collect();
    let mut seconds = vec![0.0; network.blocks.len()];
    let mut is_traced = false;
    for sample in network.operator_samples.iter().filter(|sample| sample.processor == *class) {
        let first = sample.operators.iter().min().and_then(|&first| block_of.get(first));
        if let Some(sum) = first.and_then(|&block| seconds.get_mut(block)) {
            *sum += sample.time.median_seconds;
            is_traced = true;
        }
    }
    let runs = network.blocks_run_on(class);
    let seconds = seconds.into_iter().zip(runs).map(|(time, runs)| if runs { time } else { f64::INFINITY });
    is_traced.then(|| seconds.collect())
}

/// The part of the time with the other engines that an engine could save by running the blocks that it is quickest at:
/// the most of all numbers of cores. Infinite for an engine that is the only one to run some block.
fn gain(engine: EngineName, all: &BTreeMap<EngineName, Vec<Vec<f64>>>) -> f64 {
    let of_count = |(position, times): (usize, &Vec<f64>)| {
        let others = |block: usize| {
            let times = all.iter().filter(|(name, _)| **name != engine);
            times.filter_map(|(_, times)| times.get(position)?.get(block).copied()).fold(f64::INFINITY, f64::min)
        };
        let blocks = || times.iter().enumerate().filter(|(_, time)| time.is_finite());
        let saved: f64 = blocks().map(|(block, time)| (others(block) - time).max(0.0)).sum();
        if saved.is_infinite() {
            return saved;
        }
        // What no other engine runs is run by no engine then.
        let all = (0..times.len()).map(others).filter(|time| time.is_finite());
        saved / all.sum::<f64>().max(1e-12)
    };
    let by_count = all.get(&engine).into_iter().flatten();
    by_count.enumerate().map(of_count).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::samples::{OperatorSample, SampleConditions};
    use crate::statistics::Statistics;
    use crate::unsupported::UnsupportedOperators;
    use millstream_board::EngineSet;

    /// A chain of three blocks, with what each takes with each engine on one core and on two.
    fn look(onnx_runtime: [[f64; 3]; 2], openvino: Option<[[f64; 3]; 2]>) -> Vec<LeftOutEngine> {
        look_at(onnx_runtime, openvino, &[])
    }

    /// The same with the blocks that engines refuse.
    fn look_at(
        onnx_runtime: [[f64; 3]; 2],
        openvino: Option<[[f64; 3]; 2]>,
        refused: &[(EngineName, usize)],
    ) -> Vec<LeftOutEngine> {
        let board = millstream_test_support::board("B2@onnxruntime,openvino+s1");
        let mut builder = millstream_onnx::ModelBuilder::new("chain");
        let mut last = builder.input("x", [1, 4, 8, 8]);
        for _ in 0..3 {
            let filter = builder.weight("filter", &millstream_onnx::Weight::from_f32([4, 4, 1, 1], vec![0.5; 16]));
            last = builder.node("Conv", &[&last, &filter]);
        }

        builder.output(&last);
        let model = builder.build().unwrap();
        let chain = millstream_partition::Chain::of(model.graph());
        let mut network = NetworkProfile::new("", model.graph(), &chain);
        assert_eq!(network.blocks.len(), 3);
        let mut add = |engine: EngineName, times: [[f64; 3]; 2]| {
            for (count, times) in [1, 2].into_iter().zip(times) {
                for (block, seconds) in times.into_iter().enumerate() {
                    network.operator_samples.push(OperatorSample {
                        processor: ProcessorClass::new("B", count).with_engine(engine),
                        operators: vec![block],
                        concurrent: 1,
                        time: Statistics::of(&[seconds]).unwrap(),
                        conditions: SampleConditions::default(),
                    });
                }
            }
        };
        add(EngineName::OnnxRuntime, onnx_runtime);
        openvino.into_iter().for_each(|times| add(EngineName::OpenVino, times));
        let unsupported = |&(engine, block): &(EngineName, usize)| UnsupportedOperators {
            cluster: "B".to_owned(),
            engine,
            operators: vec![block],
        };
        network.unsupported = refused.iter().map(unsupported).collect();
        let left_out = LeftOutEngine::of(&network, &board);
        let kept = LeftOutEngine::others(&left_out, &board);
        assert_eq!(kept["B"].iter().len() + left_out.len(), 2);
        assert_eq!(kept["s"], EngineSet::default());
        left_out
    }

    #[test]
    fn an_engine_that_saves_nothing_is_left_out() {
        let equal = [[1.0, 1.0, 1.0], [0.5, 0.5, 0.5]];
        // Slower as a whole, but quicker at one block by a tenth of all.
        assert_eq!(look(equal, Some([[2.0, 2.0, 0.7], [1.0, 1.0, 1.0]])), []);
        // On two cores only.
        assert_eq!(look(equal, Some([[2.0, 2.0, 2.0], [0.5, 0.5, 0.4]])), []);
        assert_eq!(look(equal, Some([[2.0, 2.0, 0.96], [1.0, 1.0, 1.0]])), []);
        let [only] = look(equal, Some([[2.0, 2.0, 0.985], [1.0, 1.0, 1.0]])).try_into().unwrap();
        assert_eq!((only.cluster.as_str(), only.engine), ("B", EngineName::OpenVino));
        assert!((only.gain.unwrap() - 0.005).abs() < 1e-9);
        // The first engine has no privilege.
        let [only] = look(equal, Some([[0.9, 0.9, 0.9], [0.4, 0.4, 0.4]])).try_into().unwrap();
        assert_eq!((only.engine, only.gain), (EngineName::OnnxRuntime, Some(0.0)));
        // Of two that are equal, one stays.
        assert_eq!(look(equal, Some(equal)).len(), 1);
    }

    /// Clocks show nothing of what takes a microsecond, and an engine that seems quick may do much around its operators.
    #[test]
    fn of_short_operators_a_first_look_shows_too_little() {
        let look_in = |unit: f64| {
            let in_unit = |times: [[f64; 3]; 2]| times.map(|times| times.map(|time| time * unit));
            look(in_unit([[1.0; 3]; 2]), Some(in_unit([[2.0; 3]; 2])))
        };
        assert!(look_in(9e-6).is_empty() && look_in(0.2e-6).is_empty());
        assert_eq!(look_in(11e-6).len(), 1);
        // Those that are done in no time do not make others short.
        let mixed = |times: [f64; 3]| [times.map(|time| time * 1e-6); 2];
        assert_eq!(look(mixed([30.0, 0.5, 0.5]), Some(mixed([60.0, 0.5, 0.5]))).len(), 1);
    }

    #[test]
    fn an_engine_counts_by_the_blocks_that_it_runs() {
        let (onnx_runtime, openvino) = (EngineName::OnnxRuntime, EngineName::OpenVino);
        let equal = [[1.0, 1.0, 1.0], [0.5, 0.5, 0.5]];
        let quicker = [[0.9, 0.9, 0.5], [0.4, 0.4, 0.5]];
        assert_eq!(look_at(equal, Some(quicker), &[(openvino, 0)]), []);
        // What it would save is in the block that it refuses.
        let only_there = [[0.5, 1.0, 1.0], [0.2, 0.5, 0.5]];
        let [only] = look_at(equal, Some(only_there), &[(openvino, 0)]).try_into().unwrap();
        assert_eq!((only.engine, only.gain), (openvino, Some(0.0)));
        // One that is the only one to run a block stays, however slow it is.
        let slow = [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]];
        assert_eq!(look_at(equal, Some(slow), &[(onnx_runtime, 1)]), []);
        assert_eq!(look_at(equal, Some(slow), &[(onnx_runtime, 1), (openvino, 2)]), []);
        // A block that none runs is nobody's gain.
        let refused_by_both = [(onnx_runtime, 1), (openvino, 1)];
        assert_eq!(look_at(equal, Some(slow), &refused_by_both).len(), 1);
        assert_eq!(look_at(equal, Some(quicker), &refused_by_both)[0].engine, onnx_runtime);
    }

    #[test]
    fn an_engine_that_runs_nothing_is_left_out() {
        let all: Vec<_> = (0..3).map(|block| (EngineName::OpenVino, block)).collect();
        let expected = LeftOutEngine { cluster: "B".to_owned(), engine: EngineName::OpenVino, gain: None };
        assert_eq!(look_at([[1.0; 3]; 2], None, &all), [expected]);
        // One that runs some and tells nothing of it may be the quicker one.
        assert_eq!(look_at([[1.0; 3]; 2], None, &all[1..]), []);
    }
}
