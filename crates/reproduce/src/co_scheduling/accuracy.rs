//! Tables 2 and 4: how well coefficients are recovered from noisy samples.

use millstream_predict::Weighting;
use millstream_predict::published::{
    AcceleratorLatency, AcceleratorModel, AcceleratorSample, ConvolutionSize, CpuUnitModel,
};
use millstream_report::{Align, Table};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::data::{LAYERS, MAPE, PLATFORMS, PROCESSING_ELEMENTS, Platform};
use crate::claim::Claim;
use crate::evidence::{ClaimTolerance, Evidence};
use crate::paper::ReproduceError;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Samples for each line, as in section III-D.
const SAMPLES: usize = 32;
/// Relative standard deviation of the noise that is put on them.
const NOISE: f64 = 0.01;
const SEED: u64 = 2020;

pub(super) fn section() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("platform", Align::Left),
        ("model", Align::Left),
        ("1x1: ours", Align::Right),
        ("paper's", Align::Right),
        ("3x3: ours", Align::Right),
        ("paper's", Align::Right),
    ]);

    let mut claims = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for (platform, printed) in PLATFORMS.iter().zip(MAPE) {
        let (mut rows, mut worst) = (Vec::new(), 0.0);
        for elements in PROCESSING_ELEMENTS {
            rows.push((format!("accelerator, {elements} PEs"), accelerator_errors(platform, elements, &mut random)?));
        }
        rows.push(("CPU".to_owned(), cpu_errors(platform, &mut random)?));
        for ((name, ours), paper) in rows.into_iter().zip(printed) {
            let percent = |value: f64| format!("{value:.2} %");
            table.row([
                platform.name.to_owned(),
                name,
                percent(100.0 * ours[0]),
                percent(paper[0]),
                percent(100.0 * ours[1]),
                percent(paper[1]),
            ]);
            worst = ours.into_iter().fold(worst, f64::max);
        }
        claims.push(recovered(format!("largest error of models fitted on {}", platform.name), worst, MOST_ERROR));
    }

    Ok(Section {
        item: PaperItem::Table(4),
        about: "error of fitted models on the layers of table 3".to_owned(),
        kind: Kind::Fitted,
        table,
        notes: vec![
            "Ours are fits to 32 samples of the paper's model with 1 % noise, compared with that model; the paper's are fits to \
             measurements, compared with measurements. So ours say only that the fit works, and are not counted: the largest of a platform is to \
             be below 1 %."
                .to_owned(),
        ],
        claims,
    })
}

/// Slopes of fits are to be as near to those of the lines that their samples are from, and errors of fits below this.
const MOST_SLOPE_DIFFERENCE: f64 = 0.03;
const MOST_ERROR: f64 = 0.01;

/// Fits to samples of a line, beside the line: says whether the fit works, nothing of the paper.
fn recovered(what: String, worst: f64, most: f64) -> Claim {
    Claim::range(what, worst, [0.0, most]).within(ClaimTolerance::Exact).only(Evidence::SelfConsistency)
}

/// Table 2, from samples of its own lines.
pub(super) fn coefficients() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("platform", Align::Left),
        ("line", Align::Left),
        ("alpha us: ours", Align::Right),
        ("paper's", Align::Right),
        ("beta us: ours", Align::Right),
        ("paper's", Align::Right),
    ]);

    let mut claims = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for platform in &PLATFORMS {
        let elements = PROCESSING_ELEMENTS[0];
        let (fitted, truth) = (fitted_accelerator(platform, elements, &mut random)?, platform.accelerator(elements));
        let lines = [
            ("transfer", fitted.transfer, truth.transfer),
            ("computation", fitted.computation, truth.computation),
            ("flush", fitted.flush, truth.flush),
            ("invalidation", fitted.invalidation, truth.invalidation),
            ("CPU", fitted_cpu(platform, &mut random)?.unit, platform.cpu().unit),
        ];
        let mut worst: f64 = 0.0;
        for (name, fitted, printed) in lines {
            let microseconds = |value: f64| format!("{:.6}", 1e6 * value);
            table.row([
                platform.name.to_owned(),
                name.to_owned(),
                microseconds(fitted.slope),
                microseconds(printed.slope),
                microseconds(fitted.intercept),
                microseconds(printed.intercept),
            ]);
            worst = f64::max(worst, (fitted.slope / printed.slope - 1.0).abs());
        }
        let what = format!("largest difference of a fitted alpha, {}", platform.name);
        claims.push(recovered(what, worst, MOST_SLOPE_DIFFERENCE));
    }

    Ok(Section {
        item: PaperItem::Table(2),
        about: "coefficients, fitted to 32 samples of the paper's lines with 1 % noise".to_owned(),
        kind: Kind::Fitted,
        table,
        notes: vec![
            "Samples of the paper's own lines: the fits say nothing of the paper, and are not counted.".to_owned(),
            "What a transfer or a flush takes beyond its elements, beta, is lost in the noise of large convolutions; it hardly matters for them."
                .to_owned(),
        ],
        claims,
    })
}

/// A convolution within the range of those that networks have, small ones as often as large ones.
fn draw_size(random: &mut ChaCha8Rng) -> ConvolutionSize {
    let mut between = |low: f64, high: f64| random.random_range(low.ln()..high.ln()).exp().round() as u64;
    let (size, channels, filters) = (between(5.0, 64.0), between(12.0, 640.0), between(32.0, 1536.0));
    let kernel = if random.random::<bool>() { 1 } else { 3 };
    ConvolutionSize {
        input: size * size * channels,
        filter: kernel * kernel * channels,
        output: size * size,
        normalisation: 0,
        filters,
    }
}

/// One with normally distributed noise.
fn noise(random: &mut ChaCha8Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(random);
    1.0 + NOISE * normal
}

fn fitted_accelerator(
    platform: &Platform,
    elements: u64,
    random: &mut ChaCha8Rng,
) -> Result<AcceleratorModel, ReproduceError> {
    let truth = platform.accelerator(elements);
    let samples: Vec<AcceleratorSample> = (0..SAMPLES)
        .map(|_| {
            let size = draw_size(random);
            let exact = truth.latency(&size, size.filters);
            let latency = AcceleratorLatency {
                computation_seconds: exact.computation_seconds * noise(random),
                transfer_seconds: exact.transfer_seconds * noise(random),
                flush_seconds: exact.flush_seconds * noise(random),
                invalidation_seconds: exact.invalidation_seconds * noise(random),
                total_seconds: exact.total_seconds,
            };
            AcceleratorSample { size, latency }
        })
        .collect();
    Ok(AcceleratorModel::fit(&samples, elements, truth.coherence, truth.buffering, Weighting::Relative)?)
}

fn accelerator_errors(platform: &Platform, elements: u64, random: &mut ChaCha8Rng) -> Result<[f64; 2], ReproduceError> {
    let truth = platform.accelerator(elements);
    let fitted = fitted_accelerator(platform, elements, random)?;
    Ok(errors(|size| [&fitted, &truth].map(|model| model.latency(size, size.filters).total_seconds)))
}

fn fitted_cpu(platform: &Platform, random: &mut ChaCha8Rng) -> Result<CpuUnitModel, ReproduceError> {
    let truth = platform.cpu();
    let samples: Vec<(ConvolutionSize, f64)> = (0..SAMPLES)
        .map(|_| {
            let size = draw_size(random);
            (size, truth.seconds(&size, size.filters) * noise(random))
        })
        .collect();
    Ok(CpuUnitModel::fit(&samples, Weighting::Relative)?)
}

fn cpu_errors(platform: &Platform, random: &mut ChaCha8Rng) -> Result<[f64; 2], ReproduceError> {
    let truth = platform.cpu();
    let fitted = fitted_cpu(platform, random)?;
    Ok(errors(|size| [&fitted, &truth].map(|model| model.seconds(size, size.filters))))
}

/// Mean absolute percentage error over the layers of table 3 with 1x1 and with 3x3 kernels.
fn errors(fitted_and_true: impl Fn(&ConvolutionSize) -> [f64; 2]) -> [f64; 2] {
    [1, 3].map(|kernel| {
        let errors: Vec<f64> = LAYERS
            .iter()
            .filter(|layer| layer.kernel == kernel)
            .map(|layer| {
                let [fitted, truth] = fitted_and_true(&layer.convolution());
                (fitted / truth - 1.0).abs()
            })
            .collect();
        errors.iter().sum::<f64>() / errors.len() as f64
    })
}
