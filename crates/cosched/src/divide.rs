//! Dividing the operators of a replica wherever that lets it finish earlier.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{ChannelUnits, Graph, OperatorId};
use millstream_schedule::execution::Execution;
use millstream_schedule::{Replica, ReplicaTasks};

use crate::candidates::candidates;
use crate::trial::Trial;

/// Rounds over all operators: what one division changes may make another one worthwhile.
const MOST_ROUNDS: usize = 4;

/// A replica with its tasks, which were executed.
#[derive(Clone, Copy)]
pub struct Executed<'a> {
    /// The replica.
    pub replica: &'a Replica,
    /// Its tasks.
    pub tasks: &'a ReplicaTasks<'a>,
    /// When they ran.
    pub execution: &'a Execution,
}

/// Divides operators by output channels between the replica's processors, one after the other, each where that brings down
/// `finish`, and the operators that follow it channel by channel with it. `finish` says when a replica is done, by whatever counts
/// for the caller. What can't run stays as it is.
///
/// For each operator, the exact division of its own cost ([`exact_shares`](crate::exact_shares)) is tried in place, with and without its
/// followers, and then shifted as long as that helps. Operators for which `is_free` is false stay as they are.
pub fn divide(
    replica: Replica,
    graph: &Graph,
    table: &CostTable,
    is_free: impl Fn(OperatorId) -> bool,
    finish: impl Fn(Executed<'_>) -> Nanoseconds,
) -> Replica {
    divide_where_close(replica, graph, table, f64::INFINITY, is_free, finish)
}

/// The same where there is much to divide: a division is shifted only if the replica is done at most `most_above` times as late with it as
/// without, and only from the processor whose part takes longest, unless `most_above` is infinite. Some divisions that shifting would make
/// worthwhile are missed, and most of the time is saved.
pub fn divide_where_close(
    replica: Replica,
    graph: &Graph,
    table: &CostTable,
    most_above: f64,
    is_free: impl Fn(OperatorId) -> bool,
    finish: impl Fn(Executed<'_>) -> Nanoseconds,
) -> Replica {
    if replica.assignments.len() < 2 {
        return replica;
    }
    let division = Division { graph, table, most_above, is_free, finish };
    match division.executed(replica) {
        Ok(undivided) => division.divided(undivided),
        Err(replica) => replica,
    }
}

struct Division<'t, Free, Finish> {
    graph: &'t Graph,
    table: &'t CostTable,
    most_above: f64,
    is_free: Free,
    finish: Finish,
}

impl<'t, Free, Finish> Division<'t, Free, Finish>
where
    Free: Fn(OperatorId) -> bool,
    Finish: Fn(Executed<'_>) -> Nanoseconds,
{
    /// The replica again if it can't run.
    fn executed(&self, replica: Replica) -> Result<Trial<'t>, Replica> {
        let Ok(tasks) = ReplicaTasks::new(&replica, self.graph, self.table) else { return Err(replica) };
        let Ok(order) = tasks.run_order(self.graph) else { return Err(replica) };
        let mut execution = Execution::new(&tasks);
        tasks.execute_again(&order, &mut execution);
        let time = (self.finish)(Executed { replica: &replica, tasks: &tasks, execution: &execution });
        Ok(Trial { replica, tasks, execution, order, time })
    }

    fn divided(&self, mut best: Trial<'t>) -> Replica {
        let can_be = |&id: &OperatorId| (self.is_free)(id) && self.graph.channel_units(id).is_some();
        let mut heads: Vec<OperatorId> = best.replica.operators().filter(can_be).collect();
        heads.sort_by_key(|&id| std::cmp::Reverse(self.graph.operator(id).work.macs));

        for _ in 0..MOST_ROUNDS {
            let before = best.time;
            for &head in &heads {
                if best.replica.split_of(head).is_none() {
                    if let Some(better) = self.best_division(&best, head, best.time) {
                        best = better;
                    }
                    continue;
                }
                let Some(Ok(whole)) = undivided(&best.replica, head).map(|whole| self.executed(whole)) else {
                    continue;
                };
                if let Some(better) = self.best_division(&whole, head, best.time) {
                    best = better;
                }
                // Perhaps it is not worth it any more.
                if whole.time <= best.time {
                    best = whole;
                }
            }
            if best.time >= before {
                break;
            }
        }
        best.replica
    }

    /// The best of the divisions of an operator that is whole, if it is better than `time`.
    fn best_division(&self, whole: &Trial<'_>, head: OperatorId, mut time: Nanoseconds) -> Option<Trial<'t>> {
        let mut best = None;
        for candidate in candidates(whole, head, self.graph, self.table, &self.is_free) {
            let Ok(mut trial) = self.executed(candidate) else { continue };
            if trial.time.0 as f64 <= time.0 as f64 * self.most_above {
                self.shift(&mut trial, head);
            }
            if trial.time < time {
                time = trial.time;
                best = Some(trial);
            }
        }
        best
    }

    /// Moves channels of an operator from one processor to another as long as that helps, in ever smaller steps: from any, or only from the
    /// one whose part takes longest.
    fn shift(&self, trial: &mut Trial<'t>, head: OperatorId) {
        let is_head = |split: &millstream_schedule::OperatorSplit| split.operators.first() == Some(&head);
        let Some(index) = trial.replica.splits.iter().position(is_head) else { return };
        let Some(ChannelUnits { channels, unit, .. }) = self.graph.channel_units(head) else { return };
        let takers: Vec<usize> = (0..trial.replica.assignments.len())
            .filter(|&position| trial.replica.splits[index].shares[position] > 0)
            .collect();

        let mut step = (channels / unit / 4).max(1);
        loop {
            let moved = step * unit;
            let mut has_moved = false;
            for (from, to) in self.moves(trial, index, &takers) {
                if from == to || trial.replica.splits[index].shares[from] <= moved {
                    continue;
                }
                trial.replica.splits[index].shares[from] -= moved;
                trial.replica.splits[index].shares[to] += moved;
                match self.executed_again(trial, index).filter(|found| *found < trial.time) {
                    Some(found) => (trial.time, has_moved) = (found, true),
                    None => {
                        trial.replica.splits[index].shares[from] += moved;
                        trial.replica.splits[index].shares[to] -= moved;
                    }
                }
            }
            if !has_moved && step == 1 {
                break;
            }
            if !has_moved {
                step /= 2;
            }
        }
        // The last move that was tried was most likely taken back.
        self.executed_again(trial, index);
    }

    /// From where to where channels may be moved.
    fn moves(&self, trial: &Trial<'_>, index: usize, takers: &[usize]) -> Vec<(usize, usize)> {
        let from_any = self.most_above == f64::INFINITY;
        let longest = takers.iter().copied().max_by_key(|&position| self.part_time(&trial.replica, index, position));
        let sources = takers.iter().copied().filter(|&from| from_any || Some(from) == longest);
        sources.flat_map(|from| takers.iter().map(move |&to| (from, to))).collect()
    }

    /// What a processor's part of a divided operator takes.
    fn part_time(&self, replica: &Replica, index: usize, position: usize) -> Option<Nanoseconds> {
        let split = &replica.splits[index];
        let class = self.table.find(&replica.assignments[position].processor.class())?;
        self.table.part_time(class, split.operators.first()?.index(), split.shares[position], split.total(), false)
    }

    /// When the replica is done once the shares of one split have changed.
    fn executed_again(&self, trial: &mut Trial<'t>, split: usize) -> Option<Nanoseconds> {
        let Trial { replica, tasks, execution, order, .. } = trial;
        tasks.reshare(replica, split, self.graph).ok()?;
        tasks.execute_again(order, execution);
        Some((self.finish)(Executed { replica, tasks, execution }))
    }
}

/// The replica with the operator's group back on the processor that makes the most of it; itself if it is not divided. `None` if
/// the operator is divided as a follower of another one.
fn undivided(replica: &Replica, head: OperatorId) -> Option<Replica> {
    let Some(index) = replica.splits.iter().position(|split| split.operators.contains(&head)) else {
        return Some(replica.clone());
    };
    let mut whole = replica.clone();
    let split = whole.splits.remove(index);
    if split.operators.first() != Some(&head) {
        return None;
    }
    let home = (0..split.shares.len()).max_by_key(|&position| split.shares[position])?;
    for (position, assignment) in whole.assignments.iter_mut().enumerate() {
        if position != home {
            assignment.operators.retain(|id| !split.operators.contains(id));
        }
    }
    Some(whole)
}
