//! Dividing channels between two processors.

/// How many output channels each of two processors makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Channels that the accelerator makes.
    pub accelerator: u64,
    /// Channels that the CPU makes.
    pub cpu: u64,
}

impl Split {
    /// Time until both parts are done, both starting at once; costs are in seconds by channels.
    pub fn seconds(&self, accelerator: impl Fn(u64) -> f64, cpu: impl Fn(u64) -> f64) -> f64 {
        accelerator(self.accelerator).max(cpu(self.cpu))
    }
}

/// Channels in proportion to the speeds that the processors have with all of them, rounded up for the accelerator
/// (co-scheduling, equations 12 and 13).
pub fn published_split(channels: u64, accelerator_seconds: f64, cpu_seconds: f64) -> Split {
    let share = cpu_seconds / (accelerator_seconds + cpu_seconds);
    let accelerator = ((share * channels as f64).ceil().max(0.0) as u64).min(channels);
    Split { accelerator, cpu: channels - accelerator }
}

/// The split that is done first; of equals, the one with the fewest channels on the accelerator. Costs may be any
/// functions of the number of channels.
pub fn exact_split(channels: u64, accelerator: impl Fn(u64) -> f64, cpu: impl Fn(u64) -> f64) -> Split {
    let mut best = Split { accelerator: 0, cpu: channels };
    let mut shortest = best.seconds(&accelerator, &cpu);
    for count in 1..=channels {
        let split = Split { accelerator: count, cpu: channels - count };
        let seconds = split.seconds(&accelerator, &cpu);
        if seconds < shortest {
            (best, shortest) = (split, seconds);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_papers_example_of_a_proportion() {
        // An accelerator three times as fast gets three quarters.
        assert_eq!(published_split(64, 1.0, 3.0), Split { accelerator: 48, cpu: 16 });
        assert_eq!(published_split(65, 1.0, 3.0), Split { accelerator: 49, cpu: 16 });
    }

    proptest! {
        #[test]
        fn exact_is_never_worse_than_published_or_either_alone(
            channels in 1_u64..200, wave in 1_u64..16, per_wave in 0.1..10.0_f64, start in 0.0..5.0_f64, per_channel in 0.01..3.0_f64,
        ) {
            let accelerator =
                |count: u64| if count == 0 { 0.0 } else { start + count.div_ceil(wave) as f64 * per_wave };
            let cpu = |count: u64| count as f64 * per_channel;
            let best = exact_split(channels, accelerator, cpu);
            let published = published_split(channels, accelerator(channels), cpu(channels));
            prop_assert_eq!(best.accelerator + best.cpu, channels);
            prop_assert_eq!(published.accelerator + published.cpu, channels);
            let seconds = best.seconds(accelerator, cpu);
            prop_assert!(seconds <= published.seconds(accelerator, cpu));
            prop_assert!(seconds <= accelerator(channels).min(cpu(channels)));
        }
    }
}
