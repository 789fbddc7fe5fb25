//! Times of convolutions by granularity.

use std::collections::HashSet;

use millstream_backend::{Backend, BackendError, Observed, Segment, Tensor};
use millstream_board::Processor;
use millstream_cost::{CostError, Granularity, GranularityModel, GranularitySample};
use millstream_graph::{OperatorId, OperatorKind};

use crate::{Policy, ThreadWork, WgpuBackend, WorkChoice};

/// Frames of a measurement after one that settles caches.
const FRAMES: usize = 3;

/// A convolution that was timed with a granularity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepSample {
    /// The convolution.
    pub operator: OperatorId,
    /// Its multiply-accumulates.
    pub macs: u64,
    /// What each thread computed.
    pub work: ThreadWork,
    /// Median time on the device, without transfers.
    pub seconds: f64,
}

impl WgpuBackend {
    /// Times up to `most` convolutions of different shapes, of the smallest to the largest amount of work, with every granularity
    /// of the paper under the given policies. `go_on` is asked before each convolution.
    ///
    /// # Errors
    /// What preparing or running returns.
    pub fn sweep(
        &self,
        policies: &[Policy],
        most: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<SweepSample>, BackendError> {
        let graph = self.model.graph();
        let processor = Processor::accelerator(self.label.clone());
        let mut seen = HashSet::new();
        let is_new = |&id: &OperatorId| {
            let operator = graph.operator(id);
            let is_convolution = matches!(operator.kind, OperatorKind::Convolution(_)) && self.supports(id, &processor);
            is_convolution && seen.insert(format!("{:?} {:?}", operator.kind, operator.work))
        };
        let mut convolutions: Vec<OperatorId> = graph.order().iter().copied().filter(is_new).collect();
        convolutions.sort_by_key(|&id| graph.operator(id).work.macs);
        let step = convolutions.len().div_ceil(most.max(1)).max(1);
        let before = self.work_choice();
        let mut samples = Vec::new();
        // The largest ones matter most.
        let chosen: Vec<OperatorId> = convolutions.iter().rev().step_by(step).copied().collect();
        for id in chosen {
            if !go_on() {
                break;
            }
            let segment = Segment::new(graph, vec![id]);
            let inputs: Vec<Tensor> = segment
                .boundary
                .inputs
                .iter()
                .filter_map(|&value| graph.value(value).shape.clone())
                .map(|shape| Tensor::from_f32(shape.clone(), vec![0.5; shape.elements() as usize]))
                .collect();
            for &policy in policies {
                for Granularity(outputs) in Granularity::ALL {
                    let work = ThreadWork { outputs, policy };
                    self.choose_work(WorkChoice::Fixed(work));
                    let mut frames = 0;
                    let times = self.trace(&segment, &processor, &inputs, &mut |_| {
                        frames += 1;
                        frames < FRAMES
                    });
                    self.choose_work(before.clone());
                    let mut seconds: Vec<f64> = times?.into_iter().flat_map(|times| times.seconds).collect();
                    seconds.sort_by(f64::total_cmp);
                    if let Some(&median) = seconds.get(seconds.len() / 2) {
                        let macs = graph.operator(id).work.macs;
                        samples.push(SweepSample { operator: id, macs, work, seconds: median });
                    }
                }
            }
        }
        Ok(samples)
    }
}

impl WorkChoice {
    /// The choice by lines that are fitted to samples, per policy and granularity.
    ///
    /// # Errors
    /// [`CostError::TooFewSamples`] or [`CostError::Degenerate`] with fewer than two different convolutions.
    pub fn fit(samples: &[(ThreadWork, u64, f64)]) -> Result<Self, CostError> {
        let mut models = Vec::new();
        for policy in Policy::ALL {
            let own = samples.iter().filter(|(work, ..)| work.policy == policy);
            let own: Vec<GranularitySample> = own
                .map(|&(work, macs, seconds)| GranularitySample {
                    granularity: Granularity(work.outputs),
                    macs,
                    seconds,
                })
                .collect();
            if !own.is_empty() {
                // The device's clock is not known; the lines hold at whatever it is.
                models.push((policy, GranularityModel::fit(1.0, &own)?));
            }
        }
        match models.is_empty() {
            true => Err(CostError::TooFewSamples { what: "granularities".to_owned(), found: 0, needed: 2 }),
            false => Ok(Self::Fitted(models)),
        }
    }
}
