//! `reproduce`: the claims of papers, computed anew, as tables, figures, a page or JSON.

use std::path::Path;

use anyhow::{Context, Result};
use millstream::files;
use millstream_report::{Align, Article, Chapter, Page, Table};
use millstream_reproduce::{Claim, Comparison, LeftOut, Paper, Reproduction, Section, Selection, Tally, reproduce};
use serde::Serialize;

use crate::arguments::ReproduceCommand;
use crate::progress::Steps;
use crate::{interrupt, output};

/// A number or a choice.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Number(f64),
    Range([f64; 2]),
    Choice(&'a str),
}

#[derive(Serialize)]
struct ClaimReport<'a> {
    paper_name: &'a str,
    what: &'a str,
    ours: Value<'a>,
    paper: Value<'a>,
    /// Relative to the paper's number; not for choices, nor where the paper has 0.
    difference: Option<f64>,
    tolerance: Option<String>,
    evidence: &'static str,
    could_fail: bool,
    holds: bool,
    reason: Option<&'static str>,
}

impl<'a> ClaimReport<'a> {
    fn of(paper_name: &'a str, claim: &'a Claim) -> Self {
        let (ours, paper, tolerance) = match &claim.comparison {
            Comparison::Number { ours, paper, tolerance } => {
                (Value::Number(*ours), Value::Range(*paper), Some(tolerance.to_string()))
            }
            Comparison::Choice { ours, paper } => (Value::Choice(ours), Value::Choice(paper), None),
        };
        let difference = Some(claim.difference()).filter(|difference| tolerance.is_some() && difference.is_finite());
        Self {
            paper_name,
            what: &claim.what,
            ours,
            paper,
            difference,
            tolerance,
            evidence: claim.evidence.words(),
            could_fail: claim.counts(),
            holds: claim.holds(),
            reason: claim.reason,
        }
    }
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
        let claims = found
            .iter()
            .flat_map(|reproduction| reproduction.claims().map(|claim| ClaimReport::of(&reproduction.paper, claim)));
        output::json(&claims.collect::<Vec<_>>())?;
    } else {
        for reproduction in &found {
            print(reproduction);
            if found.len() > 1 {
                output::prose(format!("{}\n", reproduction.tally()));
            }
        }
        output::prose(total(&found));
    }
    refuse_faults(&found)
}

/// Misses are part of the result; one that nobody has looked at is not, nor is a reason that is out of date.
fn refuse_faults(found: &[Reproduction]) -> Result<()> {
    let faults: Vec<String> =
        found.iter().flat_map(Reproduction::faults).map(|(claim, fault)| format!("{claim}: {fault}")).collect();
    if faults.is_empty() {
        return Ok(());
    }
    anyhow::bail!("these need to be looked at:\n{}", faults.join("\n"))
}

fn draw(folder: &Path, found: &[Reproduction]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for figure in found.iter().flat_map(|reproduction| &reproduction.figures) {
        let path = folder.join(&figure.file);
        files::write(&path, &figure.svg)?;
        output::remark(format!("wrote {}", path.display()));
    }
    Ok(())
}

fn print(reproduction: &Reproduction) {
    output::line(&reproduction.paper);
    for section in &reproduction.sections {
        output::line(format!("\n{} ({})\n\n{}", section.title(), section.kind.words(), output::fitted(&section.table)));
        for note in &section.notes {
            output::prose(format!("\n{note}"));
        }
        let verdict = section.verdict();
        if !verdict.is_empty() {
            output::prose(format!("\n{}", verdict.join("\n")));
        }
    }
    if !reproduction.left_out.is_empty() {
        output::line(format!("\nNot computed\n\n{}", output::fitted(&left_out(&reproduction.left_out))));
    }
    output::line("");
}

fn left_out(all: &[LeftOut]) -> Table {
    let mut table = Table::new([("in the paper", Align::Left), ("why it is not here", Align::Left)]);
    for LeftOut { what, reason } in all {
        table.row([(*what).to_owned(), (*reason).to_owned()]);
    }
    table
}

/// The last line.
fn total(found: &[Reproduction]) -> String {
    let tally: Tally = found.iter().map(Reproduction::tally).sum();
    let papers = if found.len() == 1 { String::new() } else { format!("Of {} papers, ", found.len()) };
    format!("{papers}{tally}")
}

/// Everything on one page.
fn page(found: &[Reproduction]) -> String {
    let left_out: Vec<Table> = found.iter().map(|reproduction| left_out(&reproduction.left_out)).collect();
    let mut chapters: Vec<Chapter<'_>> =
        found.iter().zip(&left_out).map(|(reproduction, table)| chapter(reproduction, table)).collect();
    let summary = total(found);
    chapters.push(Chapter { title: "All claims".to_owned(), summary, articles: Vec::new(), drawings: Vec::new() });
    let introduction = [
        "Tables and figures of the papers behind Millstream, computed anew beside the printed numbers. Below each title stands what kind of numbers ours \
         are."
            .to_owned(),
        format!(
            "A claim is counted where the paper prints a number or a choice, and ours is computed without it, so that it could fail. Allowed is the rounding \
             or the error that the paper states, {:.0} % where it states none. Every miss has its reason beside it.",
            100.0 * millstream_reproduce::GENERAL_TOLERANCE
        ),
    ];
    Page { title: "Millstream and the papers, side by side", introduction: &introduction, chapters: &chapters }
        .to_html()
}

fn chapter<'a>(reproduction: &'a Reproduction, left_out: &'a Table) -> Chapter<'a> {
    let mut articles: Vec<Article<'a>> = reproduction.sections.iter().map(article).collect();
    if !reproduction.left_out.is_empty() {
        articles.push(Article {
            title: "Not computed".to_owned(),
            kind: "what the paper has beyond this".to_owned(),
            table: left_out,
            notes: Vec::new(),
            verdict: None,
            has_misses: false,
        });
    }
    Chapter {
        title: reproduction.paper.clone(),
        summary: reproduction.tally().to_string(),
        articles,
        drawings: reproduction.figures.iter().map(|figure| figure.svg.as_str()).collect(),
    }
}

fn article(section: &Section) -> Article<'_> {
    let verdict = section.verdict();
    Article {
        title: section.title(),
        kind: section.kind.words().to_owned(),
        table: &section.table,
        notes: section.notes.clone(),
        has_misses: !section.holds(),
        verdict: (!verdict.is_empty()).then(|| verdict.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use millstream_reproduce::{Evidence, PaperItem};

    use super::*;

    fn paper(claims: Vec<Claim>) -> Reproduction {
        let section = Section {
            item: PaperItem::Table(1),
            about: "speed".to_owned(),
            kind: millstream_reproduce::Kind::Computed,
            table: Table::new([("what", Align::Left)]),
            notes: Vec::new(),
            claims,
        };
        Reproduction {
            paper: "A paper".to_owned(),
            sections: vec![section],
            figures: Vec::new(),
            slowdowns: Vec::new(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn an_explained_miss_is_no_failure_and_others_are() {
        let hold = || Claim::number("held", 1.0, 1.0);
        let miss = || Claim::number("missed", 2.0, 1.0);
        assert!(refuse_faults(&[paper(vec![hold(), miss().because("heat")])]).is_ok());
        let told =
            |claim: Claim| refuse_faults(&[paper(vec![hold(), claim])]).err().map_or(String::new(), |e| e.to_string());
        assert!(
            told(miss()).ends_with("missed: 2 here, 1 in the paper (+100.0 %; 10 % allowed): misses without a reason")
        );
        assert!(told(hold().because("heat")).ends_with("allowed): holds, but has a reason for missing"));
        // A check that fails is noticed as well.
        assert!(!told(miss().only(Evidence::SelfConsistency)).is_empty());
    }

    #[test]
    fn the_last_line_counts_over_all_papers() {
        let papers = [
            paper(vec![Claim::number("held", 1.0, 1.0)]),
            paper(vec![
                Claim::number("missed", 2.0, 1.0).because("heat"),
                Claim::number("c", 1.0, 1.0).only(Evidence::Input),
            ]),
        ];
        assert_eq!(total(&papers), "Of 2 papers, 2 claims could fail: 1 hold, 1 miss.");
        assert_eq!(total(&papers[..1]), "1 claim could fail: 1 hold, 0 miss.");
    }
}
