//! Plans of a single stage: what one would pick without a search.

use millstream_cost::Nanoseconds;

use crate::plan::Plan;
use crate::problem::Problem;
use crate::ways::way::{StageWays, WayId};

/// Plans that leave the network whole: on each single processor that runs all of it, and as an instance on every core of
/// a cluster, or of the whole board with its accelerators. Of instances that the memory has no room for together, the
/// slowest are left out. Each processor has the engine that is quickest there.
///
/// There are none if no processor runs the whole network. Times are those of the costs, without what processors wait
/// for each other's use of memory and links.
pub fn whole_network_plans(problem: &Problem) -> Vec<Plan> {
    let whole = problem.costs.chain.whole();
    let plan = |ways: &[WayId]| problem.plan(vec![StageWays { blocks: whole, ways: ways.to_vec() }]);
    let fits = |plan: &Plan| problem.has_room_for(plan);

    let is_single = |way: &WayId| problem.team(*way).is_none();
    let mut plans: Vec<Plan> = problem.ways().filter(is_single).filter_map(|way| plan(&[way])).filter(fits).collect();
    if !problem.settings.has_replicas {
        return plans;
    }

    let mut sets: Vec<Vec<(Nanoseconds, WayId)>> = Vec::new();
    for cluster in problem.clusters() {
        let core = problem.class_with(cluster, 1);
        let time = plan(&[core]).map(|alone| alone.latency);
        let instances = time.map(|time| vec![(time, core); problem.classes_of(cluster).len()]);
        sets.extend(instances);
    }
    if sets.len() > 1 {
        sets.push(sets.concat());
    }
    for mut set in sets {
        set.sort_unstable();
        while set.len() > 1 {
            let ways: Vec<WayId> = set.iter().map(|(_, way)| *way).collect();
            if let Some(instances) = plan(&ways).filter(fits) {
                plans.push(instances);
                break;
            }
            set.pop();
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::CostTable;
    use millstream_graph::Graph;
    use millstream_partition::Chain;
    use millstream_test_support::{board, chain, table};

    use super::*;

    /// The configurations, periods and latencies of these plans, which the schedules confirm.
    fn plans(graph: &Graph, on: &str, table: &CostTable) -> Vec<(String, u64, u64)> {
        let problem = Problem::new(graph, &Chain::of(graph), &board(on), table).unwrap();
        let shown = |plan: &Plan| {
            let evaluation = problem.schedule(plan).evaluate(graph, table).unwrap();
            assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency));
            (plan.configuration(), plan.period.0, plan.latency.0)
        };
        whole_network_plans(&problem).iter().map(shown).collect()
    }

    fn shown(plans: &[(String, u64, u64)]) -> Vec<(&str, u64, u64)> {
        plans.iter().map(|(configuration, period, latency)| (configuration.as_str(), *period, *latency)).collect()
    }

    #[test]
    fn the_network_is_whole_on_each_processor_and_on_every_core() {
        let (graph, on) = (chain(4), "B2+s2");
        let threads = |class: &millstream_board::ProcessorClass| if class.count == 2 { 6 } else { 10 };
        let both =
            table(&graph, &board(on), |_, class| Some(threads(class) * if class.cluster == "B" { 1 } else { 4 }));
        let singles = [("B1", 40, 40), ("B2", 24, 24), ("s1", 160, 160), ("s2", 96, 96)];
        // Rates are 2 / 40 and 2 / 160 frames a nanosecond.
        let instances = [("(B1|B1)", 20, 40), ("(s1|s1)", 80, 160), ("(B1|B1|s1|s1)", 16, 160)];
        assert_eq!(shown(&plans(&graph, on, &both)), [&singles[..], &instances].concat());
        assert_eq!(shown(&plans(&graph, "B1", &both)), singles[..1], "one core is all there is");

        let problem = Problem::new(&graph, &Chain::of(&graph), &board(on), &both).unwrap();
        assert_eq!(whole_network_plans(&problem.without_replicas()).len(), singles.len());

        let no_last_one = table(&graph, &board(on), |operator, class| {
            (class.cluster == "B" || operator.name != "o3").then(|| threads(class))
        });
        let found = plans(&graph, on, &no_last_one);
        let expected = [("B1", 40, 40), ("B2", 24, 24), ("(B1|B1)", 20, 40)];
        assert_eq!(shown(&found), expected, "small cores don't run all of it");
    }
}
