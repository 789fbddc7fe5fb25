use std::path::Path;

use anyhow::{Context, Result};
use millstream::files;
use millstream_report::{Article, Chapter, Page, percent};
use millstream_reproduce::{Claim, Paper, Reproduction, Section, Selection, reproduce};
use serde::Serialize;

use crate::arguments::ReproduceCommand;
use crate::progress::Steps;
use crate::{interrupt, output};

#[derive(Serialize)]
struct ClaimReport<'a> {
    paper_name: &'a str,
    what: &'a str,
    ours: f64,
    paper: [f64; 2],
    difference: f64,
    holds: bool,
}

pub(crate) fn run(command: &ReproduceCommand) -> Result<()> {
    if let Some(path) = &command.html {
        files::check_writable(path)?;
    }
    let papers = command.paper.map_or(Paper::ALL.to_vec(), |paper| vec![paper]);
    let selection = Selection { table: command.table, figure: command.figure };
    interrupt::listen();
    let mut steps = (papers.len() > 1).then(|| Steps::new("computing the papers", papers.len()));
    let mut found = Vec::new();
    for (done, &paper) in papers.iter().enumerate() {
        if interrupt::requested() {
            anyhow::bail!("interrupted; nothing was written");
        }
        found.push(reproduce(paper, selection)?);
        if let Some(steps) = &mut steps {
            steps.set(done + 1, papers.len());
        }
    }
    drop(steps);
    if let Some(folder) = &command.figures {
        draw(folder, &found)?;
    }
    if let Some(path) = &command.html {
        files::write(path, &page(&found))?;
        output::remark(format!("wrote {}", path.display()));
    }
    if command.json {
        let claims = found.iter().flat_map(|own| {
            let claims = own.sections.iter().flat_map(|section| &section.claims);
            claims.map(|claim| ClaimReport {
                paper_name: &own.paper,
                what: &claim.what,
                ours: claim.ours,
                paper: claim.paper,
                difference: claim.difference(),
                holds: claim.holds(),
            })
        });
        return output::json(&claims.collect::<Vec<_>>());
    }
    for (index, own) in found.iter().enumerate() {
        if index > 0 {
            output::line("");
        }
        print(own);
    }
    Ok(())
}

fn draw(folder: &Path, found: &[Reproduction]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for figure in found.iter().flat_map(|own| &own.figures) {
        let path = folder.join(&figure.file);
        files::write(&path, &figure.svg)?;
        output::remark(format!("wrote {}", path.display()));
    }
    Ok(())
}

fn print(reproduction: &Reproduction) {
    output::line(&reproduction.paper);
    for section in &reproduction.sections {
        output::line(format!("\n{} ({})\n\n{}", section.title, section.kind.words(), section.table));
        for note in &section.notes {
            output::line(format!("\n{note}"));
        }
    }
    output::line(format!("\n{}", summary(reproduction)));
    for miss in reproduction.misses() {
        output::line(difference(miss));
    }
}

fn summary(reproduction: &Reproduction) -> String {
    let claims = reproduction.sections.iter().map(|section| section.claims.len()).sum::<usize>();
    format!("{} of {claims} numbers are held to the paper's and agree with it.", claims - reproduction.misses().count())
}

fn difference(miss: &Claim) -> String {
    let [low, high] = miss.paper;
    let difference = percent(miss.difference());
    format!("Differs: {}: {:.4} here, {low} to {high} in the paper ({difference})", miss.what, miss.ours)
}

/// Everything on one page.
fn page(found: &[Reproduction]) -> String {
    let chapters: Vec<Chapter<'_>> = found.iter().map(chapter).collect();
    let introduction = [
        "Tables and figures of the papers behind Millstream, computed anew beside the printed numbers. Below each title stands what kind of numbers ours \
         are; numbers that are held to the paper's are tested with every change."
            .to_owned(),
    ];
    Page { title: "Millstream and the papers, side by side", introduction: &introduction, chapters: &chapters }
        .to_html()
}

fn chapter(reproduction: &Reproduction) -> Chapter<'_> {
    Chapter {
        title: reproduction.paper.clone(),
        summary: summary(reproduction),
        articles: reproduction.sections.iter().map(article).collect(),
        drawings: reproduction.figures.iter().map(|figure| figure.svg.as_str()).collect(),
    }
}

fn article(section: &Section) -> Article<'_> {
    let count = section.claims.len();
    let misses: Vec<&Claim> = section.claims.iter().filter(|claim| !claim.holds()).collect();
    let held = format!("{} of {count} numbers that are held to the paper's agree.", count - misses.len());
    let verdict: Vec<String> = std::iter::once(held).chain(misses.iter().map(|miss| difference(miss))).collect();
    Article {
        title: section.title.clone(),
        kind: section.kind.words().to_owned(),
        table: &section.table,
        notes: section.notes.clone(),
        verdict: (count > 0).then(|| verdict.join(" ")),
        has_misses: !misses.is_empty(),
    }
}
