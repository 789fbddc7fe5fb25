//! Schedules for several boards.

use std::path::Path;

use anyhow::{Result, bail};
use millstream::{Hosts, Network, SystemDivision, SystemPlan, files, plan_system};
use millstream_board::{Processor, TransferPrecision, host_of};
use millstream_cost::Nanoseconds;
use millstream_pipeline::{Objective, Plan, choose};
use millstream_report::{Align, Fact, FrontRow, Table, milliseconds, rate, stage_rows, stage_table};
use millstream_schedule::{Crossing, FrameWays, LinkEvaluation, Schedule, ScheduleDocument, input_bytes, output_bytes};
use serde::Serialize;

use super::printing::{network_line, prediction_facts, print_front};
use crate::arguments::{DEFAULT_MODEL, ScheduleCommand};
use crate::commands::schedule::one_plan::{Point, warn_of_unpredictable};
use crate::output;

#[derive(Serialize)]
struct Report<'a> {
    front: Vec<Point>,
    schedule: &'a ScheduleDocument,
    crossings: Vec<CrossingPoint<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bottleneck_link: Option<&'a str>,
    rivals: Vec<RivalPoint<'a>>,
}

/// A way that frames go, in JSON.
#[derive(Serialize)]
struct CrossingPoint<'a> {
    link: &'a str,
    from: &'a str,
    to: &'a str,
    bytes: u64,
    #[serde(skip_serializing_if = "TransferPrecision::is_full")]
    precision: TransferPrecision,
    occupied_seconds: f64,
    latency_seconds: f64,
}

/// What others would do, in JSON.
#[derive(Serialize)]
struct RivalPoint<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// Plans for one network over several boards, and shows what was found.
pub(super) fn schedule(command: &ScheduleCommand, system: &Path) -> Result<()> {
    let ([] | [_]) = command.models.as_slice() else { bail!("a system runs one network: give one --model") };
    command.certificate.iter().try_for_each(|path| files::check_writable(path))?;
    let hosts = Hosts::read(system)?;
    let model = command.models.first().map_or(DEFAULT_MODEL, String::as_str);
    let mut options = command.dimensions.all_read_options()?;
    let Some(options) = options.pop().filter(|_| options.is_empty()) else {
        bail!("a system runs one size: give --dim one size each");
    };
    let network = Network::open(model, options)?.with_inputs(&command.inputs.inputs())?;
    warn_of_unpredictable(&network);
    let on = command.on_hosts();
    let planned = plan_system(&hosts, &network, &command.aim(), &on)?;
    planned.other_drivers.iter().for_each(output::remark);
    files::write(&command.output, &files::to_json(&planned.document)?)?;
    if command.json {
        output::json(&report(&planned, command.objective))?;
    } else {
        print(&hosts, &network, &planned, (command.objective, &on.without));
    }
    if let Some(path) = &command.certificate {
        files::write(path, &files::to_json(&planned.certificate())?)?;
        output::remark(format!("wrote {}; {}", path.display(), command.certify_command(path)));
    }
    output::remark(format!("wrote {}; {}", command.output.display(), command.next_command(None)));
    Ok(())
}

fn report(planned: &SystemPlan, objective: Objective) -> Report<'_> {
    let times = |crossing: &'_ Crossing| -> (f64, f64) { (crossing.occupied.seconds(), crossing.latency.seconds()) };
    let FrameWays { entry, exit } = &planned.frame_ways;
    let crossings = entry.iter().chain(planned.crossings.iter().flatten()).chain(exit).map(|crossing| {
        let (occupied_seconds, latency_seconds) = times(crossing);
        let Crossing { link, from, to, bytes, precision, .. } = crossing;
        CrossingPoint { link, from, to, bytes: *bytes, precision: *precision, occupied_seconds, latency_seconds }
    });
    let rivals = planned.rivals.iter().map(|rival| {
        let plan = rival.plan.as_ref().ok();
        RivalPoint {
            name: &rival.name,
            configuration: plan.map(Plan::configuration),
            period_seconds: plan.map(|plan| plan.period.seconds()),
            latency_seconds: plan.map(|plan| plan.latency.seconds()),
            reason: rival.plan.as_ref().err().map(String::as_str),
        }
    });
    Report {
        front: front_rows(planned, objective).into_iter().map(Point::of).collect(),
        schedule: &planned.document,
        crossings: crossings.collect(),
        bottleneck_link: planned.evaluation.link_bottleneck().map(|link| link.link.as_str()),
        rivals: rivals.collect(),
    }
}

/// The front with what is best for each objective.
fn front_rows(planned: &SystemPlan, objective: Objective) -> Vec<FrontRow> {
    let objectives = Objective::ALL.into_iter().filter(|&other| other != Objective::Energy && other != objective);
    let mut best: Vec<(Option<&Plan>, Objective)> = objectives
        .map(|objective| (choose(&planned.front, objective).and_then(|place| planned.front.get(place)), objective))
        .collect();
    best.push((Some(&planned.plan), objective));
    let row = |plan: &Plan| FrontRow {
        configuration: plan.configuration(),
        period_seconds: plan.period.seconds(),
        latency_seconds: plan.latency.seconds(),
        joules_per_frame: None,
        is_measured: false,
        chosen_for: best
            .iter()
            .filter(|(objective, _)| *objective == Some(plan))
            .map(|(_, objective)| objective.to_string())
            .collect(),
    };
    planned.front.iter().map(row).collect()
}

fn print(hosts: &Hosts, network: &Network, planned: &SystemPlan, (objective, without): (Objective, &[String])) {
    let document = &planned.document;
    output::line(network_line(network, hosts.machine().board()));
    print_front(&front_rows(planned, objective), "predicted");
    output::line(format!("\nChosen for {objective}: {}\n", document.configuration));
    let shown = with_cores_of_hosts(hosts, &planned.schedule);
    output::table(&stage_table(&stage_rows(&shown, document, network.graph())));
    if planned.crossings.iter().any(Option::is_some) {
        output::line("\nBetween hosts, for every frame:\n");
        output::table(&crossing_table(&planned.crossings));
    }
    output::line("\nBeside what is usually done, each host running its part as well as it can:\n");
    output::table(&rival_table(planned, objective));
    output::line("");
    let mut facts = prediction_facts(&document.predicted, &bound(planned, without));
    facts.extend(planned.evaluation.link_bottleneck().map(link_fact));
    facts.extend(frames_fact(network, planned));
    facts.extend(precision_fact(&planned.crossings));
    facts.push(Fact::new(
        "Left out",
        "that processors of one host slow each other down when together they need more than its memory's bandwidth (each operator by itself keeps within it).",
    ));
    output::facts(&facts);
}

/// The schedule as the hosts number their cores.
fn with_cores_of_hosts(hosts: &Hosts, schedule: &Schedule) -> Schedule {
    schedule.with_processors(|processor| {
        let on_host = hosts.system().hosts().iter().find_map(|host| host.own(processor));
        Processor { cores: on_host.map_or_else(Vec::new, |on_host| on_host.cores), ..processor.clone() }
    })
}

fn crossing_table(crossings: &[Option<Crossing>]) -> Table {
    let mut table = Table::new([
        ("before stage", Align::Right),
        ("from", Align::Left),
        ("to", Align::Left),
        ("kB", Align::Right),
        ("link busy ms", Align::Right),
        ("there after ms", Align::Right),
        ("sender ms", Align::Right),
        ("receiver ms", Align::Right),
    ]);
    for (stage, crossing) in
        crossings.iter().enumerate().filter_map(|(stage, crossing)| Some((stage, crossing.as_ref()?)))
    {
        table.row([
            (stage + 1).to_string(),
            crossing.from.clone(),
            crossing.to.clone(),
            format!("{:.0}", crossing.bytes as f64 / 1e3),
            milliseconds(crossing.occupied.seconds()),
            milliseconds(crossing.time().seconds()),
            milliseconds(crossing.sending.seconds()),
            milliseconds(crossing.receiving.seconds()),
        ]);
    }
    table
}

/// Ours beside others; how many times as good it is in what was asked for.
fn rival_table(planned: &SystemPlan, objective: Objective) -> Table {
    let mut table = Table::new([
        ("division", Align::Left),
        ("stages", Align::Left),
        ("frames/s", Align::Right),
        ("latency ms", Align::Right),
        ("ours is", Align::Right),
    ]);
    let plan = |name: &str, plan: &Plan| {
        let counts = |plan: &Plan| if objective == Objective::Latency { plan.latency } else { plan.period };
        let ratio = counts(plan).seconds() / counts(&planned.plan).seconds().max(1e-12);
        [
            name.to_owned(),
            plan.configuration(),
            rate(plan.period.seconds()),
            milliseconds(plan.latency.seconds()),
            format!("{ratio:.2}x"),
        ]
    };
    table.row(plan("ours", &planned.plan));
    for rival in &planned.rivals {
        match &rival.plan {
            Ok(found) => table.row(plan(&rival.name, found)),
            Err(reason) => table.row([rival.name.clone(), reason.clone(), "-".into(), "-".into(), "-".into()]),
        }
    }
    table
}

/// What is proven.
fn bound(planned: &SystemPlan, without: &[String]) -> String {
    let (period, bound) = (planned.plan.period.seconds(), planned.bound.period.seconds());
    let above = 100.0 * (period / bound.max(1e-12) - 1.0);
    let shortest = milliseconds(planned.shortest().seconds());
    let found = if planned.division != SystemDivision::Best {
        format!("{shortest} ms is the shortest period with the division that was asked for ({}).", planned.division)
    } else if let Some(exact) = planned.shortest_without_teams() {
        format!(
            "The shortest period of contiguous stages, each on one processor of one host or replicas of it, where the stages of a host follow \
             each other, is {} ms{} (exact).{}",
            milliseconds(exact.seconds()),
            left_out(without),
            together(planned, exact)
        )
    } else {
        format!(
            "{shortest} ms is the shortest period that was found; it is not proven, because memories have no room for what is faster, \
             frames wait for links within a host, or only processors that work on the same frame run the network, and not all other schedules \
             were looked at."
        )
    };
    format!(
        "no schedule by these costs has a period below {} ms, even if links took no time{}; this schedule's is at most {above:.1} % above that.\n{found}",
        milliseconds(bound),
        if without.is_empty() { "" } else { " and no host was left out" },
    )
}

/// How the schedule, or another of the front, stands to the shortest period without teams where it has some.
fn together(planned: &SystemPlan, without_teams: Nanoseconds) -> String {
    let below = |period: Nanoseconds| 100.0 * (1.0 - period.seconds() / without_teams.seconds().max(1e-12));
    let (own, shortest) = (below(planned.plan.period), below(planned.shortest()));
    if own >= 0.1 {
        format!(" With processors that work on the same frame, this schedule's is {own:.1} % below that.")
    } else if shortest >= 0.1 {
        format!(
            " With processors that work on the same frame, others of the front are up to {shortest:.1} % below that."
        )
    } else {
        String::new()
    }
}

/// Names hosts that nothing runs on.
fn left_out(without: &[String]) -> String {
    if without.is_empty() { String::new() } else { format!(" without {}", without.join(", ")) }
}

/// Says what frames cost where they come from outside, and results where they go there, unless that is nothing.
fn frames_fact(network: &Network, planned: &SystemPlan) -> Option<Fact> {
    let hosts: Vec<&str> = planned.schedule.processors().filter_map(|processor| host_of(&processor.cluster)).collect();
    let (first, last) = (*hosts.first()?, *hosts.last()?);
    let cost = |host: &str, bytes: u64| planned.table.frame_cost(host, bytes).seconds();
    let entering = cost(first, input_bytes(network.graph()));
    let leaving = cost(last, output_bytes(network.graph()));
    let text = format!(
        "taking a frame in costs {first} {} ms, giving its results out costs {last} {} ms (in the stages' times).",
        milliseconds(entering),
        milliseconds(leaving)
    );
    let costs = (entering + leaving > 0.0).then_some(text);
    let ways = ways_text(planned, [first, last]);
    let told: Vec<String> = costs.into_iter().chain(ways).collect();
    (!told.is_empty()).then(|| Fact::new("Frames", told.join(" ")))
}

/// Says what frames take on their way to the first host, and results on theirs from the last.
fn ways_text(planned: &SystemPlan, [first, last]: [&str; 2]) -> Option<String> {
    let FrameWays { entry, exit } = &planned.frame_ways;
    let time = |way: &Option<Crossing>| way.as_ref().map_or(0.0, |way| way.time().seconds());
    let occupied = entry.as_ref().map_or(0.0, |way| way.occupied.seconds());
    (entry.is_some() || exit.is_some()).then(|| {
        format!(
            "A frame is there {} ms after it was sent to {first}, and occupies the way for {} ms; results take {} ms from {last}.",
            milliseconds(time(entry)),
            milliseconds(occupied),
            milliseconds(time(exit))
        )
    })
}

/// Says over which links floats are sent in fewer bits.
fn precision_fact(crossings: &[Option<Crossing>]) -> Option<Fact> {
    let mut links: Vec<String> = Vec::new();
    for crossing in crossings.iter().flatten().filter(|crossing| !crossing.precision.is_full()) {
        let told = format!("over {}, 32-bit floats go as {}", crossing.link, crossing.precision);
        if !links.contains(&told) {
            links.push(told);
        }
    }
    (!links.is_empty()).then(|| Fact::new("Precision", format!("{}, which changes results.", links.join("; "))))
}

/// Says that a link is the bottleneck.
pub(crate) fn link_fact(link: &LinkEvaluation) -> Fact {
    let text = format!(
        "the link {} is the bottleneck: {} frames/s, with {:.0} kB a frame.",
        link.link,
        rate(link.period.seconds()),
        link.bytes as f64 / 1e3
    );
    Fact::new("Link", text)
}
