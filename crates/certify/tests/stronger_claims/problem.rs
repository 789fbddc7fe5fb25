//! Random problems with teams, and small schedules for them.

use millstream_board::{Board, Processor};
use millstream_cost::{ClassId, Nanoseconds, PowerOrigin, ProcessorPower, RowCost, TransferModel};
use millstream_graph::{Along, OperatorId};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::random_problem;
use crate::random_problem::Instance;

/// Rows of what operators make, where they can be divided by rows.
const ROWS: usize = 4;

/// A problem whose processors draw some power and may work in teams, which divide operators by rows in every second
/// one.
pub(crate) fn problem(seed: u64) -> Instance {
    let rows = (seed % 2 == 1).then_some(ROWS);
    let mut instance = random_problem::instance(seed, rows);
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let table = &mut instance.table;
    let all: Vec<ClassId> = table.class_ids().collect();
    for &processor in &all {
        let active_watts = 2.0 + processor.index() as f64;
        let power = ProcessorPower { active_watts, idle_watts: 0.5, origin: PowerOrigin::BoardFile };
        table.set_power(processor, power);
        for operator in OperatorId::all(rows.map_or(0, |_| table.operators())) {
            let [start, read, write] = [30, 10, 10].map(|most| Nanoseconds(random.random_range(0..most)));
            let rows = RowCost { fixed_fraction: random.random_range(0.0..0.2), start, read, write };
            table.set_rows(processor, operator, rows);
        }
    }
    for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
        let latency_seconds = f64::from(random.random_range(0..60)) * 1e-9;
        table.set_transfer(from, to, TransferModel { latency_seconds, ..TransferModel::default() });
    }
    instance
}

/// A whole cluster or an accelerator each: the processors of schedules.
pub(crate) fn processors(board: &Board) -> Vec<Processor> {
    let on_cluster = |cluster: &millstream_board::Cluster| {
        Processor::on_cores(cluster.label.clone(), cluster.cores.iter().map(|core| core.id))
    };
    let accelerators = board.accelerators().iter().map(|accelerator| Processor::accelerator(accelerator.label.clone()));
    board.clusters().iter().map(on_cluster).chain(accelerators).collect()
}

/// All schedules of one stage on one processor or a team of two, or of two stages on a processor each, whose times do
/// not depend on what waits for links.
pub(crate) fn schedules(instance: &Instance) -> Vec<Schedule> {
    let Instance { graph, chain, board, table } = instance;
    let order = chain.operators(chain.whole());
    let ends = chain.blocks().iter().scan(0, |done, block| {
        *done += block.operators.len();
        Some(*done)
    });
    let cuts: Vec<usize> = ends.filter(|end| *end < order.len()).collect();
    let processors = processors(board);
    let stage = |processor: &Processor, operators: &[OperatorId]| Stage {
        replicas: vec![Replica::single(processor.clone(), operators.to_vec())],
    };

    let mut schedules = Vec::new();
    for first in &processors {
        schedules.push(Schedule { stages: vec![stage(first, &order)] });
        for second in processors.iter().filter(|second| *second != first) {
            let cut = |cut: &usize| vec![stage(first, &order[..*cut]), stage(second, &order[*cut..])];
            schedules.extend(cuts.iter().map(cut).map(|stages| Schedule { stages }));
            if first.cluster < second.cluster {
                schedules.extend(teams([first, second], &order).map(|team| Schedule { stages: vec![team] }));
            }
        }
    }
    let is_predictable =
        |schedule: &Schedule| schedule.evaluate(graph, table).is_ok_and(|evaluation| !evaluation.shares_board_links());
    schedules.retain(|schedule| schedule.validate(graph, board).is_ok() && is_predictable(schedule));
    schedules
}

/// All ways of two processors to run these operators together: each operator on either of them, or the rows of all
/// divided between them.
fn teams<'a>(pair: [&'a Processor; 2], operators: &'a [OperatorId]) -> impl Iterator<Item = Stage> + 'a {
    let team = move |lists: [Vec<OperatorId>; 2], splits: Vec<OperatorSplit>| {
        let assignments = pair.into_iter().cloned().zip(lists);
        let assignments = assignments.map(|(processor, operators)| Assignment { processor, operators }).collect();
        Stage { replicas: vec![Replica { assignments, splits }] }
    };
    let by_rows = (1..ROWS).map(move |rows| {
        let (operators, shares) = (operators.to_vec(), vec![rows, ROWS - rows]);
        let split = OperatorSplit { operators: operators.clone(), along: Along::Rows, shares };
        team([operators.clone(), operators], vec![split])
    });
    let whole = (1..(1_usize << operators.len()) - 1).map(move |of_first| {
        let on = |is_first: bool| {
            let is_own = |place: &usize| (of_first >> place & 1 == 1) == is_first;
            (0..operators.len()).filter(is_own).map(|place| operators[place]).collect()
        };
        team([on(true), on(false)], Vec::new())
    });
    by_rows.chain(whole)
}
