//! Plans of a single stage: what one would pick without a search.

use millstream_cost::Nanoseconds;

use crate::plan::Plan;
use crate::problem::Problem;
use crate::ways::way::{StageWays, WayId};

/// The network as a whole on the single processor that is quickest for it, and an instance of it on every core and
/// accelerator that runs it as a whole, as far as the memory has room for them. Each processor has the engine that is
/// quickest there.
pub fn whole_network_plans(problem: &Problem) -> Vec<Plan> {
    let whole = problem.costs.chain.whole();
    let plan = |ways: Vec<WayId>| problem.plan(vec![StageWays { blocks: whole, ways }]);
    let singles: Vec<(WayId, Nanoseconds)> = problem
        .ways()
        .filter(|&way| problem.team(way).is_none())
        .filter_map(|way| Some((way, plan(vec![way])?.latency)))
        .collect();

    let quickest = singles.iter().min_by_key(|(_, latency)| *latency).map(|&(way, _)| vec![way]);
    let runs = |way: &WayId| singles.iter().any(|(single, _)| single == way);
    let on_every_core = problem.clusters().flat_map(|cluster| {
        let cores = problem.classes_of(cluster).len();
        std::iter::repeat_n(problem.class_with(cluster, 1), cores).filter(runs)
    });
    let instances: Vec<WayId> = on_every_core.collect();
    let has_instances = instances.len() > 1 && problem.settings.has_replicas;

    let sets = quickest.into_iter().chain(has_instances.then_some(instances));
    sets.filter_map(plan).filter(|plan| problem.has_room_for(plan)).collect()
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

    #[test]
    fn the_network_is_whole_on_the_quickest_processor_and_on_every_core() {
        let (graph, on) = (chain(4), "B2+s2");
        let threads = |class: &millstream_board::ProcessorClass| if class.count == 2 { 6 } else { 10 };
        let both =
            table(&graph, &board(on), |_, class| Some(threads(class) * if class.cluster == "B" { 1 } else { 4 }));
        // Rates are 2 / 40 and 2 / 160 frames a nanosecond.
        let expected = [("B2".to_owned(), 24, 24), ("(B1|B1|s1|s1)".to_owned(), 16, 160)];
        assert_eq!(plans(&graph, on, &both), expected);

        let no_last_one = table(&graph, &board(on), |operator, class| {
            (class.cluster == "B" || operator.name != "o3").then(|| threads(class))
        });
        let expected = [("B2".to_owned(), 24, 24), ("(B1|B1)".to_owned(), 20, 40)];
        assert_eq!(plans(&graph, on, &no_last_one), expected, "small cores don't run all of it");
        assert_eq!(plans(&graph, "B1", &both).len(), 1, "one core is all there is");
    }
}
