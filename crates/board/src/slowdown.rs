//! Boards on which single cores are slower than their neighbours.

use crate::board::Board;
use crate::cluster::Core;
use crate::core_id::CoreId;
use crate::error::BoardError;
use crate::label;

impl Board {
    /// The same board with some cores so many times slower. Each slowed core becomes a cluster of its own, because it
    /// is no longer like its neighbours. The load that makes it slow is the caller's business.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] if a core does not exist or a factor is not above 1.
    pub fn with_slowdown(&self, slowed: &[(CoreId, f64)]) -> Result<Self, BoardError> {
        let mut board = self.clone();
        for &(id, factor) in slowed {
            let invalid = |detail: String| BoardError::Invalid { field: format!("slow core {id}"), detail };
            if !(factor.is_finite() && factor > 1.0) {
                return Err(invalid(format!("the factor is {factor}, it must be above 1")));
            }
            let known: Vec<u32> = board.cores().map(|core| core.id.0).collect();
            let home = board.clusters.iter_mut().find(|cluster| cluster.cores.iter().any(|core| core.id == id));
            let home = home.ok_or_else(|| {
                invalid(format!("does not exist or may not be used by this process; the cores are {known:?}"))
            })?;
            let mut slow_cluster = home.clone();
            home.cores.retain(|core| core.id != id);
            slow_cluster.cores.retain(|core| core.id == id);
            for core in &mut slow_cluster.cores {
                core.emulated_slowdown = Some(core.emulated_slowdown.unwrap_or(1.0) * factor);
            }
            slow_cluster.capacity = ((f64::from(slow_cluster.capacity) / factor) as u32).max(1);
            board.clusters.push(slow_cluster);
            board.clusters.retain(|cluster| !cluster.cores.is_empty());
        }
        label::sort_and_label(&mut board.clusters);
        // Labels may name other clusters now.
        board.links.clear();
        Ok(board)
    }

    /// Whether the system is known to hold up the work on cores of the cluster with this label again and again: because
    /// load runs beside it that makes them appear slower ([`Board::with_slowdown`]), or because a container's quota is
    /// used up ([`Board::quota_cores`]). One such core counts for its whole cluster, whose cores are alike. What is
    /// measured there depends on how the system shares a core, for which those who measure allow; `false` on
    /// accelerators.
    pub fn is_slowed(&self, cluster: &str) -> bool {
        let slowed = |core: &Core| self.quota_cores.is_some() || core.emulated_slowdown.is_some();
        self.clusters.iter().any(|own| own.label == cluster && own.cores.iter().any(slowed))
    }
}
