//! Links change schedules as they should, held to every schedule that there is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random_cases;

use millstream_board::ProcessorClass;
use millstream_cost::{HandOver, LinkCost, MemoryAccess, Nanoseconds, PowerOrigin, ProcessorPower};
use millstream_partition::Chain;
use millstream_pipeline::{
    Constraints, Nanojoules, PeriodBound, Plan, Problem, best_period, energy_front, pareto_front, teams_of,
};
use random_cases::{Case, plans};

/// The plan with the shortest period, which no other of all plans beats, and which evaluation agrees with.
fn best(case: &Case) -> Plan {
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let all: Vec<Plan> = plans(&problem, &board);
    let periods = all.iter().filter_map(|plan| Some(problem.schedule(plan).evaluate(&graph, &table).ok()?.period));
    let best = best_period(&problem).unwrap();
    assert_eq!(Some(best.period), periods.min());
    assert_eq!(pareto_front(&problem).unwrap().last().unwrap().period, best.period);
    assert_eq!(problem.schedule(&best).evaluate(&graph, &table).unwrap().period, best.period);
    check_energy(case);
    best
}

/// With power, the front with energy has for every plan one that is as good, as evaluation says.
fn check_energy(case: &Case) {
    let (graph, board, mut table) = case.build();
    for processor in table.class_ids() {
        let active_watts = 1.0 + 0.7 * processor.index() as f64;
        table.set_power(processor, ProcessorPower { active_watts, idle_watts: 0.3, origin: PowerOrigin::BoardFile });
    }
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let numbers = |plan: &Plan| {
        let schedule = problem.schedule(plan);
        let evaluation = schedule.evaluate(&graph, &table).ok()?;
        let joules = schedule.energy(&graph, &table).unwrap().unwrap().joules_per_frame;
        Some((evaluation.period, evaluation.latency, Nanojoules::from_joules(joules)))
    };
    let front = energy_front(&problem, &Constraints::default(), 0.0).unwrap();
    for plan in &front {
        let (period, latency, energy) = numbers(plan).unwrap();
        assert_eq!((period, latency), (plan.period, plan.latency));
        assert!(energy.0.abs_diff(plan.energy.unwrap().0) <= 1, "{energy} {plan:?}");
    }
    for (period, latency, energy) in plans(&problem, &board).iter().filter_map(numbers) {
        let covers =
            |plan: &Plan| plan.period <= period && plan.latency <= latency && plan.energy.unwrap().0 <= energy.0 + 1;
        assert!(front.iter().any(covers), "{period} {latency} {energy}");
    }
}

/// Four operators that each take 100 ns, on clusters of so many cores, with values of 40 bytes between them.
fn case(cores: Vec<usize>) -> Case {
    let mut case = Case::with_cores(cores, 4);
    case.sizes = vec![10; 4];
    for (class, count) in case.cores.clone().into_iter().flat_map(|count| 1..=count).enumerate() {
        // More cores are hardly faster, so that pipelines pay.
        case.times[class] = vec![Some(100 - count as u64); 4];
    }
    case
}

const SLOW: Option<(f64, f64)> = Some((10.0, 1e-3));

#[test]
fn no_frame_goes_over_a_link_that_is_too_slow() {
    // Two clusters of one core: a stage on each, or replicas where the link between the two is of no use.
    let mut case = case(vec![1, 1]);
    case.times[1] = vec![None, None, Some(50), Some(50)];
    let one_way = best(&case);
    assert_eq!(one_way.configuration(), "A1-B1");
    case.links = vec![None, SLOW, None, None];
    let alone = best(&case);
    assert_eq!(alone.configuration(), "A1");
    // Only the other way round: nothing changes.
    case.links = vec![None, None, SLOW, None];
    assert_eq!(best(&case), one_way);
}

#[test]
fn a_stage_is_put_where_its_sender_reaches_it() {
    // The first operator runs on A only, the others on B and C, of which C is a little faster but far from A.
    let mut case = case(vec![1, 1, 1]);
    case.times = vec![
        vec![Some(100), None, None, None],
        vec![None, Some(100), Some(100), Some(100)],
        vec![None, Some(90), Some(90), Some(90)],
    ];
    assert_eq!(best(&case).configuration(), "A1-(B1|C1)");
    let far = Some((1e-6, 0.0));
    case.links = vec![None, None, far, None, None, None, None, None, None];
    // Whoever takes over from A on C waits for a microsecond: B takes over and hands on.
    assert_eq!(best(&case).configuration(), "A1-B1-C1");
    case.links = vec![None, far, None, None, None, None, None, None, None];
    assert_eq!(best(&case).configuration(), "A1-C1-B1");
}

/// Whether the best plan's numbers depend on who is at a link when.
fn waits_for_links(case: &Case) -> bool {
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    problem.shares_links(&best(case))
}

#[test]
fn replicas_take_no_more_frames_than_their_link_carries() {
    // A stage on A, and then three replicas on B: 297 ns each without the way, together a frame every 99 ns.
    let mut case = Case::with_cores(vec![1, 3], 2);
    case.sizes = vec![10; 2];
    case.times = [vec![Some(90), None]].into_iter().chain(vec![vec![None, Some(297)]; 3]).collect();
    let free = best(&case);
    assert_eq!((free.configuration().as_str(), free.period), ("A1-(B1|B1|B1)", Nanoseconds(99)));
    // 40 bytes in 120 ns: the replicas wait for them, but the link is free most of the time.
    case.links = vec![None, Some((0.0, 3e-9)), None, None];
    assert_eq!(best(&case).period.0, (297 + 120) / 3);
    // In 240 ns: three replicas could take a frame every 179 ns, and the link passes one every 240 ns.
    assert!(!waits_for_links(&case));
    case.links = vec![None, Some((0.0, 6e-9)), None, None];
    assert_eq!(best(&case).period.0, 240);
    assert!(waits_for_links(&case), "what the replicas wait for each other is to be simulated");
    // Then A had better do all of it in 200 ns, which the replicas would beat without the link.
    case.times[0][1] = Some(110);
    assert_eq!(best(&case).configuration(), "A1");
}

/// After 100 ns on A, one core of B takes 1000 ns and two of them 300, of which the link takes no more than 300 a
/// frame: the search and its bound count on 1 / (1/1300 + 1/600) ns. But the two wait for each other before the link,
/// which only a simulation shows.
#[test]
fn what_unlike_replicas_wait_for_each_other_is_to_be_simulated() {
    let mut case = Case::with_cores(vec![1, 3], 2);
    case.sizes = vec![10; 2];
    case.times = vec![vec![Some(100), None], vec![None, Some(1000)], vec![None, Some(300)], vec![None, Some(300)]];
    case.links = vec![None, Some((0.0, 7.5e-9)), None, None];
    let best = best(&case);
    assert_eq!((best.configuration().as_str(), best.period.0), ("A1-(B1|B2)", 411));
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    assert_eq!(PeriodBound::of(&problem), Ok(PeriodBound(best.period)));
    assert!(waits_for_links(&case));
}

/// Frames go over the same link to two stages: 40 bytes in 120 ns to the one, and 80 in 240 to the other, beside 100 ns
/// for their operators. Each could take a frame every 340 ns, and the link passes one every 360.
#[test]
fn stages_take_no_more_frames_than_the_link_carries_for_all_of_them() {
    let mut case = case(vec![2, 2]);
    case.times = vec![
        vec![Some(100), None, Some(100), None],
        vec![None; 4],
        vec![None, Some(100), None, Some(100)],
        vec![None; 4],
    ];
    let configuration = "A1-B1-A1-B1";
    case.links = vec![None, Some((0.0, 2e-9)), None, None];
    let carried = best(&case);
    assert_eq!((carried.configuration().as_str(), carried.period.0), (configuration, 260));
    case.links = vec![None, Some((0.0, 3e-9)), None, None];
    let held_up = best(&case);
    assert_eq!((held_up.configuration().as_str(), held_up.period.0), (configuration, 360));
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    assert_eq!(PeriodBound::of(&problem), Ok(PeriodBound(Nanoseconds(340))));
    assert!(problem.shares_links(&held_up));
}

/// An accelerator that is fed over a link takes what the link takes, and not what its memory takes from elsewhere.
#[test]
fn a_link_to_an_accelerator_stands_for_its_upload() {
    let (graph, board, mut table) = case(vec![1, 1]).build();
    let [from, to] = [0, 1].map(|index| table.class_ids().nth(index).unwrap());
    let hand_over = |nanoseconds: f64| HandOver { seconds: nanoseconds * 1e-9, seconds_per_byte: 0.0 };
    table.set_access(to, MemoryAccess { upload: hand_over(500.0), download: hand_over(7.0) });
    let period = |table: &_| {
        let problem = Problem::new(&graph, &Chain::of(&graph), &board, table).unwrap().without_replicas();
        let plan = best_period(&problem).unwrap();
        assert_eq!(problem.schedule(&plan).evaluate(&graph, table).unwrap().period, plan.period);
        plan.period.0
    };
    // Alone, each takes four times 99; half the operators there cost 500 for the way, and 7 for the way back.
    assert_eq!(period(&table), 396);
    table.set_link(from, to, LinkCost { hand_over: hand_over(30.0), occupied_seconds_per_byte: 0.0 });
    assert_eq!(period(&table), 2 * 99 + 30 + 7);
}

/// Eleven clusters that all take something else to reach another one are more than a search can tell apart.
#[test]
fn too_many_different_links_are_refused() {
    let mut case = case(vec![1; 11]);
    let pairs = (0..11).flat_map(|from| (0..11).map(move |to| (from, to)));
    case.links = pairs.map(|(from, to)| (from != to).then_some((1e-7 * (from * 11 + to) as f64, 0.0))).collect();
    let (graph, board, table) = case.build();
    let error = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap_err().to_string();
    assert!(error.contains("the links give 11 kinds of senders"), "{error}");
}

/// Seven operators after A, which only B and s run by turns: two teams of them pass a frame every 350 ns, whatever the
/// link to m is like, on which nothing runs at first. Where what comes from A would occupy a link to B or s, whoever of
/// the two reads it, a team has no other beside it: one runs three operators, and hands on to one that runs four.
#[test]
fn teams_are_replicated_where_their_own_links_are_free() {
    let graph = millstream_test_support::chain_of(8, 25);
    let board = millstream_test_support::board("A1+B2+s2+m1");
    let costs = |by_m: Option<u64>| {
        millstream_test_support::table(&graph, &board, |operator, class| {
            match (operator.name.as_str(), class.cluster.as_str()) {
                ("o0", "A") => Some(10),
                (name, "m") if name != "o0" => by_m,
                ("o1" | "o3" | "o5" | "o7", "B") | ("o2" | "o4" | "o6", "s") => Some(100),
                _ => None,
            }
        })
    };

    let found = |occupied: &str, by_m: Option<u64>| {
        let mut table = costs(by_m);
        let of = |label: &str| table.find(&ProcessorClass::new(label, 1)).unwrap();
        let (from, to) = (of("A"), of(occupied));
        let hand_over = HandOver { seconds: 0.0, seconds_per_byte: 1e-10 };
        table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 1e-10 });
        for processor in table.class_ids() {
            table.set_power(
                processor,
                ProcessorPower { active_watts: 2.0, idle_watts: 1.0, origin: PowerOrigin::BoardFile },
            );
        }
        let chain = Chain::of(&graph);
        let problem = Problem::with_teams(&graph, &chain, &board, &table, &teams_of(&board)).unwrap();
        let best = best_period(&problem).unwrap();
        assert_eq!(problem.schedule(&best).evaluate(&graph, &table).unwrap().period, best.period);
        assert!(PeriodBound::of(&problem).unwrap().0 <= best.period);
        let shortest = |plans: Vec<Plan>| plans.iter().map(|plan| plan.period).min();
        assert_eq!(shortest(pareto_front(&problem).unwrap()), Some(best.period));
        assert_eq!(shortest(energy_front(&problem, &Constraints::default(), 0.0).unwrap()), Some(best.period));
        best.period.0
    };
    assert_eq!(["m", "B", "s"].map(|occupied| found(occupied, None)), [350, 400, 400]);
    // m does all seven in 1400 ns, and 10 ns more over its link: the two teams and it pass a frame every 280 ns.
    assert_eq!(found("m", Some(200)), 280);
}
