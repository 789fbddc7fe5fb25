//! What is proven of teams is not above what any division of a network between two processors takes, tried one by one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor, ProcessorClass};
use millstream_certify::{NetworkBlocks, SearchedProof, SearchedTeams, TeamProof, check_searched};
use millstream_cost::{
    BlockedEnd, ClassId, CostTable, HandOver, LinkCost, Nanoseconds, PartCost, RowCost, TransferModel,
};
use millstream_graph::{
    Along, DataType, Graph, GraphBuilder, Locality, NewOperator, OperatorId, OperatorKind, Shape, Window, Work,
};
use millstream_partition::{Chain, subgraphs};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use millstream_test_support::{board, chain, chain_of, pointwise};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROWS: usize = 4;

/// What each processor does of an operator or of several in a row.
#[derive(Debug, Clone)]
enum Piece {
    Whole(usize, OperatorId),
    Divided(OperatorSplit),
}

/// A chain of four operators, or branches and joins: convolutions whose channels can be divided, or windows whose rows
/// can.
fn graph(has_rows: bool, channels: usize, random: &mut ChaCha8Rng) -> Graph {
    let shape = if has_rows { [1, 1, ROWS, 25] } else { [1, channels, 1, 25] };
    let mut builder = GraphBuilder::new("small");
    let value = |builder: &mut GraphBuilder, name: &str| {
        builder.value(name, Some(DataType::F32), Some(Shape::from(shape))).unwrap()
    };
    let [x, a, b, c, d] = ["x", "a", "b", "c", "d"].map(|name| value(&mut builder, name));
    builder.input(x);
    let third: &[_] = if random.random_bool(0.7) { &[b] } else { &[a, b] };
    let with_c = [Some(a), Some(a), Some(b), None, None][random.random_range(0..5)];
    let fourth: Vec<_> = with_c.into_iter().chain([c]).collect();

    let mut made = |name: &str, reads: &[_], makes| {
        let (op_type, kind) = match (has_rows, reads.len(), random.random_range(0..3)) {
            (true, ..) => ("Any", OperatorKind::Opaque),
            (false, 1, 0..2) => ("Conv", OperatorKind::Convolution(pointwise(channels))),
            (false, 1, _) => ("Relu", OperatorKind::Activation),
            (false, ..) => ("Add", OperatorKind::Elementwise),
        };
        let span = [1, 3][random.random_range(0..2)];
        let windows = Locality::Windows(vec![Window { span, stride: 1, padding: span / 2 }; 2]);
        let work =
            Work { input_bytes: 400, output_bytes: 400, weight_bytes: random.random_range(0..2000), ..Work::default() };
        let operator = NewOperator::new(name, op_type, kind).work(work).reads(reads.iter().copied()).makes([makes]);
        builder.operator(if has_rows { operator.locality(windows) } else { operator }).unwrap();
    };
    made("first", &[x], a);
    made("second", &[a], b);
    made("third", third, c);
    made("fourth", &fourth, d);
    builder.output(d);
    builder.build().unwrap()
}

/// Where a team is needed, one processor has the first operator for itself and the other one the last, and a second
/// stage costs far too much.
fn table(graph: &Graph, board: &Board, is_team_needed: bool, random: &mut ChaCha8Rng) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    let all: Vec<ClassId> = table.class_ids().collect();
    let (first, last) = (graph.order()[0], graph.order()[graph.operators().len() - 1]);
    let has_rows = graph.operator(first).locality != Locality::Global;
    for &processor in &all {
        let hand_over = if is_team_needed { 1e-3 } else { f64::from(random.random_range(0..1000)) * 1e-9 };
        table.set_hand_over(processor, HandOver { seconds: hand_over, seconds_per_byte: 0.0 });
        let missing = if processor.index() == 0 { last } else { first };
        for id in graph.operator_ids().filter(|id| !is_team_needed || *id != missing) {
            table.set_time(processor, id, Nanoseconds(random.random_range(1000..2000)));
            let part = PartCost {
                fixed_fraction: [0.0, 0.1, 0.3][random.random_range(0..3)],
                wave: [1, 1, 7][random.random_range(0..3)],
                apart: Nanoseconds(random.random_range(0..400)),
            };
            table.set_part(processor, id, part);
            if has_rows {
                let [start, read, write] = [30, 40, 40].map(|most| Nanoseconds(random.random_range(0..most)));
                let rows = RowCost { fixed_fraction: random.random_range(0.0..0.2), start, read, write };
                table.set_rows(processor, id, rows);
            }
        }
    }

    // Bounds know the least way of a value, not the one that it goes.
    let most_latency = [1, 100, 800][random.random_range(0..3)];
    for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
        let blocks = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)][random.random_range(0..3)];
        let latency_seconds = f64::from(random.random_range(0..most_latency)) * 1e-9;
        let model = TransferModel { latency_seconds, seconds_per_byte: 1e-11, blocks, ..TransferModel::default() };
        table.set_transfer(from, to, model);
    }
    if random.random_bool(0.5) { table.within_memory(graph, random.random_range(5e8..4e9)) } else { table }
}

/// All ways to divide what is left of the operators, whole on either processor or the next few of them in so many
/// parts.
fn divisions(left: &[OperatorId], (along, all): (Along, usize), table: &CostTable) -> Vec<Vec<Piece>> {
    let Some((&first, others)) = left.split_first() else { return vec![Vec::new()] };
    let after = |piece: &Piece, rest: &[OperatorId]| -> Vec<Vec<Piece>> {
        divisions(rest, (along, all), table).into_iter().map(|pieces| [vec![piece.clone()], pieces].concat()).collect()
    };
    let runs = |place: usize, id: OperatorId| table.time(table.class_ids().nth(place).unwrap(), id).is_some();
    let able = [0, 1].into_iter().filter(|&place| runs(place, first));
    let whole = able.flat_map(|place| after(&Piece::Whole(place, first), others));
    let shared = left.iter().take_while(|&&id| runs(0, id) && runs(1, id)).count();
    let divided = (1..=shared).flat_map(|count| (1..all).map(move |part| (count, part))).flat_map(|(count, part)| {
        let split = OperatorSplit { operators: left[..count].to_vec(), along, shares: vec![part, all - part] };
        after(&Piece::Divided(split), &left[count..])
    });
    whole.chain(divided).collect()
}

fn team(pieces: &[Piece], processors: &[Processor; 2]) -> Option<Replica> {
    let mut lists = [Vec::new(), Vec::new()];
    let mut splits = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Whole(processor, id) => lists[*processor].push(*id),
            Piece::Divided(split) => {
                lists.iter_mut().for_each(|list| list.extend(&split.operators));
                splits.push(split.clone());
            }
        }
    }
    let assignments = processors.iter().cloned().zip(lists.clone());
    let assignments = assignments.map(|(processor, operators)| Assignment { processor, operators }).collect();
    lists.iter().all(|list| !list.is_empty()).then_some(Replica { assignments, splits })
}

/// The shortest period of all pipelines on two processors, and whether a division of operators has it.
fn shortest(graph: &Graph, board: &Board, table: &CostTable, parts: (Along, usize)) -> (u64, bool) {
    let processors = [Processor::new("B", [0]), Processor::new("s", [1])];
    let chain = Chain::of(graph);
    let order = chain.operators(chain.whole());
    // Stages are whole blocks.
    let ends = chain.blocks().iter().scan(0, |done, block| {
        *done += block.operators.len();
        Some(*done)
    });
    let cuts: &Vec<usize> = &ends.filter(|end| *end < order.len()).collect();
    let single =
        |place: usize, operators: &[OperatorId]| Replica::single(processors[place].clone(), operators.to_vec());
    let stage = |replicas: Vec<Replica>| Stage { replicas };
    let mut schedules = vec![Schedule { stages: vec![stage(vec![single(0, &order), single(1, &order)])] }];
    for place in [0, 1] {
        schedules.push(Schedule { stages: vec![stage(vec![single(place, &order)])] });
        for cut in cuts {
            let (before, behind) = order.split_at(*cut);
            let stages = vec![stage(vec![single(place, before)]), stage(vec![single(1 - place, behind)])];
            schedules.push(Schedule { stages });
        }
    }
    // The space has tiles of whole subgraphs.
    let subgraphs: Vec<Vec<OperatorId>> =
        subgraphs(graph).iter().map(|subgraph| subgraph.operators().collect()).collect();
    let is_in_space = |piece: &Piece| match piece {
        Piece::Divided(OperatorSplit { operators, along: Along::Rows, .. }) => subgraphs.iter().all(|subgraph| {
            let is_tiled = |id: &OperatorId| operators.contains(id);
            subgraph.iter().all(is_tiled) || !subgraph.iter().any(is_tiled)
        }),
        _ => true,
    };
    let pieces = divisions(&order, parts, table);
    let teams =
        pieces.iter().filter(|pieces| pieces.iter().all(is_in_space)).filter_map(|pieces| team(pieces, &processors));
    schedules.extend(teams.map(|team| Schedule { stages: vec![stage(vec![team])] }));

    let valid = schedules.iter().filter(|schedule| schedule.validate(graph, board).is_ok());
    let periods = valid.filter_map(|schedule| {
        let is_divided =
            schedule.stages.iter().flat_map(|stage| &stage.replicas).any(|replica| !replica.splits.is_empty());
        Some((schedule.evaluate(graph, table).ok()?.period.0, is_divided))
    });
    periods.min().unwrap()
}

/// The longest period that these dual prices prove.
fn proven(graph: &Graph, board: &Board, table: &CostTable, dual_prices: &[TeamProof]) -> u64 {
    let chain = Chain::of(graph);
    let teams = SearchedTeams { most_processors: 2, spans_clusters: true, has_all_counts: true };
    let (mut low, mut high) = (0, 1 << 20);
    while low < high {
        let period_nanoseconds = (low + high) / 2;
        let proof = SearchedProof { period_nanoseconds, teams, dual_prices: dual_prices.to_vec() };
        match check_searched(&proof, NetworkBlocks { graph, chain: &chain }, board, table) {
            Ok(()) => return period_nanoseconds,
            Err(error) if error.to_string().contains("may have a shorter period") => high = period_nanoseconds,
            Err(error) if error.to_string().contains("keeps it from being longer") => low = period_nanoseconds + 1,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no period from 0 to {high} is the one that is proven")
}

#[test]
fn no_division_goes_below_what_is_proven() {
    let board = board("B1+s1");
    let (mut divided, mut close, mut exact, cases) = (0, 0, 0, 400);
    for seed in 0..cases {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (has_rows, is_team_needed) = (seed % 4 == 0, seed % 8 < 6);
        // Many channels come close to what bounds allow; where more can be divided, fewer are enough.
        let channels = if is_team_needed { 24 } else { 4 };
        let graph = graph(has_rows, channels, &mut random);
        let table = table(&graph, &board, is_team_needed, &mut random);
        let parts = if has_rows { (Along::Rows, ROWS) } else { (Along::Channels, channels) };
        let (shortest, is_divided) = shortest(&graph, &board, &table, parts);
        divided += usize::from(is_divided);

        let subgraphs = subgraphs(&graph).len();
        let mut best = 0;
        for _ in 0..8 {
            let mut parts = || {
                let first = random.random_range(0..=1_000_000_000_u64);
                vec![first, 1_000_000_000 - first]
            };
            let processors = ["B1", "s1"].map(str::to_owned).to_vec();
            let dual_prices =
                TeamProof { processors, subgraphs: (0..subgraphs).map(|_| parts()).collect(), tiles: parts() };
            let proven = proven(&graph, &board, &table, std::slice::from_ref(&dual_prices));
            assert!(proven <= shortest, "{seed}: {proven} of {shortest}, {dual_prices:?}");
            best = best.max(proven);
        }
        close += u64::from(best as f64 > 0.9 * shortest as f64);
        exact += u64::from(best == shortest);
    }
    assert!(divided > 150 && close > 250 && exact > 50, "{divided} {close} {exact} of {cases}");
}

/// A transfer within a subgraph counts once, from who makes the value to who reads a part of it. On B and s, c is
/// divided by channels; B alone has b, which c reads, and d, which reads c. With 7 of 10 channels, B takes 700 ns; s
/// gets b 200 ns later, takes 300 ns, and B has its part after 200 ns more.
#[test]
fn transfers_between_whole_and_divided_operators_count_once() {
    let board = board("B1+s1");
    let mut builder = GraphBuilder::new("one");
    let [x, a, b, c, d] = ["x", "a", "b", "c", "d"]
        .map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 10, 1, 1]))).unwrap());
    builder.input(x);
    let mut made = |name: &str, kind: OperatorKind, reads: &[_], makes| {
        let op_type = if kind == OperatorKind::Opaque { "Any" } else { "Conv" };
        let operator = NewOperator::new(name, op_type, kind).reads(reads.iter().copied()).makes([makes]);
        builder.operator(operator.work(Work { output_bytes: 40, ..Work::default() })).unwrap();
    };
    made("a", OperatorKind::Opaque, &[x], a);
    made("b", OperatorKind::Opaque, &[a], b);
    made("c", OperatorKind::Convolution(pointwise(10)), &[b], c);
    made("d", OperatorKind::Opaque, &[a, c], d);
    builder.output(d);
    let graph = builder.build().unwrap();

    let mut table = millstream_test_support::table(&graph, &board, |operator, class| {
        let is_divided = operator.name == "c";
        (is_divided || class.cluster == "B").then_some(if is_divided { 1000 } else { 10 })
    });
    let all: Vec<ClassId> = table.class_ids().collect();
    for (from, to) in [(all[0], all[1]), (all[1], all[0])] {
        table.set_transfer(from, to, TransferModel { latency_seconds: 200e-9, ..TransferModel::default() });
    }
    let ids: Vec<OperatorId> = graph.operator_ids().collect();
    let split = OperatorSplit { operators: vec![ids[2]], along: Along::Channels, shares: vec![7, 3] };
    let pieces = [Piece::Whole(0, ids[0]), Piece::Whole(0, ids[1]), Piece::Divided(split), Piece::Whole(0, ids[3])];
    let team = team(&pieces, &[Processor::new("B", [0]), Processor::new("s", [1])]).unwrap();
    let schedule = Schedule { stages: vec![Stage { replicas: vec![team] }] };
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().period, Nanoseconds(10 + 10 + 700 + 10));

    let processors = ["B1", "s1"].map(str::to_owned).to_vec();
    let subgraphs = vec![Vec::new(); subgraphs(&graph).len()];
    assert_eq!(subgraphs.len(), 2, "b, c and d are one, because d reads a as well");
    let dual_prices = TeamProof { processors, subgraphs, tiles: Vec::new() };
    let proven = proven(&graph, &board, &table, &[dual_prices]);
    assert!((720..=730).contains(&proven), "{proven}: but for roundings it is exact");
}

/// What a team can't run at all is no stage of it: only who has m does anything.
#[test]
fn teams_without_a_processor_for_an_operator_do_nothing() {
    let (graph, board) = (chain(1), board("B1+m1+s1"));
    let table = millstream_test_support::table(&graph, &board, |_, class| (class.cluster == "m").then_some(100));
    let chain = Chain::of(&graph);
    let teams = SearchedTeams { most_processors: 2, spans_clusters: false, has_all_counts: true };
    let proof = |period_nanoseconds: u64, parts: [u64; 2]| {
        let dual_prices = [["B1", "m1"], ["B1", "s1"], ["m1", "s1"]].map(|team| TeamProof {
            processors: team.map(str::to_owned).to_vec(),
            subgraphs: vec![parts.to_vec()],
            tiles: Vec::new(),
        });
        SearchedProof { period_nanoseconds, teams, dual_prices: dual_prices.to_vec() }
    };
    let check = |proof| check_searched(&proof, NetworkBlocks { graph: &graph, chain: &chain }, &board, &table);
    // Nanoseconds that may have been rounded are taken off the bounds of teams.
    check(proof(98, [500_000_000; 2])).unwrap();
    for wrong in [proof(97, [500_000_000; 2]), proof(99, [500_000_000; 2]), proof(98, [500_000_000, 500_000_001])] {
        check(wrong).unwrap_err();
    }
}

/// Seven operators after A, which only B and s run by turns: two teams of them pass a frame every 350 ns, whatever the
/// link to m is like, on which nothing runs. Over a link that is occupied, a team has no other beside it.
#[test]
fn teams_have_replicas_where_their_own_links_are_free() {
    let graph = chain_of(8, 25);
    let board = board("A1+B2+s2+m1");
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
    // One of each cluster, or two cores of one.
    let units: [&[&str]; 4] = [&["A1"], &["B1", "B2"], &["m1"], &["s1", "s2"]];
    let mut teams: Vec<Vec<&str>> = units.iter().fold(vec![Vec::new()], |all, unit| {
        let with =
            |team: &Vec<&'static str>| unit.iter().map(|one| [team.as_slice(), &[*one]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(|team| [vec![team.clone()], with(team)].concat()).collect()
    });
    teams.retain(|team| team.len() > 1);
    teams.extend([vec!["B1"; 2], vec!["s1"; 2]]);
    teams.sort();
    let subgraphs = subgraphs(&graph).len();
    let proof = |team: Vec<&str>| TeamProof {
        processors: team.into_iter().map(str::to_owned).collect(),
        subgraphs: vec![Vec::new(); subgraphs],
        tiles: Vec::new(),
    };
    let dual_prices: Vec<TeamProof> = teams.into_iter().map(proof).collect();

    let found = |occupied: &str, by_m: Option<u64>| {
        let mut table = costs(by_m);
        let [from, to] = ["A", occupied].map(|label| table.find(&ProcessorClass::new(label, 1)).unwrap());
        let hand_over = HandOver { seconds: 0.0, seconds_per_byte: 0.0 };
        table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 1e-10 });
        proven(&graph, &board, &table, &dual_prices)
    };
    // But for roundings.
    for (occupied, by_m, most) in [("m", None, 350), ("B", None, 400), ("s", None, 400), ("m", Some(200), 280)] {
        let period = found(occupied, by_m);
        assert!((most - 10..=most).contains(&period), "{occupied} {by_m:?}: {period}");
    }
}
