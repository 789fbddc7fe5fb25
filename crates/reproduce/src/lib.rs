//! The papers' tables and figures, computed anew beside the printed numbers.
//!
//! ```
//! use millstream_reproduce::{Paper, Selection, reproduce};
//!
//! let reproduction = reproduce(Paper::Granularity, Selection::default())?;
//! assert!(reproduction.sections[0].table.to_string().contains("1, 2, 16, 8, 4, 32"));
//! let tally = reproduction.tally();
//! println!("{tally}");
//! assert_eq!(tally.miss(), reproduction.misses().filter(|claim| claim.counts()).count());
//! assert_eq!(reproduction.faults().count(), 0, "every miss has a reason, and no reason is out of date");
//! # Ok::<(), millstream_reproduce::ReproduceError>(())
//! ```
//!
//! A [`Claim`] says by its [`Evidence`] what agreement would mean. Counted is only what the paper prints and what ours
//! is computed without: an input of a calibration, a fit beside the lines that its samples are from, and what is true
//! by definition are checks, shown and never counted. A [`ClaimTolerance`] is the rounding or the error that the paper
//! states; where it states none, it is [`GENERAL_TOLERANCE`] everywhere, 10 %. What misses it is shown as a miss, with
//! the reason; a miss without one is a [`Fault`], and so is a reason without a miss. What a paper has beyond the
//! sections is named with the reason as well ([`LeftOut`]).
//!
//! Invariants: the same on every machine but for the times that searches take; nothing is read or written. Numbers of
//! the papers stand in this crate with the table, figure or equation that they are from.

mod claim;
mod co_scheduling;
mod evidence;
mod granularity;
mod layers;
mod paper;
mod para_pipe;
mod pipe_it;
mod pipe_search;
mod report;
mod selection;
mod shisha;

pub use claim::{Claim, Comparison, Fault};
pub use evidence::{ClaimTolerance, Evidence, GENERAL_TOLERANCE};
pub use paper::{Paper, ReproduceError};
pub use report::{Figure, Kind, LeftOut, Reproduction, Section, Slowdown, Tally};
pub use selection::{PaperItem, Selection};

/// Computes what there is of a paper, or the part of it that is selected.
///
/// # Errors
/// [`ReproduceError::NothingSelected`] if the paper has nothing that is selected; others are not expected.
pub fn reproduce(paper: Paper, selection: Selection) -> Result<Reproduction, ReproduceError> {
    let mut reproduction = match paper {
        Paper::CoScheduling => co_scheduling::reproduce()?,
        Paper::Granularity => granularity::reproduce()?,
        Paper::ParaPipe => para_pipe::reproduce(selection)?,
        Paper::PipeIt => pipe_it::reproduce()?,
        Paper::PipeSearch => pipe_search::reproduce()?,
        Paper::Shisha => shisha::reproduce(selection)?,
    };
    reproduction.sections.retain(|section| selection.wants(section.item));
    if !selection.is_everything() {
        reproduction.left_out.clear();
    }
    if reproduction.sections.is_empty() {
        return Err(ReproduceError::NothingSelected { paper });
    }
    Ok(reproduction)
}
