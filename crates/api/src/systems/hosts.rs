//! A system file with the boards and the costs that it names.

use std::path::{Path, PathBuf};

use millstream_board::{Board, BoardSource, HostDocument, ProcessorClass, System, SystemDocument, TransferPrecision};
use millstream_cost::{CostTable, DerivedClass, FrameCost, HostCrossing};
use millstream_pipeline::HostPlace;

use crate::error::{Error, InFile};
use crate::machine::{Machine, built_in, of_file};
use crate::measuring::CostSource;
use crate::network::Network;

/// A system of several boards, and where the costs of each come from.
///
/// ```
/// use millstream_api::Hosts;
///
/// let hosts = Hosts::read("rk3588-raspberry-pi-5".as_ref())?;
/// let names: Vec<&str> = hosts.system().hosts().iter().map(|host| host.id.as_str()).collect();
/// assert_eq!(names, ["rk", "pi"]);
/// assert!(hosts.machine().board().cluster("pi/B").is_ok());
/// # Ok::<(), millstream_api::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hosts {
    system: System,
    /// All of it as one board.
    machine: Machine,
    /// What the file says of each host, in their order.
    described: Vec<DescribedHost>,
}

/// What a system file says of a host.
#[derive(Debug, Clone)]
struct DescribedHost {
    /// All of its board, of which the host may have a part.
    board: Board,
    /// Where its cost models are.
    costs: PathBuf,
    /// Where it is in the network, if the file says so.
    address: Option<String>,
}

impl Hosts {
    /// The system of a file, or a built-in one by its name. Boards and costs that the file names are read as well.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::File`] with what is wrong, or [`Error::NotBuiltIn`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = built_in::system(path)?;
        let document = SystemDocument::from_json(&text).in_file(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let read = |name: &str| Machine::read(&named(folder, name)).map(|machine| machine.board().clone());
        let whole_board = |source: &BoardSource| match source {
            BoardSource::Named(name) => read(name),
            BoardSource::Inline(board) => Ok(of_file(path, Board::try_from((**board).clone())?)),
        };
        let described = |host: &HostDocument| -> Result<DescribedHost, Error> {
            let (board, costs) = (whole_board(&host.board)?, cost_models(host, folder)?);
            Ok(DescribedHost { board, costs, address: host.address.clone() })
        };
        let described = document.hosts.iter().map(described).collect::<Result<Vec<_>, Error>>().in_file(path)?;
        let system = System::of::<Error>(document, read).in_file(path)?;
        let machine = Machine::of_board(system.board());
        Ok(Self { system, machine, described })
    }

    /// The hosts and the links between them.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Where a host is in the network, such as `rk.local`, if the file says so.
    pub fn address(&self, host: &str) -> Option<&str> {
        let place = self.system.hosts().iter().position(|other| other.id == host)?;
        self.described.get(place)?.address.as_deref()
    }

    /// The place of a host among all.
    pub(super) fn place(&self, name: &str) -> Result<HostPlace, Error> {
        let names: Vec<&str> = self.system.hosts().iter().map(|host| host.id.as_str()).collect();
        let unknown = || Error::Unfit(format!("the system has no host '{name}', only {}", names.join(", ")));
        names.iter().position(|known| *known == name).map(HostPlace::new).ok_or_else(unknown)
    }

    /// What 32-bit floats are sent as between two hosts, by their places in the system; `None` if they have no link.
    pub fn precision(&self, from: usize, to: usize) -> Option<TransferPrecision> {
        let host = |place: usize| self.system.hosts().get(place).map(|host| host.id.as_str());
        Some(self.system.link(host(from)?, host(to)?)?.precision)
    }

    /// All hosts as one board, which schedules of the system are for.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The costs of a network on all hosts, within what the memory of each moves, and of the ways between them.
    ///
    /// # Errors
    /// [`Error::File`] if the cost models of a host are not usable.
    pub fn table(&self, network: &Network) -> Result<CostTable, Error> {
        let mut tables = Vec::new();
        for (host, DescribedHost { board, costs, .. }) in self.system.hosts().iter().zip(&self.described) {
            let machine = Machine::of_board(board.clone());
            let whole = CostSource::Models(costs).table(network, &machine)?;
            let whole = whole.within_memory_of(board, network.graph());
            // A host may have a part of its board only.
            let class = |class: ProcessorClass| {
                let like = whole.find(&class)?;
                Some(DerivedClass { class, like, slowdown: 1.0 })
            };
            let classes: Vec<_> = host.board.processor_classes().filter_map(class).collect();
            let table = whole.derived(&classes).with_one_driver_of_each_device(&host.board, &[]);
            tables.push((host.id.as_str(), table));
        }
        let tables: Vec<(&str, &CostTable)> = tables.iter().map(|(host, table)| (*host, table)).collect();
        let table = CostTable::of_hosts(&tables, HostCrossing::all(&self.system));
        Ok(table.with_frame_costs(FrameCost::all(&self.system)))
    }
}

/// Where the cost models of a host are.
fn cost_models(host: &HostDocument, folder: &Path) -> Result<PathBuf, Error> {
    match (&host.cost, &host.board) {
        (Some(cost), _) => Ok(named(folder, cost)),
        (None, BoardSource::Named(board)) if built_in::is_built_in(board) => Ok(PathBuf::from(board)),
        _ => Err(Error::Unfit(format!(
            "host '{}' has a board of its own; say in 'cost' where its cost models are, as `fit` writes them",
            host.id
        ))),
    }
}

/// What a system file means by a name: a built-in board or costs, or a file that is found from the folder of the system
/// file.
fn named(folder: &Path, name: &str) -> PathBuf {
    if built_in::is_built_in(name) { PathBuf::from(name) } else { folder.join(name) }
}
