use millstream_cost::{Granularity, GranularityModel};

/// What an invocation of the convolution shader computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadWork {
    /// How many outputs: the thread granularity `g`.
    pub outputs: u32,
    /// Which ones.
    pub policy: Policy,
}

/// Which outputs an invocation computes together (thread granularity, section 6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Policy 1: neighbouring pixels of one channel. They share the weights and some inputs.
    NeighbouringPixels,
    /// Policy 2: the same pixel of several channels. They share the inputs.
    SamePixel,
    /// Policy 3: outputs that have nothing in common.
    Unrelated,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::NeighbouringPixels, Self::SamePixel, Self::Unrelated];

    /// The policy's number in the paper.
    pub fn number(self) -> u32 {
        match self {
            Self::NeighbouringPixels => 1,
            Self::SamePixel => 2,
            Self::Unrelated => 3,
        }
    }
}

/// How the work of each convolution is chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkChoice {
    /// The same for all.
    Fixed(ThreadWork),
    /// What the fitted lines say is fastest for the convolution's multiply-accumulates, of any policy that has lines.
    Fitted(Vec<(Policy, GranularityModel)>),
}

impl Default for WorkChoice {
    /// What did best without any measurement on the devices at hand: eight channels of a pixel.
    fn default() -> Self {
        Self::Fixed(ThreadWork { outputs: 8, policy: Policy::SamePixel })
    }
}

impl WorkChoice {
    /// The work for a convolution of so many multiply-accumulates.
    pub fn of(&self, macs: u64) -> ThreadWork {
        match self {
            Self::Fixed(work) => *work,
            Self::Fitted(models) => {
                let best = models.iter().filter_map(|(policy, model)| {
                    let Granularity(outputs) = model.best(macs)?;
                    Some((model.seconds(Granularity(outputs), macs)?, ThreadWork { outputs, policy: *policy }))
                });
                let fastest = best.min_by(|left, right| left.0.total_cmp(&right.0));
                fastest.map_or(ThreadWork { outputs: 1, policy: Policy::SamePixel }, |(_, work)| work)
            }
        }
    }
}
