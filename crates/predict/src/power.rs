//! The power of clusters (Para-Pipe, equation 8).

use millstream_board::{Board, PowerCoefficients};
use millstream_cost::PowerOrigin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::regression::{Regression, Term};
use crate::samples::PowerSample;

/// Power of a cluster (Para-Pipe, equation 8): dynamic power grows with capacitance, voltage squared, frequency and
/// utilisation, static power with voltage and leakage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerModel {
    /// Switched capacitance: alpha.
    pub capacitance_farads: f64,
    /// Leakage current: beta.
    pub leakage_amperes: f64,
}

/// The power model of one cluster or accelerator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterPower {
    /// Label of the cluster or accelerator.
    pub cluster: String,
    /// The model.
    pub model: PowerModel,
    /// Where it comes from.
    pub origin: PowerOrigin,
}

impl PowerModel {
    /// Power at a voltage, frequency and utilisation (0 to 1).
    pub fn watts(&self, volts: f64, hertz: f64, utilisation: f64) -> f64 {
        self.capacitance_farads * volts * volts * utilisation * hertz + self.leakage_amperes * volts
    }

    /// Fits both coefficients by ordinary least squares.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`] if all samples have the same load at the same
    /// operating point.
    pub fn fit(cluster: &str, samples: &[&PowerSample]) -> Result<Self, PredictError> {
        let terms = ["V V U f", "V"].map(Term::new);
        let row =
            |sample: &&PowerSample| vec![sample.volts * sample.volts * sample.utilisation * sample.hertz, sample.volts];
        let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
        let watts: Vec<f64> = samples.iter().map(|sample| sample.watts).collect();
        let fitted = Regression::ordinary(&format!("the power of cluster {cluster}"), &terms, &rows, &watts)?;
        let coefficient = |index: usize| fitted.coefficients().get(index).copied().unwrap_or(0.0);
        Ok(Self { capacitance_farads: coefficient(0), leakage_amperes: coefficient(1) })
    }
}

impl From<PowerCoefficients> for PowerModel {
    fn from(coefficients: PowerCoefficients) -> Self {
        Self { capacitance_farads: coefficients.capacitance_farads, leakage_amperes: coefficients.leakage_amperes }
    }
}

/// The power of clusters and accelerators: fitted where the profile has samples that determine it, else as the board
/// file says; clusters of which neither knows anything are left out.
pub(crate) fn fit_power(board: &Board, samples: &[PowerSample]) -> Vec<ClusterPower> {
    let of_cluster = |label: &str| {
        let cluster_samples: Vec<&PowerSample> = samples.iter().filter(|sample| sample.cluster == label).collect();
        PowerModel::fit(label, &cluster_samples).ok().map(|model| (model, PowerOrigin::Measured))
    };
    let clusters = board.clusters().iter().map(|cluster| (&cluster.label, cluster.power));
    let accelerators = board.accelerators().iter().map(|accelerator| (&accelerator.label, accelerator.power));
    let known = clusters.chain(accelerators).filter_map(|(label, stated)| {
        let stated = || stated.map(|power| (PowerModel::from(power), PowerOrigin::BoardFile));
        let (model, origin) = of_cluster(label).or_else(stated)?;
        Some(ClusterPower { cluster: label.clone(), model, origin })
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(volts: f64, hertz: f64, utilisation: f64) -> PowerSample {
        let watts = 5e-10 * volts * volts * utilisation * hertz + 0.2 * volts;
        PowerSample { cluster: "B".into(), volts, hertz, utilisation, watts }
    }

    #[test]
    fn coefficients_are_recovered() {
        let samples = [sample(0.8, 1e9, 1.0), sample(1.0, 2e9, 0.5), sample(0.9, 1.5e9, 0.0)];
        let fitted = PowerModel::fit("B", &samples.iter().collect::<Vec<_>>()).unwrap();
        assert!((fitted.capacitance_farads / 5e-10 - 1.0).abs() < 1e-6);
        assert!((fitted.leakage_amperes / 0.2 - 1.0).abs() < 1e-6);
        assert!((fitted.watts(0.8, 1e9, 1.0) - samples[0].watts).abs() < 1e-9);
        let same = [&samples[0], &samples[0]];
        assert!(PowerModel::fit("B", &same).unwrap_err().to_string().contains("cluster B"));
    }

    #[test]
    fn the_board_file_stands_in_where_nothing_was_measured() {
        let mut document = millstream_test_support::board("B1+s1:300").to_document();
        document.clusters[0].power = Some(PowerCoefficients { capacitance_farads: 1e-9, leakage_amperes: 0.1 });
        let board = Board::try_from(document).unwrap();
        let stated = fit_power(&board, &[]);
        assert_eq!(stated.len(), 1);
        assert_eq!((stated[0].cluster.as_str(), stated[0].origin), ("B", PowerOrigin::BoardFile));
        let measured = fit_power(&board, &[sample(0.8, 1e9, 1.0), sample(1.0, 2e9, 0.5)]);
        assert_eq!(measured[0].origin, PowerOrigin::Measured);
    }
}
