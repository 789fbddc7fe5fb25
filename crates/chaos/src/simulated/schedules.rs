//! Random schedules: stages, replicas, teams, operators divided by channels, an accelerator.

use millstream_board::Processor;
use millstream_graph::{Along, Graph, OperatorId};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::network::CHANNELS;

/// The label of the accelerator. Everything on it is lost at once.
pub(crate) const DEVICE: &str = "G";

/// Up to three stages of up to three replicas.
pub(crate) fn schedule(graph: &Graph, random: &mut ChaCha8Rng) -> Schedule {
    let mut rest = graph.order();
    let stages = random.random_range(1..=rest.len().min(3));
    let mut made = Vec::new();
    for left in (0..stages).rev() {
        let size = if left == 0 { rest.len() } else { random.random_range(1..=rest.len() - left) };
        let (taken, others) = rest.split_at(size);
        rest = others;
        let replicas = (0..random.random_range(1..=3)).map(|_| replica(graph, taken, random)).collect();
        made.push(Stage { replicas });
    }
    Schedule { stages: made }
}

/// How many threads a schedule has.
pub(crate) fn threads(schedule: &Schedule) -> usize {
    schedule.processors().count()
}

/// One stage of one team.
pub(crate) fn one_team(graph: &Graph, random: &mut ChaCha8Rng) -> Schedule {
    loop {
        let replica = replica(graph, graph.order(), random);
        if replica.assignments.len() > 1 {
            return Schedule { stages: vec![Stage { replicas: vec![replica] }] };
        }
    }
}

/// The first operator on the device, the others on a core.
pub(crate) fn with_device(graph: &Graph) -> Schedule {
    let (first, rest) = graph.order().split_at(1);
    let stage =
        |processor, operators: &[OperatorId]| Stage { replicas: vec![Replica::single(processor, operators.to_vec())] };
    Schedule { stages: vec![stage(Processor::accelerator(DEVICE), first), stage(Processor::new("B", [1]), rest)] }
}

fn replica(graph: &Graph, operators: &[OperatorId], random: &mut ChaCha8Rng) -> Replica {
    let count = if random.random_bool(0.5) { 1 } else { random.random_range(2..=3) };
    if count == 1 {
        let is_device = random.random_bool(0.3);
        let processor = if is_device { Processor::accelerator(DEVICE) } else { Processor::new("B", [0]) };
        return Replica::single(processor, operators.to_vec());
    }
    let mut lists: Vec<Vec<OperatorId>> = vec![Vec::new(); count];
    let mut splits = Vec::new();
    for &operator in operators {
        let channels = divided(count, random);
        if graph.channel_units(operator).is_some() && channels.iter().filter(|&&share| share > 0).count() > 1 {
            let parts = lists.iter_mut().zip(&channels).filter(|(_, channels)| **channels > 0);
            parts.for_each(|(list, _)| list.push(operator));
            splits.push(OperatorSplit { operators: vec![operator], along: Along::Channels, shares: channels });
        } else {
            lists[random.random_range(0..count)].push(operator);
        }
    }
    // A processor without operators is no processor of the stage.
    let used: Vec<usize> = (0..count).filter(|&index| !lists[index].is_empty()).collect();
    for split in &mut splits {
        split.shares = used.iter().map(|&index| split.shares[index]).collect();
    }
    let assignment = |&index: &usize| Assignment {
        processor: Processor::new("B", [index as u32]),
        operators: std::mem::take(&mut lists[index]),
    };
    Replica { assignments: used.iter().map(assignment).collect(), splits }
}

/// All channels, dealt out.
fn divided(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut channels = vec![0; count];
    (0..CHANNELS).for_each(|_| channels[random.random_range(0..count)] += 1);
    channels
}
