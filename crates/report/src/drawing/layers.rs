//! Where the boxes of a drawing stand: in layers from top to bottom, as Sugiyama, Tagawa and Toda (1981) draw directed
//! graphs. Each box is below those that it depends on; edges that pass by layers get a lane there; the order within the
//! layers is that of the neighbours' positions; and positions are as close to the neighbours' as the widths allow.

/// How often the order of the layers is improved, downwards and upwards.
const SWEEPS: usize = 8;
/// Between two boxes of a layer.
const GAP: f64 = 14.0;
/// What an edge needs that passes a layer.
const LANE: f64 = 8.0;

/// Where everything is. Layers are counted from the top; positions are middles, in pixels from the left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) layers: usize,
    /// Layer and position of each box.
    pub(super) boxes: Vec<(usize, f64)>,
    /// The points of each edge, from the box that it leaves to the one that it reaches.
    pub(super) edges: Vec<Vec<(usize, f64)>>,
}

/// A box, or the lane of an edge through a layer.
struct Item {
    layer: usize,
    width: f64,
    middle: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Lays out boxes of one width, each with the later ones that depend on it.
pub(super) fn lay_out(readers: &[Vec<usize>], width: f64) -> Layout {
    let mut items = boxes(readers, width);
    let edges = add_edges(&mut items, readers);
    let mut layers = vec![Vec::new(); items.iter().map(|item| item.layer + 1).max().unwrap_or_default()];
    items.iter().enumerate().for_each(|(index, item)| layers[item.layer].push(index));
    layers.iter().for_each(|layer| pack(layer, &mut items));
    for sweep in 0..2 * SWEEPS {
        let is_downwards = sweep % 2 == 0;
        in_turn(&mut layers, is_downwards, |layer| reorder(layer, &mut items, is_downwards));
    }
    for sweep in 0..2 * SWEEPS {
        let is_downwards = sweep % 2 == 0;
        in_turn(&mut layers, is_downwards, |layer| settle(layer, &mut items));
    }
    let left = items.iter().map(|item| item.middle - item.width / 2.0).fold(f64::INFINITY, f64::min);
    let right = items.iter().map(|item| item.middle + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let point = |index: usize| (items[index].layer, items[index].middle - left);
    Layout {
        width: (right - left).max(0.0),
        layers: layers.len(),
        boxes: (0..readers.len()).map(point).collect(),
        edges: edges.into_iter().map(|edge| edge.into_iter().map(point).collect()).collect(),
    }
}

fn boxes(readers: &[Vec<usize>], width: f64) -> Vec<Item> {
    let item = |layer| Item { layer, width, middle: 0.0, above: Vec::new(), below: Vec::new() };
    layers_of(readers).into_iter().map(item).collect()
}

/// The layer of each box: one below the lowest one that it depends on. What depends on at most one stands as low as its
/// readers allow: long edges to there from above would be no fewer, and what only reads the network's inputs would all
/// stand at the top.
pub(super) fn layers_of(readers: &[Vec<usize>]) -> Vec<usize> {
    let mut layer_of = vec![0; readers.len()];
    for (index, readers) in readers.iter().enumerate() {
        for &reader in readers {
            layer_of[reader] = layer_of[reader].max(layer_of[index] + 1);
        }
    }
    let mut producers = vec![0_usize; readers.len()];
    readers.iter().flatten().for_each(|&reader| producers[reader] += 1);
    for (index, readers) in readers.iter().enumerate().rev().filter(|(index, _)| producers[*index] <= 1) {
        let lowest = readers.iter().map(|&reader| layer_of[reader] - 1).min();
        layer_of[index] = lowest.unwrap_or(layer_of[index]);
    }
    layer_of
}

/// Adds lanes for edges that pass layers, of which those from one box share one, and returns what each edge goes
/// through.
fn add_edges(items: &mut Vec<Item>, readers: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut edges = Vec::new();
    for (index, readers) in readers.iter().enumerate() {
        let mut lanes: Vec<usize> = vec![index];
        for &reader in readers {
            let passed = items[reader].layer - items[index].layer;
            while lanes.len() < passed {
                let layer = items[index].layer + lanes.len();
                let before = lanes[lanes.len() - 1];
                items.push(Item { layer, width: LANE, middle: 0.0, above: vec![before], below: Vec::new() });
                let item = items.len() - 1;
                items[before].below.push(item);
                lanes.push(item);
            }
            let last = lanes[passed - 1];
            items[last].below.push(reader);
            items[reader].above.push(last);
            edges.push(lanes[..passed].iter().copied().chain([reader]).collect());
        }
    }
    edges
}

fn in_turn(layers: &mut [Vec<usize>], is_downwards: bool, mut change: impl FnMut(&mut Vec<usize>)) {
    if is_downwards { layers.iter_mut().for_each(&mut change) } else { layers.iter_mut().rev().for_each(&mut change) }
}

/// Orders a layer by where its neighbours in the layer before are; what has none there stays where it is.
fn reorder(layer: &mut [usize], items: &mut [Item], is_downwards: bool) {
    let wish = |index: usize| {
        let item = &items[index];
        mean(if is_downwards { &item.above } else { &item.below }, items).unwrap_or(item.middle)
    };
    let mut wishes: Vec<(f64, usize)> = layer.iter().map(|&index| (wish(index), index)).collect();
    wishes.sort_by(|one, other| one.0.total_cmp(&other.0));
    layer.iter_mut().zip(wishes).for_each(|(place, (_, index))| *place = index);
    pack(layer, items);
}

/// Side by side around 0.
fn pack(layer: &[usize], items: &mut [Item]) {
    let total: f64 = layer.iter().map(|&index| items[index].width + GAP).sum();
    let mut left = -total / 2.0;
    for &index in layer {
        items[index].middle = left + (items[index].width + GAP) / 2.0;
        left += items[index].width + GAP;
    }
}

/// Moves a layer's items to where their neighbours are, as far as the order and the widths allow: the places with the
/// least sum of squared distances, which pooling adjacent violators finds.
fn settle(layer: &[usize], items: &mut [Item]) {
    let mut offsets = Vec::new();
    let mut offset = 0.0;
    let mut before: Option<f64> = None;
    // Groups of items that touch each other: the sum of their wishes, and how many they are.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &index in layer {
        let item = &items[index];
        offset += before.map_or(0.0, |width| (width + item.width) / 2.0 + GAP);
        before = Some(item.width);
        offsets.push(offset);
        let neighbours: Vec<usize> = item.above.iter().chain(&item.below).copied().collect();
        pools.push((mean(&neighbours, items).unwrap_or(item.middle) - offset, 1));
        while let [.., (sum, count), (last_sum, last_count)] = pools[..]
            && sum / count as f64 > last_sum / last_count as f64
        {
            pools.truncate(pools.len() - 2);
            pools.push((sum + last_sum, count + last_count));
        }
    }
    let starts = pools.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    for ((&index, offset), start) in layer.iter().zip(offsets).zip(starts) {
        items[index].middle = start + offset;
    }
}

fn mean(neighbours: &[usize], items: &[Item]) -> Option<f64> {
    let sum: f64 = neighbours.iter().map(|&index| items[index].middle).sum();
    (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing overlaps, and edges lead downwards layer by layer.
    fn check(readers: &[Vec<usize>]) -> Layout {
        let layout = lay_out(readers, 100.0);
        for (index, (layer, middle)) in layout.boxes.iter().enumerate() {
            assert!((49.9..=layout.width - 49.9).contains(middle), "{layout:?}");
            for (other, other_middle) in &layout.boxes[..index] {
                assert!(layer != other || (middle - other_middle).abs() >= 100.0, "{layout:?}");
            }
        }
        for edge in &layout.edges {
            assert!(edge.is_sorted_by(|one, other| one.0 + 1 == other.0), "{edge:?}");
        }
        assert_eq!(layout.edges.len(), readers.iter().map(Vec::len).sum::<usize>());
        layout
    }

    #[test]
    fn branches_stand_side_by_side_under_what_they_share() {
        let layout = check(&[vec![1, 2, 3], vec![4], vec![4], vec![4], vec![]]);
        let layers: Vec<usize> = layout.boxes.iter().map(|placed| placed.0).collect();
        assert_eq!((layers, layout.layers), (vec![0, 1, 1, 1, 2], 3));
        let middle = layout.width / 2.0;
        assert!((layout.boxes[0].1 - middle).abs() < 1e-6 && (layout.boxes[4].1 - middle).abs() < 1e-6, "{layout:?}");
    }

    #[test]
    fn edges_that_pass_a_layer_go_beside_its_boxes() {
        // A shortcut around one box.
        let layout = check(&[vec![1, 2], vec![2], vec![]]);
        let shortcut = layout.edges.iter().find(|edge| edge.len() == 3);
        let lane = shortcut.map(|edge| edge[1].1).unwrap_or_default();
        assert!((lane - layout.boxes[1].1).abs() >= 50.0 + LANE / 2.0, "{layout:?}");
        assert_eq!(check(&[]).layers, 0);
        assert_eq!(check(&[vec![]]).width, 100.0);
    }

    #[test]
    fn what_is_needed_late_stands_low() {
        // 0 -> 1 -> 2 -> 5, and 3 -> 4 -> 5 from another input.
        let layout = check(&[vec![1], vec![2], vec![5], vec![4], vec![5], vec![]]);
        let layers: Vec<usize> = layout.boxes.iter().map(|placed| placed.0).collect();
        assert_eq!(layers, [0, 1, 2, 1, 2, 3]);
    }

    #[test]
    fn crossings_that_need_not_be_are_taken_away() {
        // 1 -> 4 and 2 -> 3 cross as they are numbered.
        let layout = check(&[vec![1, 2], vec![4], vec![3], vec![5], vec![5], vec![]]);
        let x = |index: usize| layout.boxes[index].1;
        assert_eq!(x(1) < x(2), x(4) < x(3), "{layout:?}");
    }
}
