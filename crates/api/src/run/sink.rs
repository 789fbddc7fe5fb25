//! What is done with the results of a run: checked, compared, written.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use millstream_backend::Tensor;
use millstream_board::EngineName;
use millstream_frames::{Golden, Mismatch, Tolerance, write_results};
use millstream_runtime::FrameResult;

use crate::error::Error;
use crate::run::frame_log::in_one_line;
use crate::run::reference::{Reference, describe};
use crate::run::statistics::FrameStatistics;
use crate::run::taken::Taken;

/// The most frames with unexpected results that are reported in full.
const MOST_TOLD: usize = 3;

/// A line about a result that is not as expected.
pub(crate) fn told(wrong: &Mismatch) -> String {
    format!("  '{}' of {}: {}", wrong.output, wrong.frame, describe(&wrong.difference))
}

/// Takes the results of one network, in the order of its frames.
pub(crate) struct Sink {
    reference: Arc<Reference>,
    folder: Option<PathBuf>,
    golden: Option<Golden>,
    tolerance: Tolerance,
    pub(crate) statistics: FrameStatistics,
    pub(crate) largest_difference: f64,
    pub(crate) golden_difference: f64,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) wrong_frames: usize,
    /// The first frames that failed, and why.
    failures: Vec<String>,
    /// Frames that never came to the engine.
    pub(crate) dropped: u64,
}

impl Sink {
    /// A sink that only checks, and counts.
    pub(crate) fn new(reference: &Arc<Reference>, statistics: FrameStatistics) -> Self {
        Self {
            reference: Arc::clone(reference),
            folder: None,
            golden: None,
            tolerance: Tolerance::default(),
            statistics,
            largest_difference: 0.0,
            golden_difference: 0.0,
            mismatches: Vec::new(),
            wrong_frames: 0,
            failures: Vec::new(),
            dropped: 0,
        }
    }

    /// The same with a folder for the results.
    pub(crate) fn writing_to(self, folder: Option<PathBuf>) -> Self {
        Self { folder, ..self }
    }

    /// The same with expected results.
    pub(crate) fn expecting(self, golden: Option<Golden>, relative: Option<f64>) -> Self {
        Self { golden, tolerance: Tolerance { relative, ..Tolerance::default() }, ..self }
    }

    /// Takes the next result: that of the frame of this number, which arrived at `arrived` or when it was submitted.
    /// Returns what is left of it. A frame that failed is counted, and others go on.
    pub(crate) fn take(
        &mut self,
        number: u64,
        mut result: FrameResult,
        arrived: Option<Instant>,
    ) -> Result<Taken, Error> {
        let outcome = std::mem::replace(&mut result.outcome, Ok(Vec::new()));
        let label = self.reference.label(number);
        let arrived = arrived.unwrap_or(result.submitted);
        let (tensors, failure) = match outcome {
            Ok(tensors) => (tensors, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let taken = Taken { result, label, arrived, failure };
        match &taken.failure {
            Some(failure) if self.failures.len() < MOST_TOLD => {
                self.failures.push(format!("  '{}': {}", taken.label, in_one_line(failure)));
            }
            Some(_) => {}
            None => self.check(number, &taken.label, tensors)?,
        }
        self.statistics.add(&taken);
        Ok(taken)
    }

    /// Compares the results of a frame with what they should be, and writes them.
    fn check(&mut self, number: u64, label: &str, tensors: Vec<Tensor>) -> Result<(), Error> {
        self.largest_difference = self.largest_difference.max(self.reference.check(number, &tensors)?);
        if let Some(golden) = &self.golden {
            match golden.check(self.reference.place(number), label, &tensors, self.tolerance)? {
                Ok(largest) => self.golden_difference = self.golden_difference.max(largest),
                Err(mismatch) => {
                    self.wrong_frames += 1;
                    if self.mismatches.len() < MOST_TOLD {
                        self.mismatches.push(mismatch);
                    }
                }
            }
        }
        if let Some(folder) = &self.folder {
            let named: Vec<(String, Tensor)> = self.reference.outputs().iter().cloned().zip(tensors).collect();
            write_results(folder, label, &named)?;
        }
        Ok(())
    }

    /// How many different frames the results are of.
    pub(crate) fn different_frames(&self) -> usize {
        self.reference.different_frames()
    }

    /// What computes what results are compared with.
    pub(crate) fn reference_engine(&self) -> EngineName {
        self.reference.engine()
    }

    /// Whether everything was as expected; the error names the first frames that failed, or the worst elements.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        let FrameStatistics { frames, failed, .. } = self.statistics;
        if failed > 0 {
            let wrong = self.wrong_frames;
            let unexpected = (wrong > 0).then(|| format!("; {wrong} others have other results than expected"));
            let detail = self.failures.join("\n") + &unexpected.unwrap_or_default();
            return Err(Error::FailedFrames { failed, frames: frames + failed, detail });
        }
        let (Some(golden), true) = (&self.golden, self.wrong_frames > 0) else { return Ok(()) };
        let told: Vec<String> = self.mismatches.iter().map(told).collect();
        Err(Error::Unexpected {
            wrong: self.wrong_frames,
            frames: self.statistics.frames as usize,
            expected: golden.path().to_owned(),
            detail: told.join("\n"),
        })
    }

    /// Where expected results are from, if there are any.
    pub(crate) fn golden(&self) -> Option<&Golden> {
        self.golden.as_ref()
    }
}

/// A sink that reports each frame that it took to an observer.
pub(crate) struct ObservedSink<'a> {
    pub(crate) sink: &'a mut Sink,
    pub(crate) observe: &'a dyn Fn(&Taken) -> Result<(), Error>,
}

impl ObservedSink<'_> {
    /// As [`Sink::take`].
    pub(crate) fn take(&mut self, number: u64, result: FrameResult, arrived: Option<Instant>) -> Result<(), Error> {
        (self.observe)(&self.sink.take(number, result, arrived)?)
    }
}
