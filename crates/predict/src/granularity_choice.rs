//! The fastest thread granularity, from measurements.

use std::collections::BTreeMap;

use crate::calibration::GranularityLine;
use crate::error::PredictError;
use crate::published::{Granularity, GranularityModel, GranularitySample};
use crate::samples::GranularityRecord;

/// How the work of a convolution is best divided among an accelerator's threads, by lines that are fitted to
/// measurements, one per policy and granularity.
#[derive(Debug, Clone, PartialEq)]
pub struct GranularityChoice {
    /// By the number of the policy.
    models: BTreeMap<u32, GranularityModel>,
}

impl GranularityChoice {
    /// Fits the lines to the records of one accelerator.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`] with fewer than two different convolutions.
    pub fn fit<'a>(records: impl IntoIterator<Item = &'a GranularityRecord>) -> Result<Self, PredictError> {
        let mut by_policy: BTreeMap<u32, Vec<GranularitySample>> = BTreeMap::new();
        for record in records {
            by_policy.entry(record.policy).or_default().push(GranularitySample {
                granularity: Granularity(record.granularity),
                macs: record.macs,
                seconds: record.seconds,
            });
        }
        if by_policy.is_empty() {
            return Err(PredictError::TooFewSamples { what: "granularities".to_owned(), found: 0, needed: 2 });
        }
        // The device's clock is not known; the lines hold at whatever it is.
        let fit =
            |(policy, samples): (u32, Vec<GranularitySample>)| Ok((policy, GranularityModel::fit(1.0, &samples)?));
        Ok(Self { models: by_policy.into_iter().map(fit).collect::<Result<_, PredictError>>()? })
    }

    /// The lines of all policies.
    pub(crate) fn lines(&self) -> impl Iterator<Item = GranularityLine> {
        let all = self.models.values().flat_map(GranularityModel::lines);
        all.map(|(&Granularity(granularity), &line)| GranularityLine { granularity, line })
    }

    /// The policy's number and the granularity that are fastest for so many multiply-accumulates.
    pub fn best(&self, macs: u64) -> Option<(u32, Granularity)> {
        let best = self.models.iter().filter_map(|(&policy, model)| {
            let granularity = model.best(macs)?;
            Some((model.seconds(granularity, macs)?, policy, granularity))
        });
        best.min_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, policy, granularity)| (policy, granularity))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_fastest_of_all_policies_is_chosen_by_the_amount_of_work() {
        let record = |policy, granularity, macs: u64, seconds| GranularityRecord {
            accelerator: "G".into(),
            policy,
            granularity,
            macs,
            seconds,
        };
        // Policy 1 starts cheaply, policy 2 is better for much work.
        let records = [
            record(1, 1, 100, 1.0 + 1.0),
            record(1, 1, 1000, 1.0 + 10.0),
            record(2, 8, 100, 5.0 + 0.1),
            record(2, 8, 1000, 5.0 + 1.0),
        ];
        let choice = GranularityChoice::fit(&records).unwrap();
        assert_eq!(choice.best(200), Some((1, Granularity(1))));
        assert_eq!(choice.best(900), Some((2, Granularity(8))));
        assert!(GranularityChoice::fit(&[]).is_err() && GranularityChoice::fit(&records[..1]).is_err());
    }
}
