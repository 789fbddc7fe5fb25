//! Two networks on one board, which the paper does not have: beside each other, or one after the other with its
//! schedules.

use millstream_pipeline::{PipeIt, Plan, Problem, Search, Sharing, Tenant, divide_processors, share, take_turns};
use millstream_report::{Align, Table};

use super::hikey::{HiKey, NETWORKS, Network};
use super::printed::PREDICTED;
use crate::paper::ReproduceError;
use crate::pipe_it::hikey::layers;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

const TOGETHER: [&str; 2] = ["MobileNet", "ResNet50"];

pub(super) fn section() -> Result<Section, ReproduceError> {
    let board = HiKey::new(4, 4)?;
    let chosen: Vec<(usize, &Network)> =
        NETWORKS.iter().enumerate().filter(|(_, network)| TOGETHER.contains(&network.name)).collect();
    let problem = |(_, network): &(usize, &Network)| -> Result<Problem, ReproduceError> {
        Ok(board.problem(network, &layers(millstream_zoo::build(network.model)?.graph()))?.0)
    };
    let problems: Vec<Problem> = chosen.iter().map(problem).collect::<Result<_, _>>()?;
    let tenants: Vec<Tenant<'_>> = chosen
        .iter()
        .zip(&problems)
        .map(|((_, network), problem)| Tenant { name: network.name, problem, weight: 1.0, deadline: None })
        .collect();

    let sharing = share(&tenants, |turns| Some(turns.rounds_per_second))?;
    let alone = |search: &dyn Search| -> Result<Vec<Plan>, ReproduceError> {
        Ok(problems.iter().map(|problem| search.search(problem)).collect::<Result<_, _>>()?)
    };
    let heuristic = alone(&PipeIt)?;
    let (divided, turns) = (divide_processors(&tenants)?, take_turns(&tenants)?);
    let printed: f64 = chosen.iter().map(|(index, _)| 1.0 / PREDICTED[*index].frames_per_second).sum();

    let mut table = Table::new([
        ("how", Align::Left),
        ("MobileNet", Align::Left),
        ("frames/s", Align::Right),
        ("ResNet50", Align::Left),
        ("frames/s", Align::Right),
        ("pairs/s", Align::Right),
        ("best of ours / this", Align::Right),
    ]);

    let rate = |plan: &Plan| format!("{:.1}", 1.0 / plan.period.seconds());
    let mut row = |how: &str, plans: &[Plan], pairs: f64| {
        let [one, two] = plans else { return };
        let ratio = format!("{:.2}", sharing.rounds_per_second / pairs);
        let how = how.to_owned();
        table.row([how, one.configuration(), rate(one), two.configuration(), rate(two), format!("{pairs:.2}"), ratio]);
    };
    row("ours, each on processors of its own", &divided.plans, divided.rounds_per_second);
    row("ours, in turn on all processors", &turns.plans, turns.rounds_per_second);
    let in_turn = Sharing::rounds_in_turn(&tenants, &heuristic);
    row("in turn, Pipe-it here", &heuristic, in_turn);

    Ok(Section {
        item: PaperItem::Other("Two networks"),
        about: "MobileNet and ResNet50 on 4 big and 4 small cores (not in the paper)".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![format!(
            "As many frames of one as of the other. With the printed throughputs of Pipe-it's pipelines, one after the other would give {:.2} pairs/s: \
             here {:.2} times as many pass.",
            1.0 / printed,
            sharing.rounds_per_second * printed
        )],
        claims: Vec::new(),
    })
}
