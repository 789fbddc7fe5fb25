//! Values of `--slow-core`: a core and the factor of its slowdown.

use millstream::SlowCore;
use millstream_board::CoreId;

pub(super) fn parse_slow_core(text: &str) -> Result<SlowCore, String> {
    let expected = || format!("'{text}' is not CPU:FACTOR, such as 1:3, with a factor above 1, up to 16");
    let (core, factor) = text.split_once(':').ok_or_else(expected)?;
    let core = CoreId(core.parse().map_err(|_| expected())?);
    let factor: f64 = factor.parse().map_err(|_| expected())?;
    if factor > 1.0 && factor <= SlowCore::MOST { Ok(SlowCore { core, factor }) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cores_parse() {
        assert_eq!(parse_slow_core("1:3"), Ok(SlowCore { core: CoreId(1), factor: 3.0 }));
        assert_eq!(parse_slow_core("0:2.5"), Ok(SlowCore { core: CoreId(0), factor: 2.5 }));
        for wrong in ["1", "1:1", "x:3", "1:nan", "1:-2", "1:99"] {
            assert!(parse_slow_core(wrong).is_err(), "{wrong}");
        }
    }
}
