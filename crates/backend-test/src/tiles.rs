//! Tiles join to the whole, of a backend that makes any.

use std::ops::Range;
use std::sync::Arc;

use millstream_backend::{BackendError, Segment, Tensor};
use millstream_graph::{Along, OperatorId, TileRegion};
use millstream_onnx::Model;

use crate::rig::{Rig, description, failed, zoo};
use crate::subject::Subject;
use crate::tensors::{agree, inputs_of, joined};
use crate::tile_models;

/// A network whose longest regions are divided as well.
const NETWORK: &str = "squeezenet";
/// Makes a model of the suite.
type MakeModel = fn() -> Result<Arc<Model>, String>;

/// What is divided.
const MODELS: [MakeModel; 6] = [
    tile_models::maps,
    tile_models::ends,
    tile_models::enlarged,
    tile_models::sequences,
    tile_models::lines,
    tile_models::attention,
];
/// The least number of regions that are divided by each, of a backend that runs all of their operators, and of one that
/// does not.
const FEWEST: [(Along, [usize; 2]); 3] = [(Along::Rows, [40, 10]), (Along::Columns, [30, 10]), (Along::Heads, [1, 0])];

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let mut count = [0; 4];
    let mut refuses_some = false;
    for model in MODELS {
        let rig = Rig::of(subject, &model()?)?;
        if !subject.makes_tiles {
            refuses_tiles(&rig)?;
            continue;
        }

        let order = rig.graph().order();
        refuses_some |= !order.iter().all(|&id| rig.supports(id));
        let ranges = (0..order.len()).flat_map(|start| (start + 1..=order.len()).map(move |end| start..end));
        for operators in ranges.map(|range| &order[range]) {
            for along in [Along::Rows, Along::Columns, Along::Heads] {
                let Some(region) = region(&rig, operators, along) else { continue };
                let rows = region.rows();
                let mut cuts = vec![uneven(rows)];
                if operators.len() == 1 || operators.len() == order.len() {
                    cuts.extend([(0..=rows).collect(), vec![0, rows - 1, rows]]);
                }
                for cuts in cuts {
                    divide(&rig, operators, (along, &region), &cuts, subject.tolerance)?;
                }
                count[along as usize] += 1;
            }
        }
        misplaced(&rig)?;
    }

    if !subject.makes_tiles {
        return Ok(());
    }
    for (along, fewest) in FEWEST {
        let (count, fewest) = (count[along as usize], fewest[usize::from(refuses_some)]);
        if count < fewest {
            return Err(format!("only {count} regions could be divided by {}", along.name()));
        }
    }
    if subject.networks.contains(&NETWORK) && subject.slow.is_none() {
        let rig = Rig::of(subject, &zoo(NETWORK)?)?;
        let order = rig.graph().order();
        let mut longest =
            (1..=order.len()).rev().filter_map(|end| Some((end, region(&rig, &order[..end], Along::Rows)?)));
        let (end, region) = longest.next().ok_or("no region at the start of the network")?;
        divide(&rig, &order[..end], (Along::Rows, &region), &uneven(region.rows()), subject.tolerance)?;
    }
    Ok(())
}

/// A backend that makes no tiles says so of each operator that could be divided.
fn refuses_tiles(rig: &Rig) -> Result<(), String> {
    let graph = rig.graph();
    for (id, region) in graph.order().iter().filter_map(|&id| Some((id, region(rig, &[id], Along::Rows)?))) {
        let segment = Segment::tile(graph, vec![id], Along::Rows, 0..region.rows() - 1);
        match rig.backend.prepare(&segment, &rig.processor) {
            Err(BackendError::Prepare { .. }) => {}
            _ => return Err(format!("{}: a tile that is not refused", description(graph, &segment))),
        }
    }
    Ok(())
}

fn region(rig: &Rig, operators: &[OperatorId], along: Along) -> Option<TileRegion> {
    let are_supported = operators.iter().all(|&id| rig.supports(id));
    TileRegion::new(rig.graph(), operators, along).filter(|_| are_supported)
}

fn divide(
    rig: &Rig,
    operators: &[OperatorId],
    (along, region): (Along, &TileRegion),
    cuts: &[usize],
    tolerance: f32,
) -> Result<(), String> {
    let graph = rig.graph();
    let whole = Segment::new(graph, operators.to_vec());
    let inputs = inputs_of(graph, &whole, 3)?;
    let expected = rig.run(&whole, &inputs)?;
    let tile = |rows: Range<usize>| {
        let made = rig.run(&Segment::tile(graph, operators.to_vec(), along, rows), &inputs)?;
        made.into_iter().next().ok_or_else(|| "a tile made nothing".to_owned())
    };
    let tiles: Result<Vec<Tensor>, String> = cuts.windows(2).map(|pair| tile(pair[0]..pair[1])).collect();
    let together = joined(&tiles?, region.axis()).map(|together| [together]);
    let compared = together.and_then(|together| agree(&together, &expected, tolerance));
    compared.map_err(failed(&format!("{} in tiles by {} {cuts:?}", description(graph, &whole), along.name())))
}

/// A third, most of the rest, and the rest.
fn uneven(rows: usize) -> Vec<usize> {
    let mut cuts = vec![0, rows / 3, rows - rows / 4, rows];
    cuts.dedup();
    cuts
}

/// No rows, and more than there are.
fn misplaced(rig: &Rig) -> Result<(), String> {
    let graph = rig.graph();
    let Some((id, region)) = graph.order().iter().find_map(|&id| Some((id, region(rig, &[id], Along::Rows)?))) else {
        return Ok(());
    };
    for rows in [2..2, 0..region.rows() + 1] {
        let segment = Segment::tile(graph, vec![id], Along::Rows, rows.clone());
        match rig.backend.prepare(&segment, &rig.processor) {
            Err(BackendError::Prepare { .. }) => {}
            _ => return Err(format!("{}: the rows {rows:?} are not refused", description(graph, &segment))),
        }
    }
    Ok(())
}
