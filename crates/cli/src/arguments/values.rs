//! Values of flags, and how they are written. Fuzzing includes this file, so it needs no more than the crates whose
//! types it makes.

use std::str::FromStr;

use millstream_board::CoreId;
use millstream_cost::Nanoseconds;
use millstream_pipeline::Effort;
use millstream_sim::{Disturbance, DisturbanceKind, Unit};

use crate::duration::Budget;

pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok().filter(|rate| (1e-6..=1e9).contains(rate));
    rate.ok_or_else(|| format!("'{text}' is not a number of frames per second above 0"))
}

/// How many there are of what is counted from one.
pub(super) fn parse_count<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let count = text.parse::<T>().ok().filter(|count| *count >= T::from(1));
    count.ok_or_else(|| format!("'{text}' is no whole number from 1 up"))
}

/// How long somebody works before it is the next one's turn.
pub(super) fn parse_turn(text: &str) -> Result<Budget, String> {
    let Budget(time) = text.parse()?;
    let is_long_enough = time.as_millis() >= 100;
    is_long_enough.then_some(Budget(time)).ok_or_else(|| format!("'{text}' is too short for a turn: 100ms or more"))
}

pub(super) fn parse_weight(text: &str) -> Result<(String, f64), String> {
    let expected = || format!("'{text}' is not NAME=NUMBER, such as resnet50=2, with a number above 0");
    let (name, weight) = text.split_once('=').ok_or_else(expected)?;
    let weight: Option<f64> = weight.parse().ok().filter(|weight| (1e-6..=1e6).contains(weight));
    Ok((name.to_owned(), weight.filter(|_| !name.is_empty()).ok_or_else(expected)?))
}

pub(super) fn parse_deadline(text: &str) -> Result<(String, Budget), String> {
    let (name, time) =
        text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=TIME, such as resnet50=40ms"))?;
    Ok((name.to_owned(), time.parse()?))
}

pub(super) fn parse_speed(text: &str) -> Result<Disturbance, String> {
    let expected = || format!("'{text}' is not TIME:LABEL:FACTOR, such as 2s:B:0.5, with a factor above 0");
    let (at, rest) = text.split_once(':').ok_or_else(expected)?;
    let (label, factor) = rest.split_once(':').ok_or_else(expected)?;
    let factor: Option<f64> = factor.parse().ok().filter(|factor| (1e-3..=1e3).contains(factor));
    let kind = DisturbanceKind::Speed { label: label.to_owned(), factor: factor.ok_or_else(expected)? };
    Ok(Disturbance { at: moment(at)?, kind })
}

pub(super) fn parse_loss(text: &str) -> Result<Disturbance, String> {
    let (at, unit) = unit_at(text)?;
    Ok(Disturbance { at, kind: DisturbanceKind::Lost(unit) })
}

pub(super) fn parse_restoration(text: &str) -> Result<Disturbance, String> {
    let (at, unit) = unit_at(text)?;
    Ok(Disturbance { at, kind: DisturbanceKind::Restored(unit) })
}

fn unit_at(text: &str) -> Result<(Nanoseconds, Unit), String> {
    let expected = || format!("'{text}' is not TIME:CORE or TIME:LABEL, such as 2s:4 or 2s:G");
    let (at, unit) = text.split_once(':').ok_or_else(expected)?;
    let unit = match unit.parse() {
        Ok(core) => Unit::Core(CoreId(core)),
        Err(_) if unit.chars().next().is_some_and(char::is_alphabetic) => Unit::Accelerator(unit.to_owned()),
        Err(_) => return Err(expected()),
    };
    Ok((moment(at)?, unit))
}

fn moment(text: &str) -> Result<Nanoseconds, String> {
    text.parse().map(|Budget(time)| Nanoseconds::from(time))
}

pub(super) fn parse_watts(text: &str) -> Result<f64, String> {
    let watts: Option<f64> = text.parse().ok().filter(|watts| (1e-6..=1e6).contains(watts));
    watts.ok_or_else(|| format!("'{text}' is not a number of watts above 0"))
}

pub(super) fn parse_effort(text: &str) -> Result<Effort, String> {
    let effort: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Effort::new(effort).map_err(|error| error.to_string())
}

pub(super) fn parse_margin(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|percent| percent.trim().parse().ok());
    let percent = percent.filter(|percent: &f64| (0.0..=1000.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("'{text}' is not a percentage from 0% to 1000%, such as 10%"))
}

pub(super) fn parse_noise(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let percent = percent.filter(|percent: &f64| (0.0..=200.0).contains(percent));
    percent.ok_or_else(|| format!("'{text}' is not a percentage from 0% to 200%, such as 10%"))
}

pub(super) fn parse_dimension(text: &str) -> Result<(String, Vec<usize>), String> {
    let expected = || format!("'{text}' is not NAME=SIZE, such as height=224, or NAME=SIZE,SIZE");
    let (name, sizes) = text.rsplit_once('=').ok_or_else(expected)?;
    let size = |size: &str| match size.parse::<usize>() {
        Ok(0) => Err(format!("'{text}': a size is at least 1")),
        size => size.map_err(|_| expected()),
    };
    let sizes: Vec<usize> = sizes.split(',').map(size).collect::<Result<_, _>>()?;
    if name.is_empty() { Err(expected()) } else { Ok((name.to_owned(), sizes)) }
}

pub(super) fn parse_number(text: &str) -> Result<f64, String> {
    // Fractions such as 1/255 are how people think of scales.
    let (over, under) = text.split_once('/').unwrap_or((text, "1"));
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let quotient = number(over).zip(number(under)).map(|(over, under)| over / under);
    quotient.filter(|number| number.is_finite()).ok_or_else(|| format!("'{text}' is not a number such as 0.5 or 1/255"))
}

pub(super) fn parse_divisor(text: &str) -> Result<f64, String> {
    let number = parse_number(text)?;
    if number == 0.0 { Err(format!("'{text}': nothing can be divided by 0")) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_parse() {
        assert_eq!((parse_count("1"), parse_count("4294967295")), (Ok(1_u32), Ok(u32::MAX)));
        for wrong in ["0", "-1", "x", "1.5", "4294967296", ""] {
            assert_eq!(parse_count::<u32>(wrong), Err(format!("'{wrong}' is no whole number from 1 up")));
        }
    }

    #[test]
    fn dimensions_and_margins_parse() {
        assert_eq!(parse_dimension("height=224"), Ok(("height".to_owned(), vec![224])));
        assert_eq!(parse_dimension("sequence=32,64"), Ok(("sequence".to_owned(), vec![32, 64])));
        assert!(parse_dimension("height=0").is_err() && parse_dimension("=1").is_err());
        assert!(parse_dimension("height=1,").is_err());
        assert_eq!((parse_margin("10%"), parse_margin("0 %")), (Ok(0.1), Ok(0.0)));
        for wrong in ["10", "-1%", "NaN%", "%", "2000%"] {
            assert!(parse_margin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fractions_are_numbers() {
        assert_eq!(parse_number("1/4"), Ok(0.25));
        assert_eq!(parse_number("-0.5"), Ok(-0.5));
        assert!(parse_number("1/0").is_err() && parse_number("x").is_err() && parse_number("inf").is_err());
        assert!(parse_divisor("0").is_err());
    }
}
