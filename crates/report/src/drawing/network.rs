//! A network with the stages that it is divided into.

use maud::{Markup, html};
use millstream_graph::Graph;
use millstream_schedule::{Schedule, Stage, StageId};

use super::folding::{Group, groups};
use super::layers::{Layout, lay_out};
use super::{COLOURS, Drawing, place, shortened};
use crate::counted;

/// Width and height of a box.
const BOX: (f64, f64) = (124.0, 36.0);
/// From one layer to the next.
const LAYER: f64 = 56.0;
/// Around everything.
const MARGIN: f64 = 4.0;
/// Characters of a line in a box.
const LINE: usize = 18;
/// The most operators that are named by their types, and in what is shown of a box when it is pointed at.
const MOST_TYPES: usize = 3;
const MOST_NAMES: usize = 12;

/// Draws a network from its inputs at the top to its outputs at the bottom, each stage in a colour of its own.
/// Operators that follow each other without a branch are one box, and so are many that would stand side by side, and of
/// a large network all but the first and the last of each stage. Replicas run the same operators; where they place them
/// differently, the first one's places are shown.
pub fn network_drawing(graph: &Graph, schedule: &Schedule) -> Drawing {
    let (groups, readers) = groups(graph, schedule);
    let layout = lay_out(&readers, BOX.0);
    let (width, height) = (layout.width + 2.0 * MARGIN, layout.layers as f64 * LAYER - (LAYER - BOX.1) + 2.0 * MARGIN);
    let drawn = html! {
        svg class="network" xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {} {}", place(width), place(height)))
            style=(format!("max-width:{width:.0}px;min-width:{:.0}px", 0.8 * width)) {
            title { (format!("{} with its stages", graph.name())) }
            @for edge in &layout.edges { path class="edge" d=(path(edge)) {} }
            @for (group, position) in groups.iter().zip(&layout.boxes) { (drawn_box(group, *position, graph)) }
        }
    };
    Drawing { svg: drawn.into_string(), caption: caption(graph, &groups, &layout), legend: legend(schedule) }
}

fn top(layer: usize) -> f64 {
    layer as f64 * LAYER + MARGIN
}

fn path(edge: &[(usize, f64)]) -> String {
    let mut text = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (step, &(layer, middle)) in edge.iter().enumerate() {
        let (x, y) = (middle + MARGIN, top(layer));
        match last {
            None => text = format!("M{} {}", place(x), place(y + BOX.1)),
            Some((from_x, from_y)) => {
                let half = (from_y + y) / 2.0;
                text += &format!(
                    "C{} {} {} {} {} {}",
                    place(from_x),
                    place(half),
                    place(x),
                    place(half),
                    place(x),
                    place(y)
                );
                // Beside the boxes of a layer that is passed.
                if step + 1 < edge.len() {
                    text += &format!("V{}", place(y + BOX.1));
                }
            }
        }
        last = Some((x, y + BOX.1));
    }
    text
}

fn drawn_box(group: &Group, (layer, middle): (usize, f64), graph: &Graph) -> Markup {
    let (left, top) = (middle + MARGIN - BOX.0 / 2.0, top(layer));
    let line = |down: f64, class: &str, text: &str| {
        html! { text class=(class) x=(place(left + BOX.0 / 2.0)) y=(place(top + down)) { (shortened(text, LINE)) } }
    };
    html! {
        g class=(format!("c{}", group.place.stage.index() % COLOURS)) {
            title { (in_full(group, graph)) }
            rect class="box" x=(place(left)) y=(place(top)) width=(place(BOX.0)) height=(place(BOX.1)) rx="5" {}
            (line(15.0, "what", &what(group, graph)))
            (line(29.0, "where", &detail(group, graph)))
        }
    }
}

fn name<'a>(graph: &'a Graph, operator: Option<&millstream_graph::OperatorId>) -> &'a str {
    operator.map_or("", |id| graph.operator(*id).name.as_str())
}

/// Types of few operators, or how many there are.
fn what(group: &Group, graph: &Graph) -> String {
    match group.operators.len() {
        count @ ..=MOST_TYPES => {
            let types: Vec<&str> = group.operators.iter().map(|id| graph.operator(*id).op_type.as_str()).collect();
            let text = types.join(" ");
            if text.chars().count() <= LINE || count == 1 { text } else { format!("{count} operators") }
        }
        count => format!("{count} operators"),
    }
}

/// The stage and, within a team, the processor.
fn detail(group: &Group, graph: &Graph) -> String {
    let stage = group.place.stage;
    match &group.place.processor {
        Some(processor) => format!("{stage}: {processor}"),
        None => format!("{stage}: {}", name(graph, group.operators.first())),
    }
}

fn in_full(group: &Group, graph: &Graph) -> String {
    let names: Vec<&str> = group.operators.iter().take(MOST_NAMES).map(|id| name(graph, Some(id))).collect();
    let more = group.operators.len().saturating_sub(MOST_NAMES);
    let more =
        if more > 0 { format!(" and {more} more, to {}", name(graph, group.operators.last())) } else { String::new() };
    let processor = group.place.processor.as_ref().map_or(String::new(), |processor| format!(", {processor}"));
    format!("stage {}{processor}: {}{more}", group.place.stage, names.join(", "))
}

fn caption(graph: &Graph, groups: &[Group], layout: &Layout) -> String {
    format!(
        "{} in {} and {}. A box has operators that follow each other; the number in it is its stage.",
        counted(graph.operators().len() as u64, "operator", "operators"),
        counted(groups.len() as u64, "box", "boxes"),
        counted(layout.layers as u64, "layer", "layers")
    )
}

fn legend(schedule: &Schedule) -> Vec<(usize, String)> {
    let entry = |(id, stage): (StageId, &Stage)| {
        let replicas: Vec<String> = stage.replicas.iter().map(millstream_schedule::Replica::with_cores).collect();
        (id.index() % COLOURS, format!("stage {id}: {}", replicas.join(" or ")))
    };
    schedule.numbered_stages().map(entry).collect()
}
