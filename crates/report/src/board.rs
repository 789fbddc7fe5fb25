//! The table of a board's clusters and accelerators.

use millstream_board::{Accelerator, Board};

use crate::align::Align;
use crate::table::Table;

/// One row per cluster, then one per accelerator.
pub fn board_table(board: &Board) -> Table {
    let mut table = Table::new([
        ("cluster", Align::Left),
        ("core type", Align::Left),
        ("cores", Align::Left),
        ("capacity", Align::Right),
        ("frequency", Align::Right),
        ("caches", Align::Left),
        ("slowed", Align::Right),
    ]);
    for cluster in board.clusters() {
        let cores: Vec<String> = cluster.cores.iter().map(|core| core.id.to_string()).collect();
        let frequency = cluster.operating_points.last().map(|point| format!("{:.2} GHz", point.hertz as f64 / 1e9));
        let caches: Vec<String> =
            cluster.caches.iter().map(|cache| format!("L{} {} KiB", cache.level, cache.bytes >> 10)).collect();
        let slowdown = cluster.cores.iter().find_map(|core| core.emulated_slowdown);
        table.row([
            cluster.label.clone(),
            cluster.core_type.clone().unwrap_or_else(|| "-".to_owned()),
            cores.join(" "),
            cluster.capacity.to_string(),
            frequency.unwrap_or_else(|| "-".to_owned()),
            if caches.is_empty() { "-".to_owned() } else { caches.join(", ") },
            slowdown.map_or_else(|| "-".to_owned(), |factor| format!("{factor}x")),
        ]);
    }

    for accelerator in board.accelerators() {
        let frequency = accelerator.hertz.map(|hertz| format!("{:.2} GHz", hertz as f64 / 1e9));
        table.row([
            accelerator.label.clone(),
            described(accelerator),
            "-".to_owned(),
            "-".to_owned(),
            frequency.unwrap_or_else(|| "-".to_owned()),
            "-".to_owned(),
            "-".to_owned(),
        ]);
    }
    table
}

/// What an accelerator is, what drives it, and which other one is the same device.
fn described(accelerator: &Accelerator) -> String {
    let name = accelerator.name.as_ref().map(|name| format!(": {name}"));
    let device = accelerator.device.as_ref().map(|device| format!(" {device}"));
    let engine = accelerator.engine.map(|engine| format!(", {engine}{}", device.unwrap_or_default()));
    let same = accelerator.same_device_as.as_ref().map(|other| format!(", same device as {other}"));
    format!("{}{}", accelerator.kind, [name, engine, same].into_iter().flatten().collect::<String>())
}
