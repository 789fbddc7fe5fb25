//! Costs of several boards that are one system.

use millstream_board::{ProcessorClass, host_of, label_in};

use crate::crossing::HostCrossing;
use crate::frame_cost::FrameCost;
use crate::nanoseconds::Nanoseconds;
use crate::table::CostTable;

impl CostTable {
    /// The costs of several hosts as those of one system, whose clusters are called `host/label`; values go from one
    /// host to another by these crossings. All tables must be of the same network.
    pub fn of_hosts(hosts: &[(&str, &Self)], crossings: Vec<HostCrossing>) -> Self {
        let in_system = |host: &str, class: &ProcessorClass| ProcessorClass {
            cluster: label_in(host, &class.cluster),
            ..class.clone()
        };
        let classes = hosts.iter().flat_map(|(host, table)| table.classes().iter().map(|class| in_system(host, class)));
        let operators = hosts.iter().map(|(_, table)| table.operators()).max().unwrap_or(0);
        let mut joined = Self::new(operators, classes);
        let mut first = 0;
        for (_, table) in hosts {
            joined.copy_from(table, first);
            first += table.classes().len();
        }
        joined.crossings = crossings;
        joined
    }

    /// The way from one host to another; `None` if there is no link between the two.
    pub fn crossing(&self, from: &str, to: &str) -> Option<&HostCrossing> {
        self.crossings.iter().find(|crossing| crossing.from == from && crossing.to == to)
    }

    /// All ways between hosts, and between them and outside; none for a single board.
    pub fn crossings(&self) -> &[HostCrossing] {
        &self.crossings
    }

    /// The same where frames come from outside and results go there at these costs; hosts that are not named pay
    /// nothing.
    #[must_use]
    pub fn with_frame_costs(mut self, costs: Vec<FrameCost>) -> Self {
        self.frame_costs = costs;
        self
    }

    /// What a host pays for so many bytes of frames or results.
    pub fn frame_cost(&self, host: &str, bytes: u64) -> Nanoseconds {
        let of_host = self.frame_costs.iter().find(|cost| cost.host == host);
        of_host.map_or(Nanoseconds::ZERO, |of_host| of_host.cost.time(bytes))
    }

    /// The hosts of its classes, each once, in their order; none for a single board.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = Vec::new();
        for host in self.classes().iter().filter_map(|class| host_of(&class.cluster)) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::{Board, System, SystemDocument};
    use millstream_graph::OperatorId;

    use super::*;
    use crate::derived::DerivedClass;
    use crate::hand_over::{HandOver, LinkCost};
    use crate::part_cost::PartCost;

    fn system(duplex: &str) -> System {
        let board = r#"{"format": "millstream-board", "version": 1, "name": "b", "clusters": [
            {"label": "B", "capacity": 1024, "cores": [{"id": 0}]}]}"#;
        let text = format!(
            r#"{{"format": "millstream-system", "version": 1, "name": "two", "hosts": [
                {{"id": "a", "board": "b"}}, {{"id": "b", "board": "b"}}], "links": [
                {{"hosts": ["a", "b"], "latency_seconds": 1e-6, "bytes_per_second": 1e9, "duplex": "{duplex}",
                "cpu_seconds_per_byte": {{"a": 2e-9, "b": 3e-9}}, "cpu_seconds_per_sent_byte": {{"a": 4e-9, "b": 5e-9}},
                "cpu_seconds_per_message": {{"a": 1e-8, "b": 2e-8}}}}]}}"#
        );
        let document = SystemDocument::from_json(&text).unwrap();
        System::of(document, |_| Board::from_json(board)).unwrap()
    }

    #[test]
    fn each_end_of_a_link_pays_its_own_part_and_ways_share_it_as_they_must() {
        let [there, back] = HostCrossing::all(&system("full")).try_into().unwrap();
        assert_eq!((there.link.as_str(), back.link.as_str()), ("a-b", "a-b"));
        let costs = |crossing: &HostCrossing| {
            [crossing.occupied(100), crossing.latency(), crossing.sending(100), crossing.receiving(100)]
                .map(|time| time.0)
        };
        assert_eq!(costs(&there), [100, 1000, 400 + 10, 300 + 20]);
        assert_eq!(costs(&back), [100, 1000, 500 + 20, 200 + 10]);
        assert_ne!(there.lane, back.lane);
        let half = HostCrossing::all(&system("half"));
        assert_eq!(half[0].lane, half[1].lane);
    }

    #[test]
    fn a_joined_table_says_what_each_host_s_table_says() {
        let [first, second] = [0, 1].map(OperatorId::new);
        let table = |slowness: u64| {
            let mut table = CostTable::new(2, [ProcessorClass::new("B", 1), ProcessorClass::new("s", 1)]);
            let [fast, slow] = [0, 1].map(|place| table.class_ids().nth(place).unwrap());
            table.set_time(fast, second, Nanoseconds(10 * slowness));
            table.set_time(slow, first, Nanoseconds(30 * slowness));
            table.set_part(slow, first, PartCost { wave: 4, ..PartCost::default() });
            let hand_over = HandOver { seconds: 1e-9 * slowness as f64, seconds_per_byte: 0.0 };
            table.set_hand_over(slow, hand_over);
            table.set_link(fast, slow, LinkCost { hand_over, occupied_seconds_per_byte: 1e-9 });
            table
        };

        let joined = CostTable::of_hosts(&[("a", &table(1)), ("b", &table(7))], HostCrossing::all(&system("full")));
        assert_eq!(joined.hosts(), ["a", "b"]);
        let find = |label: &str| joined.find(&ProcessorClass::new(label, 1)).unwrap();
        assert_eq!(joined.time(find("b/B"), second), Some(Nanoseconds(70)));
        assert_eq!(joined.time(find("b/B"), first), None);
        assert_eq!((joined.time(find("a/s"), first), joined.part(find("b/s"), first).wave), (Some(Nanoseconds(30)), 4));
        assert_eq!(joined.hand_over(find("b/B"), find("b/s"), 5), Nanoseconds(14));
        assert_eq!(joined.link_time(find("b/B"), find("b/s"), 5), Nanoseconds(5));
        // Between hosts, only what the receiver pays for values from anywhere; the crossing says the rest.
        assert_eq!(joined.hand_over(find("a/B"), find("b/s"), 5), Nanoseconds(7));
        assert!(joined.link(find("a/B"), find("b/s")).is_none());
        assert_eq!(joined.crossing("b", "a").unwrap().link, "a-b");
        // A table for other speeds keeps the ways between hosts.
        let class = ProcessorClass::new("b/B", 1);
        let slower = [DerivedClass { class, like: find("b/B"), slowdown: 2.0 }];
        let derived = joined.derived(&slower);
        assert_eq!(derived.time(derived.class_ids().next().unwrap(), second), Some(Nanoseconds(140)));
        assert_eq!(derived.crossings(), joined.crossings());
    }
}
