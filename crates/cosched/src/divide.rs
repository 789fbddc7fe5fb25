//! Dividing the operators of a replica wherever that lets it finish earlier.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{Along, Graph, OperatorId};
use millstream_schedule::execution::{Execution, ProcessorId};
use millstream_schedule::{OperatorSplit, Replica, ReplicaTasks};

use crate::attention::Attention;
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

/// Divides operators by output channels between the replica's processors, one after the other, each where that brings
/// down `finish`, and the operators that follow it channel by channel with it; and attention by heads. `finish` says
/// when a replica is done, by whatever counts for the caller. What can't run stays as it is.
///
/// For each operator, the exact division of its own cost ([`exact_shares`](crate::exact_shares)) is tried in place,
/// with and without its followers, and then shifted as long as that helps. Operators for which `is_free` is false stay
/// as they are.
pub fn divide(
    replica: Replica,
    graph: &Graph,
    table: &CostTable,
    is_free: impl Fn(OperatorId) -> bool,
    finish: impl Fn(Executed<'_>) -> Nanoseconds,
) -> Replica {
    Division { graph, table, shifting: Shifting::All, is_free, finish }.run(replica)
}

/// Divides operators as [`divide()`] does, in less time: a division is shifted only if the replica takes at most
/// `most_above` times as long with it as with what was found before, and channels are only moved away from the
/// processor whose part takes longest. That misses divisions which only become worthwhile when they are shifted
/// further.
pub fn divide_where_close(
    replica: Replica,
    graph: &Graph,
    table: &CostTable,
    most_above: f64,
    is_free: impl Fn(OperatorId) -> bool,
    finish: impl Fn(Executed<'_>) -> Nanoseconds,
) -> Replica {
    Division { graph, table, shifting: Shifting::WhereClose { most_above }, is_free, finish }.run(replica)
}

/// Which divisions are shifted, and from where.
#[derive(Clone, Copy)]
enum Shifting {
    /// All, from any processor to any other.
    All,
    /// Those with which the replica takes at most `most_above` times as long as with what was found before, from the
    /// processor whose part takes longest.
    WhereClose { most_above: f64 },
}

impl Shifting {
    /// Whether a division is shifted with which the replica takes `time`, where it takes `before` with what was found
    /// before.
    fn is_worth(self, time: Nanoseconds, before: Nanoseconds) -> bool {
        match self {
            Self::All => true,
            Self::WhereClose { most_above } => time.0 as f64 <= before.0 as f64 * most_above,
        }
    }
}

/// What there is to share out: channels, in groups of `unit`, or heads.
#[derive(Clone, Copy)]
struct Pieces {
    all: usize,
    unit: usize,
}

/// A way for channels to move from one processor of a replica to another.
struct Move {
    from: ProcessorId,
    to: ProcessorId,
}

/// What a replica's operators are divided by.
struct Division<'t, Free, Finish> {
    graph: &'t Graph,
    table: &'t CostTable,
    shifting: Shifting,
    is_free: Free,
    finish: Finish,
}

impl<'t, Free, Finish> Division<'t, Free, Finish>
where
    Free: Fn(OperatorId) -> bool,
    Finish: Fn(Executed<'_>) -> Nanoseconds,
{
    /// The replica with its operators divided; as it is if it can't run, or has nothing to share with.
    fn run(&self, replica: Replica) -> Replica {
        if replica.assignments.len() < 2 {
            return replica;
        }
        match self.executed(replica) {
            Ok(undivided) => self.divided(undivided),
            Err(replica) => replica,
        }
    }

    /// The replica as it runs, or itself if it can't run.
    fn executed(&self, replica: Replica) -> Result<Trial<'t>, Replica> {
        let Ok(tasks) = ReplicaTasks::new(&replica, self.graph, self.table) else { return Err(replica) };
        let Ok(order) = tasks.run_order(self.graph) else { return Err(replica) };
        let mut execution = Execution::new(&tasks);
        tasks.execute_again(&order, &mut execution);
        let time = (self.finish)(Executed { replica: &replica, tasks: &tasks, execution: &execution });
        Ok(Trial { replica, tasks, execution, order, time })
    }

    /// Divides one operator after the other, those with the most work first, as long as a round over all of them gains
    /// something.
    fn divided(&self, mut best: Trial<'t>) -> Replica {
        let can_be = |&id: &OperatorId| (self.is_free)(id) && self.graph.channel_units(id).is_some();
        let mut heads: Vec<OperatorId> = best.replica.operators().filter(can_be).collect();
        heads.sort_by_key(|&id| std::cmp::Reverse(self.graph.operator(id).work.macs));
        let attention = Attention::of_replica(&best.replica, self.graph, &self.is_free);

        for _ in 0..MOST_ROUNDS {
            let before = best.time;
            for &head in &heads {
                if let Some(better) = self.improved(&best, head) {
                    best = better;
                }
            }
            for group in &attention {
                if let Some(better) = self.divided_by_heads(&best, group) {
                    best = better;
                }
            }
            if best.time >= before {
                break;
            }
        }
        best.replica
    }

    /// The replica with one operator divided, divided in another way, or whole again, if it is done earlier then; if it
    /// is done as early, the operator is better whole.
    fn improved(&self, known: &Trial<'t>, head: OperatorId) -> Option<Trial<'t>> {
        if known.replica.split_of(head).is_none() {
            return self.best_division(known, head, known.time);
        }

        let whole = self.executed(undivided(&known.replica, head)?).ok()?;
        let better = self.best_division(&whole, head, known.time);
        // Perhaps the division is not worth it any more.
        let least = better.as_ref().map_or(known.time, |better| better.time);
        if whole.time <= least { Some(whole) } else { better }
    }

    /// The best of the divisions of an operator that is whole, if it is better than `time`.
    fn best_division(&self, whole: &Trial<'_>, head: OperatorId, mut time: Nanoseconds) -> Option<Trial<'t>> {
        let units = self.graph.channel_units(head)?;
        let pieces = Pieces { all: units.channels, unit: units.unit };
        let mut best = None;
        for candidate in candidates(whole, head, self.graph, self.table, &self.is_free) {
            let Ok(mut trial) = self.executed(candidate) else { continue };
            if self.shifting.is_worth(trial.time, time) {
                self.shift(&mut trial, head, pieces);
            }
            if trial.time < time {
                time = trial.time;
                best = Some(trial);
            }
        }
        best
    }

    /// The replica with attention divided by heads, if it is done earlier then.
    fn divided_by_heads(&self, known: &Trial<'t>, attention: &Attention) -> Option<Trial<'t>> {
        let mut trial = self.executed(attention.divided(&known.replica, self.graph, self.table)?).ok()?;
        if self.shifting.is_worth(trial.time, known.time) {
            self.shift(&mut trial, attention.head(), Pieces { all: attention.heads(), unit: 1 });
        }
        (trial.time < known.time).then_some(trial)
    }

    /// Moves channels or heads from one processor to another as long as that helps, in ever smaller steps: from any, or
    /// only from the one whose part takes longest.
    fn shift(&self, trial: &mut Trial<'t>, head: OperatorId, Pieces { all, unit }: Pieces) {
        let is_head = |split: &OperatorSplit| split.operators.first() == Some(&head);
        let Some(index) = trial.replica.splits.iter().position(is_head) else { return };
        // The processors that make some of it.
        let takers: Vec<ProcessorId> = ProcessorId::all(trial.replica.assignments.len())
            .filter(|processor| trial.replica.splits[index].shares[processor.index()] > 0)
            .collect();

        let mut step = (all / unit / 4).max(1);
        loop {
            let moved = step * unit;
            let mut has_moved = false;

            for Move { from, to } in self.moves(trial, index, &takers) {
                let shares = &mut trial.replica.splits[index].shares;
                if shares[from.index()] <= moved {
                    continue;
                }
                shares[from.index()] -= moved;
                shares[to.index()] += moved;
                match self.executed_again(trial, index).filter(|found| *found < trial.time) {
                    Some(found) => (trial.time, has_moved) = (found, true),
                    None => {
                        let shares = &mut trial.replica.splits[index].shares;
                        shares[from.index()] += moved;
                        shares[to.index()] -= moved;
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

    /// From where to where channels of a split may be moved, between these processors.
    fn moves(&self, trial: &Trial<'_>, split: usize, takers: &[ProcessorId]) -> Vec<Move> {
        let by_channels = trial.replica.splits[split].along == Along::Channels;
        let sources = match self.shifting {
            Shifting::WhereClose { .. } if by_channels => {
                let time = |&processor: &ProcessorId| self.part_time(&trial.replica, split, processor);
                takers.iter().copied().max_by_key(time).into_iter().collect()
            }
            _ => takers.to_vec(),
        };
        let between =
            |from: ProcessorId| takers.iter().filter(move |&&to| to != from).map(move |&to| Move { from, to });
        sources.into_iter().flat_map(between).collect()
    }

    /// What the part of a divided operator takes that a processor of the replica makes.
    fn part_time(&self, replica: &Replica, split: usize, processor: ProcessorId) -> Option<Nanoseconds> {
        let split = &replica.splits[split];
        let class = self.table.find(&replica.assignments[processor.index()].processor.class())?;
        self.table.part_time(class, *split.operators.first()?, split.shares[processor.index()], split.total(), false)
    }

    /// When the replica is done once the shares of one split have changed.
    fn executed_again(&self, trial: &mut Trial<'t>, split: usize) -> Option<Nanoseconds> {
        let Trial { replica, tasks, execution, order, .. } = trial;
        tasks.reshare(replica, split, self.graph).ok()?;
        tasks.execute_again(order, execution);
        Some((self.finish)(Executed { replica, tasks, execution }))
    }
}

/// The replica with the operator's group back on the processor that makes the most of it; itself if it is not divided.
/// `None` if the operator is divided as a follower of another one.
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
