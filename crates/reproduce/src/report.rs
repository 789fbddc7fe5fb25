//! What is computed of a paper: its sections with their verdicts, figures, and what is left out.

use std::fmt;
use std::iter::Sum;

use millstream_report::Table;

use crate::claim::{Claim, Fault};
use crate::evidence::Evidence;
use crate::selection::PaperItem;

/// What kind of number ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Computed from coefficients or counts that the paper prints.
    Computed,
    /// Computed from our own model of the same network.
    Counted,
    /// Fitted to data that was drawn from the paper's model.
    Fitted,
    /// Computed from costs that are calibrated to some measurements that the paper or others published; other numbers
    /// are compared.
    Calibrated,
    /// Computed here from speeds that we assume, because the paper prints none.
    Assumed,
}

impl Kind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Computed => "computed from what the paper prints",
            Self::Counted => "counted in our own networks",
            Self::Fitted => "fitted to samples drawn from the paper's model",
            Self::Calibrated => "computed from costs calibrated to published measurements",
            Self::Assumed => "computed from speeds that are assumed",
        }
    }
}

/// How many claims could fail, and how many do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Claims that could fail: those with [`Evidence::Compared`].
    pub could_fail: usize,
    /// Those that hold.
    pub hold: usize,
}

impl Tally {
    fn of<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Self {
        let counted = claims.into_iter().filter(|claim| claim.counts());
        counted.map(|claim| Self { could_fail: 1, hold: usize::from(claim.holds()) }).sum()
    }

    /// Those that miss.
    pub fn miss(self) -> usize {
        self.could_fail - self.hold
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, tally| Self {
            could_fail: sum.could_fail + tally.could_fail,
            hold: sum.hold + tally.hold,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims = if self.could_fail == 1 { "claim" } else { "claims" };
        write!(formatter, "{} {claims} could fail: {} hold, {} miss.", self.could_fail, self.hold, self.miss())
    }
}

/// One table or figure of a paper.
#[derive(Debug)]
pub struct Section {
    /// Which one.
    pub item: PaperItem,
    /// What it shows.
    pub about: String,
    /// What kind of numbers ours are.
    pub kind: Kind,
    /// Ours beside the paper's.
    pub table: Table,
    /// What to know when reading it.
    pub notes: Vec<String>,
    /// What is held to the paper, and checks that are not counted.
    pub claims: Vec<Claim>,
}

impl Section {
    /// Which one it is, and what it shows: `Table 4: networks`.
    pub fn title(&self) -> String {
        format!("{}: {}", self.item, self.about)
    }

    /// How many of its claims could fail, and how many do.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.claims)
    }

    /// Whether all of its claims and checks hold.
    pub fn holds(&self) -> bool {
        self.claims.iter().all(Claim::holds)
    }

    /// Its verdict, line by line: how many claims hold; the misses, each reason after those that it explains; and what
    /// is checked without being counted. Nothing where there are no claims.
    pub fn verdict(&self) -> Vec<String> {
        let tally = self.tally();
        let mut lines: Vec<String> = (tally.could_fail > 0).then(|| tally.to_string()).into_iter().collect();
        let misses: Vec<&Claim> = self.claims.iter().filter(|claim| !claim.holds()).collect();
        for group in misses.chunk_by(|one, other| one.reason == other.reason) {
            lines.extend(group.iter().map(|miss| format!("Misses: {miss}.")));
            lines.extend(group.first().and_then(|miss| miss.reason).map(|reason| format!("Why: {reason}.")));
        }
        lines.extend(self.checks());
        lines
    }

    /// Of what is not counted, how many there are of each kind.
    fn checks(&self) -> Option<String> {
        let kinds = [Evidence::Input, Evidence::SelfConsistency, Evidence::ByDefinition, Evidence::NotInThePaper];
        let told: Vec<String> = kinds
            .into_iter()
            .map(|kind| (self.claims.iter().filter(|claim| claim.evidence == kind).count(), kind))
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{count} {}", kind.words()))
            .collect();
        (!told.is_empty()).then(|| format!("Checked, not counted: {}.", told.join(", ")))
    }
}

/// How a mapper's mapping of a network fares beside the one that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Slowdown {
    /// The network.
    pub network: &'static str,
    /// The mapper.
    pub mapper: &'static str,
    /// How much longer a frame takes, relative to the mapping that is shown: not rounded, and negative where the other
    /// one is shorter.
    pub relative: f64,
}

/// A drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Name of the file, without a folder.
    pub file: String,
    /// The drawing.
    pub svg: String,
}

/// A table, a figure or a part of one that can't be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// What the paper has.
    pub what: &'static str,
    /// Why it is not computed.
    pub reason: &'static str,
}

/// Everything that is computed for one paper.
#[derive(Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: String,
    /// Its tables and figures.
    pub sections: Vec<Section>,
    /// Drawings of its figures.
    pub figures: Vec<Figure>,
    /// What the table that compares mappers prints, as numbers: network by network, in its order. Nothing where no
    /// section compares mappers.
    pub slowdowns: Vec<Slowdown>,
    /// What the paper has beyond them; nothing where only some tables and figures were wanted.
    pub left_out: Vec<LeftOut>,
}

impl Reproduction {
    /// All claims and checks.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.sections.iter().flat_map(|section| &section.claims)
    }

    /// How many claims could fail, and how many do.
    pub fn tally(&self) -> Tally {
        Tally::of(self.claims())
    }

    /// Claims and checks that do not hold.
    pub fn misses(&self) -> impl Iterator<Item = &Claim> {
        self.claims().filter(|claim| !claim.holds())
    }

    /// Misses without a reason, and reasons without a miss.
    pub fn faults(&self) -> impl Iterator<Item = (&Claim, Fault)> {
        self.claims().filter_map(|claim| Some((claim, claim.fault()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_compared_is_counted() {
        let claims = [
            Claim::number("held", 1.0, 1.0),
            Claim::number("missed", 2.0, 1.0).because("heat"),
            Claim::number("calibrated", 1.0, 1.0).only(Evidence::Input),
            Claim::number("fitted", 1.0, 1.0).only(Evidence::SelfConsistency),
            Claim::number("made", 1.0, 1.0).only(Evidence::ByDefinition),
            Claim::number("wished for", 1.0, 1.0).only(Evidence::NotInThePaper),
        ];
        let tally = Tally::of(&claims);
        assert_eq!((tally.could_fail, tally.hold, tally.miss()), (2, 1, 1));
        let twice: Tally = [tally, tally].into_iter().sum();
        assert_eq!(twice.to_string(), "4 claims could fail: 2 hold, 2 miss.");
        assert_eq!(Tally::of(&claims[..1]).to_string(), "1 claim could fail: 1 hold, 0 miss.");
    }

    #[test]
    fn a_reason_stands_after_what_it_explains() {
        let miss = |what: &str, reason| Claim::choice(what, "B4", "B4-s4").because(reason);
        let mut section = Section {
            item: PaperItem::Table(1),
            about: "stages".to_owned(),
            kind: Kind::Computed,
            table: Table::new([]),
            notes: Vec::new(),
            claims: vec![
                miss("one", "heat"),
                miss("two", "heat"),
                Claim::choice("three", "B4", "B4"),
                miss("four", "noise"),
                Claim::number("five", 1.0, 1.0).only(Evidence::Input),
            ],
        };

        let expected = [
            "4 claims could fail: 1 hold, 3 miss.",
            "Misses: one: B4 here, B4-s4 in the paper.",
            "Misses: two: B4 here, B4-s4 in the paper.",
            "Why: heat.",
            "Misses: four: B4 here, B4-s4 in the paper.",
            "Why: noise.",
            "Checked, not counted: 1 input of the calibration.",
        ];
        assert_eq!(
            (section.title().as_str(), section.verdict()),
            ("Table 1: stages", expected.map(str::to_owned).to_vec())
        );
        assert!(!section.holds());
        section.claims.retain(Claim::holds);
        assert_eq!(section.verdict(), ["1 claim could fail: 1 hold, 0 miss.", expected[6]]);
        assert!(section.holds());
        section.claims.clear();
        assert!(section.verdict().is_empty());
    }
}
