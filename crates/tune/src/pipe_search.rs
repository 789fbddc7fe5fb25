//! Pipe-Search (Soomro et al., An online guided tuning approach to run CNN pipelines on edge devices, CF 2021):
//! configurations in the order of how evenly they spread the work.

use std::collections::BinaryHeap;

use millstream_cost::Nanoseconds;

use crate::Tuner;
use crate::compositions::for_each_composition;
use crate::configuration::Configuration;
use crate::error::TuneError;
use crate::oracle::Oracle;
use crate::space::{Space, binomial};
use crate::tuning::{Recorder, Tuning};

/// The search.
///
/// It knows nothing of how fast places are: stage `i` runs on place `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipeSearch {
    /// It leaves a number of stages, and ends, after so many trials in a row without an improvement.
    pub alpha: usize,
    /// The most stages; more are left out where listing their configurations would be impractical
    /// ([`PipeSearch::LISTED`]).
    pub most_stages: usize,
    /// What listing a configuration costs: part of the time that the search spends.
    pub preparation: Nanoseconds,
}

impl Default for PipeSearch {
    /// The alpha of the paper's table 3, and any number of stages.
    fn default() -> Self {
        Self { alpha: 10, most_stages: usize::MAX, preparation: Nanoseconds::ZERO }
    }
}

/// The coefficient of variation of stages of so many layers: standard deviation over mean of their weights (equation
/// 3).
pub fn coefficient_of_variation(weights: &[u64], layers: &[usize]) -> f64 {
    let mut start = 0;
    let sums: Vec<f64> = layers
        .iter()
        .map(|&count| {
            start += count;
            weights[start - count..start].iter().sum::<u64>() as f64
        })
        .collect();
    let mean = sums.iter().sum::<f64>() / sums.len().max(1) as f64;
    let variance = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / sums.len().max(1) as f64;
    variance.sqrt() / mean
}

/// The `most` most even ways to divide the layers into so many stages, the most even first (algorithm 1). Equally even
/// ones are in lexicographic order.
pub fn most_even(weights: &[u64], stages: usize, most: usize) -> Vec<Vec<usize>> {
    let mut sums = vec![0_u128];
    sums.extend(weights.iter().scan(0_u128, |sum, &weight| {
        *sum += u128::from(weight);
        Some(*sum)
    }));
    // For a given number of stages, the mean is the same for all: the sum of squares orders as the variation does.
    let squares = |layers: &[usize]| {
        let mut start = 0;
        let square = |&count: &usize| {
            start += count;
            (sums[start] - sums[start - count]).pow(2)
        };
        layers.iter().map(square).sum::<u128>()
    };
    let mut kept: BinaryHeap<(u128, Vec<usize>)> = BinaryHeap::new();
    for_each_composition(weights.len(), stages, &mut |layers| {
        let unevenness = squares(layers);
        if kept.len() < most || kept.peek().is_some_and(|(worst, _)| unevenness < *worst) {
            kept.push((unevenness, layers.to_vec()));
            if kept.len() > most {
                kept.pop();
            }
        }
        true
    });
    kept.into_sorted_vec().into_iter().map(|(_, layers)| layers).collect()
}

impl PipeSearch {
    /// Numbers of stages with more divisions than this are left out.
    pub const LISTED: u128 = 5_000_000;
    /// Divisions that are kept per number of stages.
    const KEPT: usize = 2000;

    /// The numbers of stages that it tries.
    fn depths(&self, space: &Space) -> Vec<usize> {
        let most = space.most_stages().min(self.most_stages);
        let is_listed = |&stages: &usize| binomial(space.layers() - 1, stages - 1) <= Self::LISTED;
        (2.min(most)..=most).filter(is_listed).collect()
    }
}

impl Tuner for PipeSearch {
    fn name(&self) -> String {
        "Pipe-Search".to_owned()
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        let depths = self.depths(space);
        let listed: u128 = depths.iter().map(|stages| binomial(space.layers() - 1, stages - 1)).sum();
        let preparation = self.preparation.0.saturating_mul(u64::try_from(listed).unwrap_or(u64::MAX));
        let mut recorder = Recorder::new(oracle, Nanoseconds(preparation));

        let lists: Vec<Vec<Configuration>> = depths
            .iter()
            .map(|&stages| {
                let places: Vec<_> = space.places().take(stages).collect();
                let divisions = most_even(space.weights(), stages, Self::KEPT);
                divisions.into_iter().map(|layers| Configuration::assembled(layers, places.clone())).collect()
            })
            .collect();

        // The best seed of all numbers of stages comes first (line 1).
        let mut visited = vec![0; lists.len()];
        for (list, visited) in lists.iter().zip(&mut visited) {
            if let Some(seed) = list.first() {
                recorder.run(seed)?;
                *visited = 1;
            }
        }
        for (list, visited) in lists.iter().zip(&mut visited) {
            self.walk(list, visited, &mut recorder)?;
        }

        let stages = recorder.best().map_or(0, |(best, _)| best.stages());
        if let Some(depth) = depths.iter().position(|&depth| depth == stages) {
            self.walk(&lists[depth], &mut visited[depth], &mut recorder)?;
        }
        recorder.finish().ok_or(TuneError::Empty { layers: space.layers(), places: space.places().len() })
    }
}

impl PipeSearch {
    /// Goes on in a list until nothing better comes for a while.
    fn walk(
        &self,
        list: &[Configuration],
        visited: &mut usize,
        recorder: &mut Recorder<'_, Configuration>,
    ) -> Result<(), TuneError> {
        let mut failures = 0;
        for configuration in list.iter().skip(*visited) {
            if failures >= self.alpha {
                break;
            }
            let (_, is_best) = recorder.run(configuration)?;
            failures = if is_best { 0 } else { failures + 1 };
            *visited += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 7, Synth 1: the seed, the optima, their variations.
    #[test]
    fn variations_of_synthetic_networks() {
        let weights = [1, 4, 8, 4, 8, 8, 4];
        let percent = |layers: &[usize]| 100.0 * coefficient_of_variation(&weights, layers);
        assert!((percent(&[3, 2, 2]) - 3.8).abs() < 0.05);
        assert!((percent(&[4, 1, 1, 1]) - 51.4).abs() < 0.15);
        assert!((percent(&[5, 1, 1]) - 73.8).abs() < 0.1);
        assert_eq!(most_even(&weights, 3, 1), [[3, 2, 2]]);
    }

    #[test]
    fn lists_are_sorted_and_bounded() {
        let weights = [5, 1, 4, 1, 4];
        let all = most_even(&weights, 2, 100);
        assert_eq!(all.len(), 4);
        let variations: Vec<f64> = all.iter().map(|layers| coefficient_of_variation(&weights, layers)).collect();
        assert!(variations.is_sorted());
        assert_eq!(most_even(&weights, 2, 2), all[..2]);
    }
}
