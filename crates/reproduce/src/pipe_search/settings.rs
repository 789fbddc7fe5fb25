//! Table 6: VGG16 under four governor settings.

use millstream_report::{Align, Table};
use millstream_tune::{PipeSearch, Tuner, coefficient_of_variation};

use super::cores::{Cores, PIPELINES, SPEEDS, calibrated, space};
use super::data::VGG16;
use crate::claim::Claim;
use crate::evidence::Evidence;
use crate::paper::ReproduceError;
use crate::pipe_search::ranks::{division, rank_claim, ranks, shown};
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

const SLOWER_THAN_ONE: &str = "printed is less than the fast cluster alone would give with the other one at a sixth of its frequency, so stages must have \
                               shared cores in another way, which is not described";

pub(super) fn section(weights: &[u64]) -> Result<Section, ReproduceError> {
    let space = space(weights)?;
    let rate = calibrated(weights)?;
    let mut table = Table::new([
        ("setting", Align::Right),
        ("paper's optimum", Align::Left),
        ("its rank, ours", Align::Right),
        ("paper's", Align::Right),
        ("variation", Align::Right),
        ("Pipe-Search here", Align::Left),
        ("best here", Align::Left),
        ("frames/s here", Align::Right),
        ("paper's", Align::Right),
    ]);

    let mut claims = Vec::new();
    for (index, setting) in VGG16.iter().enumerate() {
        let (number, printed) = (index + 1, &setting.optimum);
        let ours = ranks(weights, printed.layers);
        let mut cores = Cores::new(weights, number, rate);
        let found = PipeSearch::default().tune(&space, &mut cores)?;
        let best = PIPELINES.tune(&space, &mut cores)?;
        table.row([
            number.to_string(),
            division(printed.layers),
            shown(ours),
            printed.rank.to_string(),
            format!("{:.1} %", 100.0 * coefficient_of_variation(weights, printed.layers)),
            found.best.to_string(),
            best.best.to_string(),
            format!("{:.2}", 1.0 / found.trial.period.seconds()),
            setting.frames_per_second.to_string(),
        ]);

        claims.push(rank_claim(&format!("{}, VGG16", division(printed.layers)), ours, printed.rank));
        let what = format!("what Pipe-Search finds under setting {number}");
        claims.push(Claim::choice(what, found.best.to_string(), division(printed.layers)).because(SPEEDS));
        let what = format!("frames/s of what Pipe-Search finds under setting {number}");
        let reached = Claim::number(what, 1.0 / found.trial.period.seconds(), setting.frames_per_second);
        // The rate of the cores is such that the best pipeline under setting 1 has the printed throughput.
        claims.push(match number {
            1 => reached.only(Evidence::Input),
            2 | 3 => reached.because(SLOWER_THAN_ONE),
            _ => reached.because(SPEEDS),
        });
    }

    Ok(Section {
        item: PaperItem::Table(6),
        about: "VGG16 under the four governor settings".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "Ranks are computed from the weights of layers alone; what is found here follows from the speeds of table 3 above.".to_owned(),
        ],
        claims,
    })
}
