//! Speeds of operators that depend on clocks and on who else uses the memory.

use crate::simulation::Simulator;
use crate::state::Event;

impl Simulator<'_> {
    /// Counts what an operator has done since its speed last changed.
    pub(crate) fn settle(&mut self, track: usize) {
        let now = self.now;
        let Some(running) = &mut self.tracks[track].running else { return };
        let passed = now - running.since;
        running.since = now;
        running.left = (running.left - passed as f64 * running.rate).max(0.0);
        self.has_worked(track, passed);
    }

    /// Gives running operators their speeds if something that these depend on has changed.
    pub(crate) fn settle_speeds(&mut self) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }

        let wanted = |&track: &usize| {
            let own = &self.tracks[track];
            own.running.map_or(0.0, |running| running.wanted * self.speeds[own.label].factor())
        };
        let wanted: Vec<f64> = self.running.iter().map(wanted).collect();
        let most = match self.conditions.memory_bytes_per_second {
            Some(rate) => fair_share(&wanted, rate * 1e-9),
            None => f64::INFINITY,
        };

        for (index, wanted) in wanted.into_iter().enumerate() {
            let track = self.running[index];
            let factor = self.speeds[self.tracks[track].label].factor();
            let rate = if wanted > most { factor * most / wanted } else { factor };
            if self.tracks[track].running.is_none_or(|running| running.rate == rate) {
                continue;
            }
            self.settle(track);
            let own = &mut self.tracks[track];
            own.version += 1;
            let (slot, number, version) = (own.slot, own.number as u32, own.version);
            if let Some(running) = &mut own.running {
                running.rate = rate;
                let delay = (running.left / rate).ceil() as u64;
                self.schedule(delay, slot, Event::Done(number, version));
            }
        }
    }
}

/// The most that anybody gets when all together get at most so much, and nobody more than it wants (max-min fairness).
fn fair_share(wanted: &[f64], total: f64) -> f64 {
    if wanted.iter().sum::<f64>() <= total {
        return f64::INFINITY;
    }
    let mut sorted = wanted.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut left = total;
    for (index, want) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index) as f64;
        if *want > share {
            return share;
        }
        left -= want;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_than_it_wants_or_less_than_its_share() {
        assert_eq!(fair_share(&[1.0, 2.0], 4.0), f64::INFINITY);
        assert_eq!(fair_share(&[1.0, 5.0, 5.0], 7.0), 3.0);
        assert_eq!(fair_share(&[4.0, 4.0], 2.0), 1.0);
    }
}
