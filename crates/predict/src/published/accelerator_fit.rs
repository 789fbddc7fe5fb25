//! The co-scheduling paper's accelerator model, fitted to measured phases, with how well it fits.

use crate::error::PredictError;
use crate::line::Line;
use crate::published::{AcceleratorModel, AcceleratorSample, Buffering, Coherence, Phases};
use crate::regression::{Regression, Term, r_squared};

/// With fewer samples nothing is left that could tell how far a line is off.
const LEAST_SAMPLES: usize = 3;

/// An [`AcceleratorModel`] that was fitted to phases.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceleratorFit {
    /// The model.
    pub model: AcceleratorModel,
    /// Its lines: computation, transfer, and flush and invalidation where software does these.
    pub lines: Vec<FittedLine>,
    /// Mean relative error of equation 9, if totals were measured.
    pub total_error: Option<f64>,
}

/// A line of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLine {
    /// Its equation's number in the paper.
    pub equation: u32,
    /// What it is the time of.
    pub phase: &'static str,
    /// Seconds by elements.
    pub line: Line,
    /// One standard deviation of the estimates of its slope and intercept.
    pub standard_errors: [f64; 2],
    /// Part of the samples' variance that it explains.
    pub r_squared: f64,
    /// Mean relative error on the samples (MAPE).
    pub error: f64,
    /// The same where each sample is predicted by a line through the others; `None` if some others determine no line.
    pub unseen_error: Option<f64>,
}

impl AcceleratorFit {
    /// Fits equations 2, 4, 6 and 7 by least squares on relative errors, since noise grows with what is measured; the
    /// paper weights absolute ones.
    ///
    /// # Errors
    /// [`PredictError::Rows`] with too few convolutions or none of other sizes, or if more elements seem to take less
    /// time.
    pub fn to(phases: &Phases, processing_elements: u64, buffering: Buffering) -> Result<Self, PredictError> {
        let waves = |sample: &AcceleratorSample| sample.size.filters.div_ceil(processing_elements.max(1));
        let sent = |sample: &AcceleratorSample| {
            (sample.size.input + sample.size.normalisation + sample.size.filter * sample.size.filters) as f64
        };
        let received = |sample: &AcceleratorSample| (sample.size.output * sample.size.filters) as f64;
        let points = |point: &dyn Fn(&AcceleratorSample) -> (f64, f64)| -> Vec<(f64, f64)> {
            phases.samples.iter().map(point).collect()
        };
        let unit = |sample: &AcceleratorSample| {
            sample.latency.computation_seconds / (sample.size.output as f64 * waves(sample) as f64).max(1.0)
        };

        let computation =
            FittedLine::to(2, "computation", &points(&|sample| (sample.size.filter as f64, unit(sample))))?;
        let moved = points(&|sample| (sent(sample) + received(sample), sample.latency.transfer_seconds));
        let mut lines = vec![computation, FittedLine::to(4, "transfer", &moved)?];
        if phases.coherence == Coherence::Software {
            let flushed = points(&|sample| (sent(sample), sample.latency.flush_seconds));
            let invalidated = points(&|sample| (received(sample), sample.latency.invalidation_seconds));
            lines.push(FittedLine::to(6, "flush", &flushed)?);
            lines.push(FittedLine::to(7, "invalidation", &invalidated)?);
        }

        let line = |index: usize| lines.get(index).map_or(Line::new(0.0, 0.0), |fitted| fitted.line);
        let model = AcceleratorModel {
            computation: line(0),
            transfer: line(1),
            flush: line(2),
            invalidation: line(3),
            processing_elements,
            coherence: phases.coherence,
            buffering,
        };

        let total = |sample: &AcceleratorSample| {
            let seconds = sample.latency.total_seconds;
            seconds
                .is_finite()
                .then(|| (model.latency(&sample.size, sample.size.filters).total_seconds / seconds - 1.0).abs())
        };
        let errors: Option<Vec<f64>> = phases.samples.iter().map(total).collect();
        Ok(Self { model, lines, total_error: errors.map(|errors| mean(&errors)) })
    }
}

impl FittedLine {
    fn to(equation: u32, phase: &'static str, points: &[(f64, f64)]) -> Result<Self, PredictError> {
        let refused =
            |detail: String| PredictError::Rows { detail: format!("equation {equation} ({phase}): {detail}") };
        if points.len() < LEAST_SAMPLES {
            return Err(refused(format!("there are {} convolutions and {LEAST_SAMPLES} are needed", points.len())));
        }

        let few = |error: PredictError| match error {
            PredictError::Degenerate { .. } | PredictError::TooFewSamples { .. } => refused(
                "all convolutions have the same number of elements, so they determine no line; measure other sizes"
                    .to_owned(),
            ),
            other => other,
        };
        let (line, standard_errors) = through(phase, points).map_err(few)?;
        if line.slope < 0.0 {
            return Err(refused("more elements would take less time; are the columns the right ones?".to_owned()));
        }

        let off = |line: Line, (x, y): (f64, f64)| (line.at(x) / y - 1.0).abs();
        let errors: Vec<f64> = points.iter().map(|&point| off(line, point)).collect();
        let left_out = |(index, &point): (usize, &(f64, f64))| {
            let (before, after) = (points.get(..index)?, points.get(index + 1..)?);
            let (line, _) = through(phase, &[before, after].concat()).ok()?;
            Some(off(line, point))
        };
        let unseen: Option<Vec<f64>> = points.iter().enumerate().map(left_out).collect();
        let (measured, predicted): (Vec<f64>, Vec<f64>) = points.iter().map(|&(x, y)| (y, line.at(x))).unzip();
        Ok(Self {
            equation,
            phase,
            line,
            standard_errors,
            r_squared: r_squared(&measured, &predicted),
            error: mean(&errors),
            unseen_error: unseen.map(|errors| mean(&errors)),
        })
    }
}

/// The line with the least relative errors.
fn through(what: &str, points: &[(f64, f64)]) -> Result<(Line, [f64; 2]), PredictError> {
    let rows: Vec<Vec<f64>> = points.iter().map(|&(x, y)| vec![x / y, 1.0 / y]).collect();
    let terms = [Term::new("elements"), Term::new("constant")];
    let fitted = Regression::ordinary(what, &terms, &rows, &vec![1.0; points.len()])?;
    match (fitted.coefficients(), fitted.standard_errors()) {
        (&[slope, intercept], &[slope_error, intercept_error]) => {
            Ok((Line::new(slope, intercept), [slope_error, intercept_error]))
        }
        _ => Err(PredictError::Degenerate { what: what.to_owned(), detail: "no line was found".to_owned() }),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
