//! The co-scheduling paper's way to run a network: every convolution on a CPU and an accelerator, the rest on the CPU.

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Along, ChannelUnits, Graph, OperatorId, OperatorKind};
use millstream_schedule::{OperatorSplit, Replica};

use crate::pair::published_split;

/// A network on a CPU and an accelerator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoScheduled {
    /// The accelerator and the CPU with all operators.
    pub replica: Replica,
    /// Convolutions that both work on.
    pub divided: usize,
    /// All convolutions.
    pub convolutions: usize,
}

/// Divides every convolution of a network between an accelerator and a CPU in proportion to their speeds
/// (co-scheduling, equations 12 and 13, with the times of a cost table in the place of equations 9 and 11), and leaves
/// everything else to the CPU. As in the paper, the normalisation and the activation that follow a convolution are a
/// part of it, where the accelerator runs them as well.
///
/// `pair` is a replica of two processors, the accelerator first; what it runs is of no account. `order` has all
/// operators in an order in which they can run. Channels go in whole units; a convolution that can't be divided, or
/// that the accelerator does not run, is the CPU's, and what the CPU does not run is the accelerator's. `None` if there
/// are not two processors that the table knows.
pub fn co_schedule(pair: Replica, order: &[OperatorId], graph: &Graph, table: &CostTable) -> Option<CoScheduled> {
    let [accelerator, cpu] = pair.assignments.as_slice() else { return None };
    let processors = [table.find(&accelerator.processor.class())?, table.find(&cpu.processor.class())?];
    let mut replica = pair;
    replica.assignments.iter_mut().for_each(|assignment| assignment.operators.clear());
    replica.splits.clear();
    let is_convolution = |id: OperatorId| matches!(graph.operator(id).kind, OperatorKind::Convolution(_));
    let convolutions = order.iter().filter(|&&id| is_convolution(id)).count();

    let mut rest = order;
    while let Some(&head) = rest.first() {
        let is_head = is_convolution(head) || is_convolution(graph.divided_operator(head));
        let group = is_head.then(|| group(rest, graph, table, processors)).flatten();
        let length = group.map_or(1, |group| group.operators);
        let (own, after) = rest.split_at(length);
        rest = after;

        let channels = match group {
            Some(group) => shares(own, group.units, table, processors),
            None => {
                let runs = |processor: ClassId| table.time(processor, head).is_some();
                if runs(processors[0]) && !runs(processors[1]) { [1, 0] } else { [0, 1] }
            }
        };
        for (assignment, share) in replica.assignments.iter_mut().zip(channels) {
            if share > 0 {
                assignment.operators.extend_from_slice(own);
            }
        }
        if channels.iter().all(|&share| share > 0) {
            replica.splits.push(OperatorSplit {
                operators: own.to_vec(),
                along: Along::Channels,
                shares: channels.to_vec(),
            });
        }
    }
    let divided = replica.splits.len();
    Some(CoScheduled { replica, divided, convolutions })
}

/// A convolution with what belongs to it, as both processors run it.
#[derive(Clone, Copy)]
struct Group {
    /// How many operators it has, the convolution included.
    operators: usize,
    units: ChannelUnits,
}

/// The first operators as far as they are one convolution to both processors; `None` if it can't be divided.
fn group(rest: &[OperatorId], graph: &Graph, table: &CostTable, processors: [ClassId; 2]) -> Option<Group> {
    let (&head, after) = rest.split_first()?;
    let units = graph.channel_units(head)?;
    let followers = graph.channel_followers(head);
    let is_pool = |id: OperatorId| graph.operator(id).op_type.contains("Pool");
    let in_place = followers.iter().zip(after).take_while(|(follower, next)| follower == next && !is_pool(**follower));
    let most = in_place.count();

    let runs = |id: &OperatorId| processors.iter().all(|&processor| table.time(processor, *id).is_some());
    let is_whole = |&length: &usize| {
        let with = followers.get(..length).unwrap_or_default();
        runs(&head) && with.iter().all(runs) && graph.can_divide_together(head, with)
    };
    let length = (0..=most).rev().find(is_whole)?;
    Some(Group { operators: length + 1, units })
}

/// How many channels the accelerator and the CPU make, in proportion to their speeds.
fn shares(own: &[OperatorId], units: ChannelUnits, table: &CostTable, processors: [ClassId; 2]) -> [usize; 2] {
    let [accelerator, cpu] = processors.map(|processor| {
        let times = own.iter().filter_map(|&id| table.time(processor, id));
        // Whole numbers, so that a ratio of them is as exact as it can be before it is rounded up.
        times.sum::<Nanoseconds>().0 as f64
    });
    let (channels, unit) = (units.channels, units.unit.max(1));
    if accelerator + cpu <= 0.0 {
        return [0, channels];
    }
    let by_speed = published_split(channels as u64, accelerator, cpu);
    let accelerated = (by_speed.accelerator as usize).next_multiple_of(unit).min(channels);
    [accelerated, channels - accelerated]
}
