//! What parts of operators take at least for their shares.

use millstream_cost::PartCost;

/// What a part takes at least for its share, in terms of the whole: full waves make the most of their time.
pub(crate) fn least_by_share(part: PartCost, of: usize) -> f64 {
    let mut least = 1.0_f64;
    let wave = part.wave.max(1);
    let mut made = wave;
    while wave > 1 && made < of.saturating_add(wave) {
        let channels = made.min(of);
        least = least.min(part.fraction(channels, of) * of as f64 / channels as f64);
        made = made.saturating_add(wave);
    }
    least
}
