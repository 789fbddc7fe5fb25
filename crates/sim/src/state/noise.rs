//! Noise on the times of operators and links.

use millstream_cost::Nanoseconds;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A source of lognormal factors whose mean is 1. The same seed gives the same factors.
#[derive(Debug)]
pub(crate) struct Noise {
    /// Standard deviation of the factors' logarithms.
    sigma: f64,
    random: ChaCha8Rng,
}

impl Noise {
    pub(crate) fn new(sigma: f64, seed: u64) -> Self {
        Self { sigma, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// A time multiplied by the next factor; the time itself, without a draw, if there is no noise.
    pub(crate) fn on(&mut self, time: Nanoseconds) -> Nanoseconds {
        let sigma = self.sigma;
        if sigma <= 0.0 {
            return time;
        }
        let normal: f64 = StandardNormal.sample(&mut self.random);
        Nanoseconds((time.0 as f64 * (sigma * normal - sigma * sigma / 2.0).exp()).round() as u64)
    }
}
