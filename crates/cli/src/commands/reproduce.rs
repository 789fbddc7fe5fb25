use anyhow::{Context, Result};
use millstream_report::percent;
use millstream_reproduce::{Claim, Selection, reproduce};

use serde::Serialize;

use crate::arguments::ReproduceCommand;
use crate::{files, output};

#[derive(Serialize)]
struct ClaimReport<'a> {
    what: &'a str,
    ours: f64,
    paper: [f64; 2],
    difference: f64,
    holds: bool,
}

pub(crate) fn run(command: &ReproduceCommand) -> Result<()> {
    let reproduction = reproduce(command.paper, Selection { table: command.table, figure: command.figure })?;
    if let Some(folder) = &command.figures {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for figure in &reproduction.figures {
            let path = folder.join(&figure.file);
            files::write(&path, &figure.svg)?;
            output::remark(format!("wrote {}", path.display()));
        }
    }
    if command.json {
        let claims = reproduction.sections.iter().flat_map(|section| &section.claims);
        fn report(claim: &Claim) -> ClaimReport<'_> {
            ClaimReport {
                what: &claim.what,
                ours: claim.ours,
                paper: claim.paper,
                difference: claim.difference(),
                holds: claim.holds(),
            }
        }
        return output::json(&claims.map(report).collect::<Vec<_>>());
    }
    output::line(&reproduction.paper);
    for section in &reproduction.sections {
        output::line(format!("\n{} ({})\n\n{}", section.title, section.kind.words(), section.table));
        for note in &section.notes {
            output::line(format!("\n{note}"));
        }
    }
    let claims = reproduction.sections.iter().map(|section| section.claims.len()).sum::<usize>();
    let misses: Vec<&Claim> = reproduction.misses().collect();
    output::line(format!("\n{} of {claims} numbers are held to the paper's and agree with it.", claims - misses.len()));
    for miss in misses {
        let [low, high] = miss.paper;
        let difference = percent(miss.difference());
        output::line(format!(
            "Differs: {}: {:.4} here, {low} to {high} in the paper ({difference})",
            miss.what, miss.ours
        ));
    }
    Ok(())
}
