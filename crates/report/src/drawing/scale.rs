//! Axes: which numbers stand at them, and where a number is.

/// An axis from one number to another along some pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis that has these numbers on it, and some room at both ends; never below 0 where nothing is.
    pub(crate) fn around(values: impl Iterator<Item = f64> + Clone, pixels: (f64, f64)) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::NEG_INFINITY, f64::max);
        let room = (0.08 * (most - least)).max(0.02 * most.abs()).max(f64::MIN_POSITIVE);
        let start = if least >= 0.0 { (least - room).max(0.0) } else { least - room };
        Self { least: start, most: most + room, from: pixels.0, to: pixels.1 }
    }

    /// An axis from one number to another.
    pub(crate) fn new(least: f64, most: f64, pixels: (f64, f64)) -> Self {
        Self { least, most: most.max(least + f64::MIN_POSITIVE), from: pixels.0, to: pixels.1 }
    }

    /// Where a number is.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.least) / (self.most - self.least) * (self.to - self.from)
    }

    /// Round numbers on the axis, about as many as asked for, as text and where they are.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(String, f64)> {
        let step = round_step((self.most - self.least) / about.max(1) as f64);
        if !(step.is_finite() && step > 0.0) {
            return Vec::new();
        }
        let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (self.least / step).ceil() as i64;
        let numbers = (first..).map(|number| number as f64 * step).take_while(|value| *value <= self.most);
        numbers.take(4 * about).map(|value| (format!("{value:.digits$}"), self.at(value))).collect()
    }
}

/// 1, 2 or 5 times a power of ten that is not below a number.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_in_their_places() {
        let scale = Scale::new(0.0, 10.0, (100.0, 0.0));
        let expected = [("0", 100.0), ("2", 80.0), ("4", 60.0), ("6", 40.0), ("8", 20.0), ("10", 0.0)];
        assert_eq!(scale.ticks(5), expected.map(|(text, place)| (text.to_owned(), place)));
        let texts = |least, most| -> Vec<String> {
            Scale::new(least, most, (0.0, 1.0)).ticks(3).into_iter().map(|(text, _)| text).collect()
        };
        assert_eq!(texts(0.011, 0.029), ["0.02"].map(str::to_owned));
        assert_eq!(texts(0.0, 0.25), ["0.0", "0.1", "0.2"].map(str::to_owned));
        assert_eq!(texts(1190.0, 1260.0), ["1200", "1250"].map(str::to_owned));
        // What no axis can show is none.
        assert!(Scale::new(f64::NAN, 1.0, (0.0, 1.0)).ticks(3).is_empty());
    }

    #[test]
    fn an_axis_leaves_room_around_what_is_on_it() {
        let scale = Scale::around([5.0, 10.0].into_iter(), (0.0, 100.0));
        assert!(scale.at(5.0) > 0.0 && scale.at(10.0) < 100.0);
        let single = Scale::around([7.0].into_iter(), (0.0, 100.0));
        assert!((single.at(7.0) - 50.0).abs() < 1e-6, "one number is in the middle");
    }
}
