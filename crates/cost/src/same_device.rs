//! Accelerators that are one device, driven by several libraries.

use std::collections::{BTreeMap, BTreeSet};

use millstream_board::{Accelerator, Board, BoardDocument, Link, ProcessorClass};

use crate::nanoseconds::Nanoseconds;
use crate::table::{ClassId, CostTable};

/// How long networks take with a driver of a device: the lower the better, by the first of these that differs.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct DriverTime {
    /// Operators that neither it nor a core runs.
    impossible: usize,
    /// What the others take, each on the quicker of the device and any number of cores.
    with_cores: Nanoseconds,
    /// Operators that it does not run itself: this counts where cores are quicker at everything.
    refused: usize,
    /// What the others take on the device.
    alone: Nanoseconds,
}

/// Of accelerators that are one device ([`Board::device_of`]), keeps one for all these networks: one of `used`, which a
/// schedule has already, or else the one with which their operators take least, each on the quicker of it and any number
/// of cores; of several, the board's first. The others run nothing. What transfers take is left aside. All tables are of
/// the board.
pub fn keep_one_driver_of_each_device(tables: &mut [CostTable], board: &Board, used: &[&str]) {
    let mut of_device: BTreeMap<&str, Vec<ProcessorClass>> = BTreeMap::new();
    for accelerator in board.accelerators() {
        let class = ProcessorClass::new(accelerator.label.clone(), 1);
        of_device.entry(board.device_of(&accelerator.label)).or_default().push(class);
    }
    let cores: Vec<ProcessorClass> = board.core_classes().collect();
    for same in of_device.into_values().filter(|same| same.len() > 1) {
        let is_used = |driver: &ProcessorClass| used.contains(&driver.cluster.as_str());
        let quickest = same.iter().min_by_key(|driver| (!is_used(driver), DriverTime::of(tables, driver, &cores)));
        for driver in same.iter().filter(|driver| Some(*driver) != quickest) {
            for table in &mut *tables {
                table.find(driver).into_iter().for_each(|id| table.clear(id));
            }
        }
    }
}

impl DriverTime {
    /// Of all networks together.
    fn of(tables: &[CostTable], driver: &ProcessorClass, cores: &[ProcessorClass]) -> Self {
        let mut sum = Self::default();
        for table in tables {
            sum.add(table, driver, cores);
        }
        sum
    }

    fn add(&mut self, table: &CostTable, driver: &ProcessorClass, cores: &[ProcessorClass]) {
        let device = table.find(driver);
        let cores: Vec<ClassId> = cores.iter().filter_map(|core| table.find(core)).collect();
        for operator in table.operator_ids() {
            let own = device.and_then(|device| table.time(device, operator));
            match cores.iter().filter_map(|&core| table.time(core, operator)).chain(own).min() {
                Some(time) => self.with_cores += time,
                None => self.impossible += 1,
            }
            match own {
                Some(time) => self.alone += time,
                None => self.refused += 1,
            }
        }
    }
}

impl CostTable {
    /// The same with one driver of each device ([`keep_one_driver_of_each_device`]).
    #[must_use]
    pub fn with_one_driver_of_each_device(mut self, board: &Board, used: &[&str]) -> Self {
        keep_one_driver_of_each_device(std::slice::from_mut(&mut self), board, used);
        self
    }

    /// Accelerators that run nothing because another one drives the same device, each with that one, by costs of which
    /// each device has one driver.
    pub fn other_drivers<'a>(&self, board: &'a Board) -> Vec<(&'a Accelerator, &'a Accelerator)> {
        let runs = |accelerator: &Accelerator| self.runs_something(&ProcessorClass::new(accelerator.label.clone(), 1));
        let is_same =
            |one: &Accelerator, other: &Accelerator| board.device_of(&one.label) == board.device_of(&other.label);
        let all = || board.accelerators().iter();
        let idle = all().filter(|accelerator| !runs(accelerator));
        idle.filter_map(|idle| Some((idle, all().find(|other| runs(other) && is_same(idle, other))?))).collect()
    }

    /// The board as these costs use it: without the [other drivers](Self::other_drivers) of its devices, and their links.
    pub fn board_without_other_drivers(&self, board: &Board) -> Board {
        let idle: BTreeSet<&str> = self.other_drivers(board).into_iter().map(|(idle, _)| idle.label.as_str()).collect();
        if idle.is_empty() {
            return board.clone();
        }
        let document = board.to_document();
        let is_used = |label: &str| !idle.contains(label);
        let accelerators = document.accelerators.into_iter().filter(|own| is_used(&own.label));
        let accelerators = accelerators.map(|own| Accelerator { same_device_as: None, ..own }).collect();
        let is_between_used = |link: &Link| is_used(&link.from) && is_used(&link.to);
        let links = document.links.into_iter().filter(is_between_used).collect();
        // A part of a board that is possible is possible.
        Board::try_from(BoardDocument { accelerators, links, ..document }).unwrap_or_else(|_| board.clone())
    }

    /// Whether a processor is there and runs any operator.
    pub fn runs_something(&self, class: &ProcessorClass) -> bool {
        let runs = |class| self.operator_ids().any(|operator| self.time(class, operator).is_some());
        self.find(class).is_some_and(runs)
    }

    /// The same, but processors that run nothing by another table of the same processors run nothing.
    #[must_use]
    pub fn with_nothing_more_than(mut self, other: &Self) -> Self {
        for class in self.class_ids() {
            let same = &self.classes()[class.index()];
            if other.find(same).is_some() && !other.runs_something(same) {
                self.clear(class);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_graph::OperatorId;

    use super::*;

    /// A core, and two drivers of one graphics device.
    const BOARD: &str = r#"{
        "format": "millstream-board", "version": 1, "name": "two drivers",
        "clusters": [{ "label": "B", "capacity": 1024, "cores": [{ "id": 0 }] }],
        "accelerators": [
            { "label": "G", "kind": "gpu" }, { "label": "V", "kind": "gpu", "same_device_as": "G" }
        ]
    }"#;

    type Times = [[Option<u64>; 2]; 3];

    fn table(board: &Board, times: Times) -> CostTable {
        let mut table = CostTable::new(2, board.processor_classes());
        for (class, times) in table.class_ids().zip(times) {
            for (operator, time) in times.into_iter().enumerate() {
                time.into_iter().for_each(|time| table.set_time(class, OperatorId::new(operator), Nanoseconds(time)));
            }
        }
        table
    }

    fn running(table: &CostTable) -> Vec<bool> {
        table.classes().iter().map(|class| table.runs_something(class)).collect()
    }

    /// What runs something of what takes so long on a core, with shaders and with OpenVINO, in nanoseconds.
    fn kept(used: &[&str], times: Times) -> Vec<bool> {
        let board = Board::from_json(BOARD).unwrap();
        running(&table(&board, times).with_one_driver_of_each_device(&board, used))
    }

    #[test]
    fn one_driver_of_a_device_is_used() {
        let (shaders, openvino) = ([true, true, false], [true, false, true]);
        assert_eq!(kept(&[], [[Some(90); 2], [Some(30); 2], [Some(31); 2]]), shaders);
        assert_eq!(kept(&[], [[Some(90); 2], [Some(32); 2], [Some(31); 2]]), openvino);
        assert_eq!(kept(&["V", "B"], [[Some(90); 2], [Some(30); 2], [Some(31); 2]]), openvino, "a schedule has it");
        // The core helps where it is quicker, or the only one.
        assert_eq!(kept(&[], [[Some(90), Some(1)], [Some(30), Some(80)], [Some(31), Some(2)]]), shaders);
        assert_eq!(kept(&[], [[Some(90), Some(5)], [Some(30), None], [Some(31), Some(2)]]), openvino);
        assert_eq!(kept(&[], [[Some(90), None], [Some(30), None], [Some(60), Some(60)]]), openvino);
        // Where the core is quicker at all of it, a pipeline may use the device all the same.
        assert_eq!(kept(&[], [[Some(9); 2], [Some(300); 2], [Some(30); 2]]), openvino);
        assert_eq!(kept(&[], [[Some(9); 2], [Some(30), None], [Some(300); 2]]), openvino);
        assert_eq!(kept(&[], [[Some(9); 2], [None; 2], [None; 2]]), [true, false, false]);
    }

    #[test]
    fn networks_that_share_a_board_have_one_driver() {
        let board = Board::from_json(BOARD).unwrap();
        let times = |shaders: u64, openvino: u64| [[Some(90); 2], [Some(shaders); 2], [Some(openvino); 2]];
        let mut tables = [table(&board, times(10, 20)), table(&board, times(60, 30))];
        keep_one_driver_of_each_device(&mut tables, &board, &[]);
        assert_eq!(tables.map(|table| running(&table)), [vec![true, false, true], vec![true, false, true]]);
    }

    #[test]
    fn what_ran_nothing_goes_on_running_nothing() {
        let board = Board::from_json(BOARD).unwrap();
        let earlier = table(&board, [[Some(9); 2], [None; 2], [Some(5), None]]);
        let later = table(&board, [[Some(9); 2], [Some(5); 2], [Some(5); 2]]).with_nothing_more_than(&earlier);
        assert_eq!(running(&later), [true, false, true]);
        assert_eq!(later.time(ClassId(2), OperatorId::new(1)), Some(Nanoseconds(5)));
    }
}
