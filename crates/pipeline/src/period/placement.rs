//! The best chain of stages on processors that are given: nothing is merged, divided or replicated.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_partition::BlockId;

use crate::board::cluster_id::ClusterId;
use crate::board::cores::{CoreCounts, Cores};
use crate::ways::prefixes::{PrefixId, PrefixTable, Prefixes};

/// What can't run takes this long.
const NEVER: Nanoseconds = Nanoseconds(u64::MAX);

/// A stage of [`best_placement`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedStage {
    /// Its layers, counted from 0.
    pub layers: Range<usize>,
    /// The kind of processor that it runs on, by its place in the counts of all kinds.
    pub kind: usize,
}

/// The best of the first layers on processors that are counted by kind.
#[derive(Clone, Copy)]
struct Placed {
    period: Nanoseconds,
    /// Where the last stage begins, and what it runs on.
    start: usize,
    kind: usize,
}

/// One more processor of a kind.
struct OneMore {
    kind: usize,
    one: Cores,
    /// What leaves room for it.
    beside: Vec<Cores>,
}

/// The chain of stages with the shortest period, where `counts[kind]` processors of each kind may own one stage each
/// and a stage of `layers` on `kind` takes `time(kind, layers)`. Also returns that period.
///
/// Dynamic programming over (layers done, processors of each kind used): exact, in
/// `O(layers^2 * kinds * product of (count + 1))`. `None` if there are no layers or no processors.
///
/// ```
/// use millstream_cost::Nanoseconds;
/// use millstream_pipeline::{PlacedStage, best_placement};
///
/// let work = [4, 1, 1, 2];
/// let time = |kind: usize, layers: std::ops::Range<usize>| {
///     Nanoseconds(work[layers].iter().sum::<u64>() * [1, 2][kind])
/// };
/// let (stages, period) = best_placement(4, &[1, 2], time).ok_or("no processors")?;
/// // The first layer on the fast processor, 1 + 1 and 2 on a slow one each.
/// let stage = |layers, kind| PlacedStage { layers, kind };
/// assert_eq!(stages, [stage(0..1, 0), stage(1..3, 1), stage(3..4, 1)]);
/// assert_eq!(period, Nanoseconds(4));
/// # Ok::<(), &str>(())
/// ```
pub fn best_placement(
    layers: usize,
    counts: &[usize],
    time: impl Fn(usize, Range<usize>) -> Nanoseconds,
) -> Option<(Vec<PlacedStage>, Nanoseconds)> {
    let all = CoreCounts::new(counts.to_vec());
    let one_more = |kind: usize| {
        let one = all.of_cluster(ClusterId::new(kind), 1);
        OneMore { kind, one, beside: all.with_room_for(one) }
    };
    let kinds: Vec<OneMore> = (0..counts.len()).filter(|&kind| counts[kind] > 0).map(one_more).collect();

    let prefixes = Prefixes::new(layers, 1);
    let prefix = |done: usize| prefixes.first_after(BlockId::new(done));
    let mut best: PrefixTable<Option<Placed>> = PrefixTable::filled(prefixes, all.len(), None);
    best[(PrefixId::NONE, Cores::NONE)] = Some(Placed { period: Nanoseconds::ZERO, start: 0, kind: 0 });
    for end in 1..=layers {
        for start in 0..end {
            for OneMore { kind, one, beside } in &kinds {
                let stage = time(*kind, start..end);
                for &used in beside {
                    let Some(before) = best[(prefix(start), used)] else { continue };
                    let period = before.period.max(stage);
                    let known = &mut best[(prefix(end), used + *one)];
                    if period < known.map_or(NEVER, |known| known.period) {
                        *known = Some(Placed { period, start, kind: *kind });
                    }
                }
            }
        }
    }

    let whole = |used: Cores| best[(prefix(layers), used)].map(|placed| (placed.period, used));
    let (period, mut used) = all.all().filter_map(whole).min().filter(|_| layers > 0)?;
    let mut end = layers;
    let mut stages = Vec::new();
    while end > 0 {
        let Placed { start, kind, .. } = best[(prefix(end), used)]?;
        stages.push(PlacedStage { layers: start..end, kind });
        used = used - all.of_cluster(ClusterId::new(kind), 1);
        end = start;
    }
    stages.reverse();
    Some((stages, period))
}
