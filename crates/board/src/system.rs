//! Several boards that work on the same frames, and the links between them.

use crate::accelerator::{Accelerator, Link};
use crate::board::Board;
use crate::cluster::{Cluster, Core};
use crate::core_id::CoreId;
use crate::error::BoardError;
use crate::processor::Processor;
use crate::provider::Provider;
use crate::system_document::{BoardSource, Duplex, HostLinkDocument, SystemDocument, check_links};
use crate::transfer_precision::TransferPrecision;

/// What stands between a host's name and the label of a cluster or accelerator of it: `rk/B`.
const SEPARATOR: char = '/';

/// Hosts and the links between them.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    name: String,
    hosts: Vec<Host>,
    links: Vec<HostLink>,
}

/// A board of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Its name in the system.
    pub id: String,
    /// The part of the board that takes part, with the board's own labels and cores.
    pub board: Board,
    /// What a frame costs its first stage where it comes to it from outside the system, and results its last stage where
    /// they leave, however small they are.
    pub cpu_seconds_per_frame: f64,
    /// What a byte of frames costs its first stage where they come to it from outside the system, and a byte of results
    /// its last stage where they leave.
    pub cpu_seconds_per_frame_byte: f64,
    /// How long the last byte of a frame is on its way from outside the system, and that of results on its way there.
    pub frame_latency_seconds: f64,
    /// Bandwidth of that way in each direction; `None` if frames take no time on it.
    pub frame_bytes_per_second: Option<f64>,
    /// The number that its first core has in the whole system; the others follow in the order of the clusters.
    first_core: u32,
}

/// What moves values between two hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLink {
    /// The names of its two ends.
    pub hosts: [String; 2],
    /// From when the last byte is sent until it is there.
    pub latency_seconds: f64,
    /// Bandwidth.
    pub bytes_per_second: f64,
    /// Whether both ways can be used at once.
    pub duplex: Duplex,
    /// What receiving a byte costs the stage that does it, for each of the two ends.
    pub cpu_seconds_per_byte: [f64; 2],
    /// What sending one costs.
    pub cpu_seconds_per_sent_byte: [f64; 2],
    /// What sending or receiving a message costs beside that, however small it is.
    pub cpu_seconds_per_message: [f64; 2],
    /// What 32-bit floats are sent as.
    pub precision: TransferPrecision,
}

impl HostLink {
    /// What it is called: its two ends, as in `rk-pi`.
    pub fn name(&self) -> String {
        self.hosts.join("-")
    }
}

impl System {
    /// A system of a file's hosts and links. `board` finds the board that a name or a path of the file stands for.
    ///
    /// # Errors
    /// Whatever `board` returns; [`BoardError::Invalid`] if the file says something impossible.
    pub fn of<E: From<BoardError>>(
        document: SystemDocument,
        mut board: impl FnMut(&str) -> Result<Board, E>,
    ) -> Result<Self, E> {
        let mut hosts: Vec<Host> = Vec::new();
        let mut first_core = 0;
        for (index, host) in document.hosts.into_iter().enumerate() {
            let whole = match host.board {
                BoardSource::Named(name) => board(&name)?,
                BoardSource::Inline(document) => Board::try_from(*document)?,
            };
            let board = if host.clusters.is_empty() { whole } else { part(whole, &host.clusters, index)? };
            let cores = u32::try_from(board.cores().count()).unwrap_or(u32::MAX);
            hosts.push(Host {
                id: host.id,
                board,
                cpu_seconds_per_frame: host.cpu_seconds_per_frame,
                cpu_seconds_per_frame_byte: host.cpu_seconds_per_frame_byte,
                frame_latency_seconds: host.frame_latency_seconds,
                frame_bytes_per_second: host.frame_bytes_per_second,
                first_core,
            });
            first_core = first_core.saturating_add(cores);
        }
        let names: Vec<&str> = hosts.iter().map(|host| host.id.as_str()).collect();
        check_links(&document.links, &names)?;
        let links = document.links.into_iter().map(HostLink::from).collect();
        Ok(Self { name: document.name, hosts, links })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its hosts, in the order of the file.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The links between them.
    pub fn links(&self) -> &[HostLink] {
        &self.links
    }

    /// The link between two hosts, whichever is named first.
    pub fn link(&self, one: &str, other: &str) -> Option<&HostLink> {
        self.links.iter().find(|link| link.hosts == [one, other] || link.hosts == [other, one])
    }

    /// All hosts as one board, for schedules, evaluation and simulation: clusters and accelerators are labelled
    /// `host/label`, and cores are numbered through, host by host. What hosts know of their memories and of quotas is
    /// left out, as no two of them share any; the links between hosts are [`System::links`].
    pub fn board(&self) -> Board {
        let boards: Vec<Board> = self.hosts.iter().map(Host::in_system).collect();
        let mut clusters: Vec<Cluster> = boards.iter().flat_map(|board| board.clusters.clone()).collect();
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.capacity));
        let mut providers: Vec<Provider> = Vec::new();
        for provider in boards.iter().flat_map(|board| &board.providers) {
            if !providers.iter().any(|known| known.engine == provider.engine) {
                providers.push(provider.clone());
            }
        }
        Board {
            name: self.name.clone(),
            clusters,
            accelerators: boards.iter().flat_map(|board| board.accelerators.clone()).collect(),
            providers,
            links: boards.iter().flat_map(|board| board.links.clone()).collect(),
            memory: None,
            quota_cores: None,
        }
    }
}

impl Host {
    /// Its board with the labels and the numbers of cores that it has in the whole system.
    pub fn in_system(&self) -> Board {
        let label = |board_label: &String| format!("{}{SEPARATOR}{board_label}", self.id);
        let core = |core: &Core| Core {
            id: self.core_in_system(core.id),
            siblings: Vec::new(),
            emulated_slowdown: core.emulated_slowdown,
        };
        let cluster = |cluster: &Cluster| Cluster {
            label: label(&cluster.label),
            cores: cluster.cores.iter().map(core).collect(),
            ..cluster.clone()
        };
        let accelerator = |accelerator: &Accelerator| Accelerator {
            label: label(&accelerator.label),
            same_device_as: accelerator.same_device_as.as_ref().map(label),
            ..accelerator.clone()
        };
        let link = |link: &Link| Link { from: label(&link.from), to: label(&link.to), ..link.clone() };
        Board {
            name: self.board.name.clone(),
            clusters: self.board.clusters.iter().map(cluster).collect(),
            accelerators: self.board.accelerators.iter().map(accelerator).collect(),
            providers: self.board.providers.clone(),
            links: self.board.links.iter().map(link).collect(),
            memory: self.board.memory,
            quota_cores: self.board.quota_cores,
        }
    }

    /// The number that a core of its board has in the whole system.
    fn core_in_system(&self, core: CoreId) -> CoreId {
        let place = self.board.cores().take_while(|earlier| earlier.id != core).count();
        CoreId(self.first_core.saturating_add(u32::try_from(place).unwrap_or(u32::MAX)))
    }

    /// A processor of the whole system as its own board knows it; `None` if it is none of this host.
    pub fn own(&self, processor: &Processor) -> Option<Processor> {
        let (host, label) = processor.cluster.split_once(SEPARATOR)?;
        let core = |core: &CoreId| {
            let place = core.0.checked_sub(self.first_core)?;
            self.board.cores().nth(usize::try_from(place).ok()?).map(|found| found.id)
        };
        let cores = processor.cores.iter().map(core).collect::<Option<Vec<_>>>()?;
        (host == self.id).then(|| Processor::on_cores(label, cores).with_engine(processor.engine))
    }
}

/// The host that a label belongs to, such as `rk` of `rk/B`; `None` for a label of a board that is in no system.
pub fn host_of(label: &str) -> Option<&str> {
    label.split_once(SEPARATOR).map(|(host, _)| host)
}

/// The label of a host's cluster or accelerator in the whole system.
pub fn label_in(host: &str, label: &str) -> String {
    format!("{host}{SEPARATOR}{label}")
}

/// Some clusters and accelerators of a board.
fn part(mut board: Board, labels: &[String], index: usize) -> Result<Board, BoardError> {
    let field = || format!("hosts[{index}].clusters");
    let known: Vec<String> = board.labels().map(str::to_owned).collect();
    if let Some(label) = labels.iter().find(|label| !known.contains(label)) {
        let detail =
            format!("names '{label}', which board '{}' does not have; it has {}", board.name, known.join(", "));
        return Err(BoardError::Invalid { field: field(), detail });
    }
    board.clusters.retain(|cluster| labels.contains(&cluster.label));
    board.accelerators.retain(|accelerator| labels.contains(&accelerator.label));
    for accelerator in &mut board.accelerators {
        accelerator.same_device_as.take_if(|other| !labels.contains(other));
    }
    board.links.retain(|link| labels.contains(&link.from) && labels.contains(&link.to));
    if board.clusters.is_empty() {
        Err(BoardError::Invalid { field: field(), detail: "names no cluster; a host needs one".to_owned() })
    } else {
        Ok(board)
    }
}

impl From<HostLinkDocument> for HostLink {
    fn from(document: HostLinkDocument) -> Self {
        let HostLinkDocument {
            hosts,
            latency_seconds,
            bytes_per_second,
            duplex,
            cpu_seconds_per_byte: costs,
            cpu_seconds_per_sent_byte: sent_costs,
            cpu_seconds_per_message: message_costs,
            precision,
            ..
        } = document;
        let ends = [&hosts[0], &hosts[1]];
        let cpu_seconds_per_byte = ends.map(|host| costs.get(host).copied().unwrap_or_default());
        let cpu_seconds_per_sent_byte =
            ends.map(|host| sent_costs.get(host).or(costs.get(host)).copied().unwrap_or_default());
        let cpu_seconds_per_message = ends.map(|host| message_costs.get(host).copied().unwrap_or_default());
        Self {
            hosts,
            latency_seconds,
            bytes_per_second,
            duplex,
            cpu_seconds_per_byte,
            cpu_seconds_per_sent_byte,
            cpu_seconds_per_message,
            precision,
        }
    }
}
