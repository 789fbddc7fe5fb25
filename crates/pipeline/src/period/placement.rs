//! The best chain of stages on processors that are given: nothing is merged, divided or replicated.

use std::ops::Range;

/// A stage of [`best_placement`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedStage {
    /// Its layers, counted from 0.
    pub layers: Range<usize>,
    /// The kind of processor that it runs on.
    pub kind: usize,
}

/// The chain of stages with the shortest period, where `counts[kind]` processors of each kind may own one stage each
/// and a stage of `layers` on `kind` takes `time(kind, layers)`. Also returns that period.
///
/// Dynamic programming over (layers done, processors of each kind used): exact, in
/// `O(layers^2 * kinds * product of (count + 1))`. `None` if there are no layers or no processors.
///
/// ```
/// use millstream_pipeline::{PlacedStage, best_placement};
///
/// let work = [4, 1, 1, 2];
/// let time = |kind: usize, layers: std::ops::Range<usize>| work[layers].iter().sum::<u64>() * [1, 2][kind];
/// let (stages, period) = best_placement(4, &[1, 2], time).ok_or("no processors")?;
/// // The first layer on the fast processor, 1 + 1 and 2 on a slow one each.
/// let stage = |layers, kind| PlacedStage { layers, kind };
/// assert_eq!(stages, [stage(0..1, 0), stage(1..3, 1), stage(3..4, 1)]);
/// assert_eq!(period, 4);
/// # Ok::<(), &str>(())
/// ```
pub fn best_placement(
    layers: usize,
    counts: &[usize],
    time: impl Fn(usize, Range<usize>) -> u64,
) -> Option<(Vec<PlacedStage>, u64)> {
    let mut strides = Vec::with_capacity(counts.len());
    let mut states = 1;
    for count in counts {
        strides.push(states);
        states *= count + 1;
    }

    let used = |state: usize, kind: usize| state / strides[kind] % (counts[kind] + 1);
    // Shortest period of the first layers with exactly so many processors, and the last stage that gives it.
    let mut best = vec![u64::MAX; (layers + 1) * states];
    let mut choice = vec![(0, 0); (layers + 1) * states];
    best[0] = 0;
    for end in 1..=layers {
        for start in 0..end {
            for kind in 0..counts.len() {
                let stage = time(kind, start..end);
                for state in (0..states).filter(|&state| used(state, kind) < counts[kind]) {
                    let before = best[start * states + state];
                    let target = end * states + state + strides[kind];
                    if before != u64::MAX && before.max(stage) < best[target] {
                        best[target] = before.max(stage);
                        choice[target] = (start, kind);
                    }
                }
            }
        }
    }

    let last = &best[layers * states..];
    let mut state =
        (0..states).min_by_key(|&state| last[state]).filter(|&state| layers > 0 && last[state] != u64::MAX)?;
    let period = last[state];
    let mut end = layers;
    let mut stages = Vec::new();
    while end > 0 {
        let (start, kind) = choice[end * states + state];
        stages.push(PlacedStage { layers: start..end, kind });
        state -= strides[kind];
        end = start;
    }
    stages.reverse();
    Some((stages, period))
}
