//! Boards from texts such as `B2+s2+G`.

use std::str::FromStr;

use millstream_board::{
    Accelerator, AcceleratorKind, BOARD_FORMAT, BOARD_VERSION, Board, BoardDocument, Cluster, Core, CoreId, EngineSet,
    Memory, OperatingPoint,
};

/// Bytes per second of a memory that holds nothing up.
const FAST_MEMORY: f64 = 1e18;

/// A board, written as stage configurations are: its parts with `+` between them, as in `B2+s2+G`.
///
/// - `B2` is a cluster `B` of two cores. Its capacity is 1024, and of each cluster behind it half as much, unless a
///   number follows: `s2:300`. Cores are numbered on from 0; `s2#8` begins with core 8. Clocks in hertz follow a `~`,
///   with their volts where these are known: `B2~600e6,1.5e9` or `B2~600e6=0.8,1.5e9=1`. Engines follow an `@`, and
///   come last: `B2@onnxruntime,openvino`.
/// - `G`, without a count, is an accelerator: `G` a GPU, `N` an NPU, `D` a DSP, `F` an FPGA; any other label says its
///   kind: `H=gpu`. `F:4` has four processing elements, `G[600]` a memory of its own of 600 bytes.
/// - `!600` behind everything gives the board a memory of 600 bytes, whose speed holds nothing up.
///
/// The board's name is the text.
///
/// # Panics
/// If the text is none of this, or no board can be so.
pub fn board(text: &str) -> Board {
    let (parts, memory) = match text.split_once('!') {
        Some((parts, bytes)) => (parts.trim(), Some(number(bytes, text))),
        None => (text, None),
    };

    let mut document = BoardDocument {
        format: BOARD_FORMAT.to_owned(),
        version: BOARD_VERSION,
        name: text.to_owned(),
        clusters: Vec::new(),
        accelerators: Vec::new(),
        providers: Vec::new(),
        links: Vec::new(),
        memory: memory.map(|bytes| Memory { bytes_per_second: FAST_MEMORY, bytes: Some(bytes) }),
        quota_cores: None,
    };
    for part in parts.split('+').map(str::trim) {
        if is_cluster(part) {
            document.clusters.push(cluster(part, &document.clusters));
        } else {
            document.accelerators.push(accelerator(part));
        }
    }
    Board::try_from(document).unwrap_or_else(|error| panic!("there is no board '{text}': {error}"))
}

/// Whether a count follows the label.
fn is_cluster(part: &str) -> bool {
    let behind = part.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    behind.starts_with(|letter: char| letter.is_ascii_digit())
}

fn cluster(part: &str, before: &[Cluster]) -> Cluster {
    let (rest, engines) = match part.split_once('@') {
        Some((rest, names)) => (rest, engines(names, part)),
        None => (part, EngineSet::default()),
    };
    let (rest, operating_points) = match rest.split_once('~') {
        Some((rest, clocks)) => (rest, clocks.split(',').map(|clock| operating_point(clock, part)).collect()),
        None => (rest, Vec::new()),
    };
    let (rest, first) = match rest.split_once('#') {
        Some((rest, first)) => (rest, number(first, part)),
        None => (rest, next_core(before)),
    };
    let (rest, capacity) = match rest.split_once(':') {
        Some((rest, capacity)) => (rest, number(capacity, part)),
        None => (rest, before.last().map_or(1024, |cluster| cluster.capacity / 2)),
    };
    let (label, count) = rest.split_at(rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len()));
    let count: u32 = number(count, part);

    let cores = (first..first + count)
        .map(|id| Core { id: CoreId(id), siblings: Vec::new(), emulated_slowdown: None })
        .collect();
    Cluster {
        label: label.to_owned(),
        core_type: None,
        capacity,
        cores,
        operating_points,
        caches: Vec::new(),
        engines,
        power: None,
        thermal: None,
    }
}

/// The number behind the highest that a core has.
fn next_core(clusters: &[Cluster]) -> u32 {
    clusters.iter().flat_map(|cluster| &cluster.cores).map(|core| core.id.0 + 1).max().unwrap_or(0)
}

/// A clock, and its voltage if that is there.
fn operating_point(clock: &str, part: &str) -> OperatingPoint {
    let (hertz, volts) = match clock.split_once('=') {
        Some((hertz, volts)) => (hertz, Some(number(volts, part))),
        None => (clock, None),
    };
    OperatingPoint { hertz: number::<f64>(hertz, part) as u64, volts }
}

fn engines(names: &str, part: &str) -> EngineSet {
    names.parse().unwrap_or_else(|error| panic!("'{part}' names engines that there are not: {error}"))
}

fn accelerator(part: &str) -> Accelerator {
    let (rest, memory_bytes) = match part.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((rest, bytes)) => (rest, Some(number(bytes, part))),
        None => (part, None),
    };
    let (rest, elements) = match rest.split_once(':') {
        Some((rest, elements)) => (rest, Some(number(elements, part))),
        None => (rest, None),
    };
    let (label, kind) = rest.split_once('=').unwrap_or((rest, rest));
    let kind = match kind {
        "G" | "gpu" => AcceleratorKind::Gpu,
        "N" | "npu" => AcceleratorKind::Npu,
        "D" | "dsp" => AcceleratorKind::Dsp,
        "F" | "fpga" => AcceleratorKind::Fpga,
        _ => panic!("'{part}' is neither a cluster, such as B2, nor an accelerator, such as G or H=gpu"),
    };
    Accelerator { processing_elements: elements, memory_bytes, ..Accelerator::new(label, kind) }
}

fn number<T: FromStr>(text: &str, part: &str) -> T {
    text.trim().parse().unwrap_or_else(|_| panic!("'{text}' in '{part}' is not a number that can stand there"))
}
