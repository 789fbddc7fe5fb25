//! Operating points of clusters, and costs at them.

use std::collections::BTreeMap;

use millstream_board::{Board, Cluster, OperatingPoint};

use crate::derived::DerivedClass;
use crate::power::ProcessorPower;
use crate::table::CostTable;

/// Clock frequencies of clusters, in hertz, by their labels; clusters that are not named run at their highest.
pub type Clocks = BTreeMap<String, u64>;

impl CostTable {
    /// The same costs with some clusters at lower operating points: times of operators are inversely proportional to
    /// the clock (thread granularity, equation 14), dynamic power follows clock and voltage, static power the voltage
    /// (Para-Pipe, equation 8). What waits for memory does not really take longer at a lower clock, so times are rather
    /// too long than too short.
    ///
    /// Clocks that are not among a cluster's operating points count as the next higher one.
    #[must_use]
    pub fn at_clocks(&self, board: &Board, clocks: &Clocks) -> Self {
        let factors = |label: &str| -> Option<(OperatingPoint, OperatingPoint)> {
            let points = &board.cluster(label).ok()?.operating_points;
            let wanted = clocks.get(label)?;
            Some((*points.iter().find(|point| point.hertz >= *wanted)?, *points.last()?))
        };
        let classes = self.class_ids().zip(self.classes()).map(|(id, class)| {
            let slowdown = factors(&class.cluster).map_or(1.0, |(point, full)| full.hertz as f64 / point.hertz as f64);
            DerivedClass { class: class.clone(), like: id, slowdown }
        });
        let mut table = self.derived(&classes.collect::<Vec<_>>());
        for class in table.class_ids() {
            let Some((point, full)) = factors(&table.classes()[class.index()].cluster) else { continue };
            let Some(power) = table.power(class) else { continue };
            let volts = point.volts.zip(full.volts).map_or(1.0, |(at_point, at_full)| at_point / at_full);
            let dynamic = volts * volts * point.hertz as f64 / full.hertz as f64;
            let idle_watts = power.idle_watts * volts;
            let active_watts = idle_watts + (power.active_watts - power.idle_watts) * dynamic;
            table.set_power(class, ProcessorPower { active_watts, idle_watts, ..power });
        }
        table
    }
}

/// Every combination of clusters' operating points, at most so many per cluster: evenly chosen, the highest one always.
pub fn clock_combinations(board: &Board, most_per_cluster: usize) -> Vec<Clocks> {
    let mut found = vec![Clocks::new()];
    for cluster in board.clusters().iter().filter(|cluster| cluster.operating_points.len() > 1) {
        let chosen = chosen_points(cluster, most_per_cluster.max(1));
        let with = |clocks: &Clocks, hertz: u64| {
            let mut clocks = clocks.clone();
            clocks.insert(cluster.label.clone(), hertz);
            clocks
        };
        found = found.iter().flat_map(|clocks| chosen.iter().map(move |&hertz| with(clocks, hertz))).collect();
    }
    found
}

fn chosen_points(cluster: &Cluster, most: usize) -> Vec<u64> {
    let points = &cluster.operating_points;
    let last = points.len().saturating_sub(1);
    let places = |count: usize| (0..count).map(move |index| last - index * last / (count - 1).max(1));
    places(points.len().min(most)).filter_map(|place| points.get(place)).map(|point| point.hertz).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_graph::OperatorId;

    use super::*;
    use crate::nanoseconds::Nanoseconds;
    use crate::power::PowerOrigin;

    fn board() -> Board {
        Board::from_json(
            r#"{"format": "millstream-board", "version": 1, "name": "b", "clusters": [
            {"label": "B", "capacity": 1024, "cores": [{"id": 0}], "operating_points": [
                {"hertz": 500, "volts": 0.5}, {"hertz": 750, "volts": 0.75}, {"hertz": 1000, "volts": 1.0}]},
            {"label": "s", "capacity": 300, "cores": [{"id": 1}]}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn half_the_clock_takes_twice_the_time_and_less_power() {
        let board = board();
        let mut table = CostTable::new(1, board.processor_classes());
        for class in table.class_ids() {
            table.set_time(class, OperatorId::new(0), Nanoseconds(100));
            let power = ProcessorPower { active_watts: 5.0, idle_watts: 1.0, origin: PowerOrigin::BoardFile };
            table.set_power(class, power);
        }
        let slow = table.at_clocks(&board, &Clocks::from([("B".to_owned(), 400)]));
        let [big, small] = [0, 1].map(|index| slow.class_ids().nth(index).unwrap());
        assert_eq!(
            (slow.time(big, OperatorId::new(0)), slow.time(small, OperatorId::new(0))),
            (Some(Nanoseconds(200)), Some(Nanoseconds(100)))
        );
        let power = slow.power(big).unwrap();
        assert!((power.idle_watts - 0.5).abs() < 1e-12 && (power.active_watts - (0.5 + 4.0 / 8.0)).abs() < 1e-12);
        assert_eq!(slow.power(small), table.power(small));
        // A clock that the cluster has is that one, not the next.
        let own = table.at_clocks(&board, &Clocks::from([("B".to_owned(), 500)]));
        assert_eq!(own.time(big, OperatorId::new(0)), Some(Nanoseconds(200)));
    }

    #[test]
    fn combinations_start_at_the_highest_clocks() {
        let hertz = |most: usize| -> Vec<u64> {
            clock_combinations(&board(), most).iter().filter_map(|clocks| clocks.get("B").copied()).collect()
        };
        assert_eq!(hertz(9), [1000, 750, 500]);
        assert_eq!(hertz(2), [1000, 500]);
        assert_eq!(hertz(1), [1000]);
    }
}
