//! The process that sets speeds of operators: they depend on clocks and on who else uses the memory.

use millstream_cost::Nanoseconds;

use crate::state::board::BoardState;
use crate::state::events::{EventQueue, ReplicaStep};
use crate::state::ids::BoardProcessorIndex;

/// Gives running operators their speeds if something that these depend on has changed. All processors together move at
/// most so many bytes a second to and from memory, if there is a limit.
pub(crate) fn update_speeds(queue: &mut EventQueue, board: &mut BoardState, memory_bytes_per_second: Option<f64>) {
    if !board.take_speeds_due() {
        return;
    }

    let wanted = |&processor_index: &BoardProcessorIndex| {
        let progress = board.processors[processor_index].progress;
        progress.map_or(0.0, |progress| progress.wanted * cluster_factor(board, processor_index))
    };
    let wanted: Vec<f64> = board.running().iter().map(wanted).collect();
    let most = match memory_bytes_per_second {
        Some(rate) => fair_share(&wanted, rate * 1e-9),
        None => f64::INFINITY,
    };

    for (index, wanted) in wanted.into_iter().enumerate() {
        let processor_index = board.running()[index];
        let factor = cluster_factor(board, processor_index);
        let rate = if wanted > most { factor * most / wanted } else { factor };
        if board.processors[processor_index].progress.is_some_and(|progress| progress.rate != rate) {
            set_rate(queue, board, processor_index, rate);
        }
    }
}

/// The part of its full speed that a processor's cluster has.
fn cluster_factor(board: &BoardState, processor_index: BoardProcessorIndex) -> f64 {
    board.clusters[board.processors[processor_index].cluster].speed.factor()
}

/// Gives the operator that a processor runs another part of its full speed, and schedules its end anew.
fn set_rate(queue: &mut EventQueue, board: &mut BoardState, processor_index: BoardProcessorIndex, rate: f64) {
    board.settle(processor_index, queue.now());
    let processor = &mut board.processors[processor_index];
    processor.version += 1;

    let (replica_index, number, version) = (processor.replica_index, processor.number, processor.version);
    if let Some(progress) = &mut processor.progress {
        progress.rate = rate;
        let delay = Nanoseconds((progress.left / rate).ceil() as u64);
        queue.after(delay, board.event(replica_index, ReplicaStep::TaskEnded { processor: number, version }));
    }
}

/// The most that anyone gets when all together get `total` at most, and none more than it wants (max-min fairness).
/// Infinite if all get what they want.
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
