use millstream::SlowCore;
use millstream_board::CoreId;

pub(super) fn parse_slow_core(text: &str) -> Result<SlowCore, String> {
    let expected = || format!("'{text}' is not CPU:FACTOR, such as 1:3, with a whole factor from 2 to 16");
    let (core, factor) = text.split_once(':').ok_or_else(expected)?;
    let core = CoreId(core.parse().map_err(|_| expected())?);
    let factor: u32 = factor.parse().map_err(|_| expected())?;
    if (2..=16).contains(&factor) { Ok(SlowCore { core, factor }) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cores_parse() {
        assert_eq!(parse_slow_core("1:3"), Ok(SlowCore { core: CoreId(1), factor: 3 }));
        for wrong in ["1", "1:1", "x:3", "1:2.5", "1:99"] {
            assert!(parse_slow_core(wrong).is_err(), "{wrong}");
        }
    }
}
