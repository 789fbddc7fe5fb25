//! A digest that tells one board's hardware and engines from another's.

use sha2::{Digest, Sha256};

use crate::accelerator::Accelerator;
use crate::board::Board;
use crate::provider::Provider;

impl Board {
    /// Identifies the hardware and what computes on it, whatever the board is called: a digest of clusters, cores,
    /// speeds, caches, engines, accelerators and the quota of processor time.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for cluster in &self.clusters {
            let fastest = cluster.operating_points.last().map_or(0, |point| point.hertz);
            hasher.update(format!("{} {:?} {} {fastest} ", cluster.label, cluster.core_type, cluster.capacity));
            for core in &cluster.cores {
                hasher.update(format!("{} {:?} ", core.id, core.emulated_slowdown));
            }
            for cache in &cluster.caches {
                hasher.update(format!("{} {} ", cache.level, cache.bytes));
            }
            if !cluster.engines.is_default() {
                hasher.update(format!("{} ", cluster.engines));
            }
        }

        if let Some(cores) = self.quota_cores {
            hasher.update(format!("quota {cores} "));
        }
        for accelerator in &self.accelerators {
            let Accelerator { label, kind, name, processing_elements, hertz, .. } = accelerator;
            hasher.update(format!("{label} {kind} {name:?} {processing_elements:?} {hertz:?} "));
            if let Some(engine) = accelerator.engine {
                hasher.update(format!("{engine} "));
            }
            if accelerator.device.is_some() || accelerator.same_device_as.is_some() {
                hasher.update(format!("{:?} {:?} ", accelerator.device, accelerator.same_device_as));
            }
        }
        for provider in self.providers.iter().filter(|provider| self.is_in_use(provider)) {
            let Provider { engine, provider, options, library, device } = provider;
            hasher.update(format!("{engine} {provider} {options:?} {library:?} {device:?} "));
        }
        hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a cluster or an accelerator computes with it.
    fn is_in_use(&self, provider: &Provider) -> bool {
        self.clusters.iter().any(|cluster| cluster.engines.contains(provider.engine()))
            || self.accelerators.iter().any(|accelerator| accelerator.engine == Some(provider.engine))
    }
}
