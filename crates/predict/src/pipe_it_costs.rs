//! Pipe-it's models of convolutions in cost models of a board.

use millstream_board::Cluster;
use millstream_graph::{Family, GemmShape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::{TILE_ROWS, of_family};
use crate::error::PredictError;
use crate::profile::Profile;
use crate::published::{GemmModel, MulticoreModel, MulticoreSample};
use crate::samples::OperatorRecord;

/// What convolutions take on the cores of a cluster by Pipe-it's regression (equations 3 to 5) and its model of several
/// cores (equations 6 to 8, with an even split).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipeItCosts {
    /// Label of the cluster.
    pub cluster: String,
    /// Seconds on one core for each of N, K, M, N K, K M, N M, N M K and 1 (equation 5).
    pub coefficients: [f64; 8],
    /// Seconds of alpha_1, alpha_2 and alpha_3 (equation 8); missing for a cluster of one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_cores: Option<SeveralCores>,
    /// Part of the variance of the samples on one core that equation 5 explains.
    pub r_squared: f64,
}

/// The constants of equation 8.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeveralCores {
    /// Rows of the product that an iteration makes.
    pub tile_rows: u64,
    /// Constant part of the time on one core that is not divided.
    pub alpha_1_seconds: f64,
    /// What every iteration takes in addition.
    pub alpha_2_seconds: f64,
    /// What dealing out the work takes.
    pub alpha_3_seconds: f64,
}

impl PipeItCosts {
    pub(crate) fn fit(profile: &Profile, cluster: &Cluster) -> Result<Self, PredictError> {
        let most = cluster.cores.len();
        let shape = |operator: &OperatorRecord| operator.work.gemm.unwrap_or(GemmShape { n: 0, k: 0, m: 0 });
        let on = |count: usize| of_family(profile, &cluster.class(count), Family::Convolution);
        let single: Vec<(GemmShape, f64)> =
            on(1).iter().map(|observation| (shape(observation.main), observation.seconds)).collect();
        let gemm = GemmModel::fit(&single)?;
        let mut samples = Vec::new();
        // On one core nothing is dealt out; but a single other number of cores does not tell the constants apart.
        let fewest = if most > 2 { 2 } else { 1 };
        for count in fewest..=most {
            samples.extend(on(count).iter().map(|observation| MulticoreSample {
                n: shape(observation.main).n,
                cores: count as u64,
                single_core_seconds: gemm.seconds(&shape(observation.main)),
                seconds: observation.seconds,
            }));
        }
        let several_cores = match most {
            0 | 1 => None,
            _ => {
                let MulticoreModel { tile_rows, alpha_1, alpha_2, alpha_3 } = MulticoreModel::fit(TILE_ROWS, &samples)?;
                let (alpha_1_seconds, alpha_2_seconds, alpha_3_seconds) = (alpha_1, alpha_2, alpha_3);
                Some(SeveralCores { tile_rows, alpha_1_seconds, alpha_2_seconds, alpha_3_seconds })
            }
        };
        let (coefficients, r_squared) = (*gemm.coefficients(), gemm.r_squared());
        Ok(Self { cluster: cluster.label.clone(), coefficients, several_cores, r_squared })
    }

    /// Time of a convolution in one group on so many cores; `None` for other operators, and where the regression
    /// predicts no time at all, which it may for small layers.
    pub fn seconds(&self, operator: &OperatorRecord, cores: usize) -> Option<f64> {
        let shape = operator.work.gemm.filter(|_| operator.family() == Family::Convolution)?;
        let single = GemmModel::new(self.coefficients).seconds(&shape);
        let seconds = match self.several_cores.filter(|_| cores > 1) {
            None => single,
            Some(several) => {
                let SeveralCores { tile_rows, alpha_1_seconds, alpha_2_seconds, alpha_3_seconds } = several;
                let (alpha_1, alpha_2, alpha_3) = (alpha_1_seconds, alpha_2_seconds, alpha_3_seconds);
                MulticoreModel { tile_rows, alpha_1, alpha_2, alpha_3 }.seconds(shape.n, cores as u64, single)
            }
        };
        Some(seconds).filter(|seconds| seconds.is_finite() && *seconds > 0.0)
    }

    /// Whether it consists of numbers.
    pub(crate) fn is_sound(&self) -> bool {
        let several = self.several_cores.iter().flat_map(|costs| {
            [costs.alpha_1_seconds, costs.alpha_2_seconds, costs.alpha_3_seconds, costs.tile_rows.max(1) as f64]
        });
        self.coefficients.iter().copied().chain(several).all(f64::is_finite)
    }
}
