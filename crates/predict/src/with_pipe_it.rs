//! Convolutions by Pipe-it's model, beside what is known of a board.

use millstream_board::Cluster;

use crate::error::PredictError;
use crate::models::CostModels;
use crate::pipe_it_costs::PipeItCosts;
use crate::profile::Profile;

impl CostModels {
    /// The same with Pipe-it's models of convolutions with the first engine of each cluster, fitted to the same
    /// profile: what tables take for convolutions in one group, wherever these predict a time above 0. Everything else
    /// is as it was.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`] if a cluster's samples do not determine the
    /// models.
    pub fn with_pipe_it(self, profile: &Profile) -> Result<Self, PredictError> {
        let board = profile.board()?;
        let fit = |cluster: &Cluster| PipeItCosts::fit(profile, cluster);
        let convolutions = board.clusters().iter().map(fit).collect::<Result<_, _>>()?;
        Ok(Self { convolutions, ..self })
    }
}
