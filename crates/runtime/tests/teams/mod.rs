//! Schedules whose stages have several processors, made at random.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::HashSet;

use millstream_board::Processor;
use millstream_graph::{Along, Graph, OperatorId, TileRegion};
use millstream_schedule::{Assignment, OperatorSplit, Replica};
use rand::{Rng, RngExt};

/// Processors of one core each; cores may occur several times, since a test machine may have fewer than processors.
pub(crate) fn processors(count: u32) -> Vec<Processor> {
    (0..count).map(|index| Processor::new("B", [index % 2])).collect()
}

/// Every operator on any processor; every operator that can be divided is, with probability `divided`, at random.
pub(crate) fn random(graph: &Graph, processors: &[Processor], divided: f64, random: &mut impl Rng) -> Replica {
    let mut lists: Vec<Vec<OperatorId>> = vec![Vec::new(); processors.len()];
    let mut splits = Vec::new();
    let mut assigned = HashSet::new();
    let chain = millstream_partition::Chain::of(graph);
    let operators = chain.operators(chain.whole());

    // A quantised network gives the same bits as long as its blocks are whole; other operators may be anywhere.
    let is_quantised = is_quantised(graph);
    let mut homes: Vec<Option<usize>> = vec![None; chain.blocks().len()];
    let block_of = blocks_of(&chain, operators.len());

    for (position, &id) in operators.iter().enumerate() {
        if assigned.contains(&id) {
            continue;
        }

        let may_be_tiled = divided > 0.0 && random.random_bool(0.4 * divided);
        let next = &operators[position..];
        let tiles = if may_be_tiled { tiles(graph, next, processors.len(), random) } else { None };
        let cuts_block = |at: usize| {
            let both = at.checked_sub(1).and_then(|before| Some((operators.get(before)?, operators.get(at)?)));
            is_quantised && both.is_some_and(|(one, other)| block_of[one.index()] == block_of[other.index()])
        };
        let is_free = |split: &OperatorSplit| {
            let ends = [position, position + split.operators.len()];
            split.operators.iter().all(|id| !assigned.contains(id)) && !ends.into_iter().any(cuts_block)
        };

        if let Some(split) = tiles.filter(is_free) {
            assigned.extend(split.operators.iter().copied());
            give_parts(&mut lists, &split);
            splits.push(split);
            continue;
        }

        match split(graph, id, processors.len(), random) {
            Some(split) if random.random_bool(divided) => {
                assigned.extend(split.operators.iter().copied());
                give_parts(&mut lists, &split);
                splits.push(split);
            }
            _ => {
                let anywhere = random.random_range(0..processors.len());
                let processor =
                    if is_quantised { *homes[block_of[id.index()]].get_or_insert(anywhere) } else { anywhere };
                lists[processor].push(id);
            }
        }
    }

    replica(processors, lists, splits)
}

/// What each processor of a list runs; one without operators is no processor of the stage.
fn replica(processors: &[Processor], mut lists: Vec<Vec<OperatorId>>, mut splits: Vec<OperatorSplit>) -> Replica {
    let used: Vec<usize> = (0..lists.len()).filter(|&index| !lists[index].is_empty()).collect();
    for split in &mut splits {
        split.shares = used.iter().map(|&index| split.shares[index]).collect();
    }
    let assignment = |&index: &usize| Assignment {
        processor: processors[index].clone(),
        operators: std::mem::take(&mut lists[index]),
    };
    Replica { assignments: used.iter().map(assignment).collect(), splits }
}

/// Adds divided operators to the lists of all processors that make something of them.
fn give_parts(lists: &mut [Vec<OperatorId>], split: &OperatorSplit) {
    let lists = lists.iter_mut().zip(&split.shares).filter(|(_, share)| **share > 0);
    lists.for_each(|(list, _)| list.extend(&split.operators));
}

/// The block of each operator.
fn blocks_of(chain: &millstream_partition::Chain, operators: usize) -> Vec<usize> {
    let mut block_of = vec![0; operators];
    for (index, block) in chain.blocks().iter().enumerate() {
        block.operators.iter().for_each(|id| block_of[id.index()] = index);
    }
    block_of
}

fn is_quantised(graph: &Graph) -> bool {
    let is_integer = |id: OperatorId| graph.operator(id).op_type.contains("QuantizeLinear");
    graph.operator_ids().any(is_integer)
}

/// A random division of an operator and of some of those that follow it among two or more processors.
fn split(graph: &Graph, head: OperatorId, processors: usize, random: &mut impl Rng) -> Option<OperatorSplit> {
    let units = graph.channel_units(head)?;
    let pieces = units.channels / units.unit;
    let mut channels = vec![0; processors];
    // A few large pieces, so that some processors get none.
    let mut left = pieces;
    for own in &mut channels {
        let share = random.random_range(0..=left);
        *own = share * units.unit;
        left -= share;
    }
    channels[processors - 1] += left * units.unit;
    if channels.iter().filter(|&&own| own > 0).count() < 2 {
        return None;
    }

    let mut operators = vec![head];
    let followers = graph.channel_followers(head);
    let ends: Vec<usize> =
        (0..=followers.len()).filter(|&end| graph.can_divide_together(head, &followers[..end])).collect();
    operators.extend(&followers[..ends[random.random_range(0..ends.len())]]);
    Some(OperatorSplit { operators, along: Along::Channels, shares: channels })
}

/// Every operator on the processor after that of its latest input's other readers: branches part as far as they can.
pub(crate) fn branches(graph: &Graph, processors: &[Processor]) -> Replica {
    let mut lists: Vec<Vec<OperatorId>> = vec![Vec::new(); processors.len()];
    let mut home = vec![0; graph.operators().len()];
    let chain = millstream_partition::Chain::of(graph);
    for id in chain.operators(chain.whole()) {
        // Blocks of quantised networks stay whole.
        let block = chain.blocks().iter().find(|block| block.operators.contains(&id));
        let first =
            block.and_then(|block| block.operators.first()).filter(|first| is_quantised(graph) && **first != id);
        if let Some(first) = first {
            home[id.index()] = home[first.index()];
            lists[home[id.index()]].push(id);
            continue;
        }
        let processor = graph.operator(id).inputs.iter().find_map(|&value| {
            let position = graph.readers(value).iter().position(|&reader| reader == id)?;
            let before = graph.producer(value).map_or(0, |producer| home[producer.index()]);
            Some((before + position) % processors.len())
        });
        home[id.index()] = processor.unwrap_or(0);
        lists[home[id.index()]].push(id);
    }
    let assignments = processors.iter().cloned().zip(lists).filter(|(_, operators)| !operators.is_empty());
    Replica::new(assignments.map(|(processor, operators)| Assignment { processor, operators }).collect())
}

/// A few of the next operators in tiles, if they can be divided together by something.
fn tiles(graph: &Graph, next: &[OperatorId], processors: usize, random: &mut impl Rng) -> Option<OperatorSplit> {
    let count = random.random_range(1..=next.len().min(12));
    let along = [Along::Rows, Along::Rows, Along::Columns, Along::Heads][random.random_range(0..4)];
    let region = TileRegion::new(graph, &next[..count], along)?;
    let mut cuts: Vec<usize> = (1..processors).map(|_| random.random_range(0..=region.rows())).collect();
    cuts.extend([0, region.rows()]);
    cuts.sort_unstable();
    let shares: Vec<usize> = cuts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let is_shared = shares.iter().filter(|&&rows| rows > 0).count() > 1;
    is_shared.then(|| OperatorSplit { operators: next[..count].to_vec(), along, shares })
}
