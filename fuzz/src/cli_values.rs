//! Values of command-line flags. The parsers are those of the command itself, which is a program and not a library.

#[allow(dead_code, reason = "the command uses the rest")]
#[path = "../../crates/cli/src/arguments/values.rs"]
mod values;

use crate::duration::Budget;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(Budget(time)) = text.parse() {
        assert!((1e-6..=86_400.0).contains(&time.as_secs_f64()), "{text}: {time:?}");
        let shown: Result<Budget, _> = Budget(time).to_string().parse();
        assert!(shown.is_ok(), "a time is shown as it can be given: {text}");
    }
    if let Ok(Budget(turn)) = values::parse_turn(text) {
        assert!(turn.as_millis() >= 100, "{text}: {turn:?}");
    }

    let numbers = [
        (values::parse_rate(text), 1e-6, 1e9),
        (values::parse_watts(text), 1e-6, 1e6),
        (values::parse_margin(text), 0.0, 10.0),
        (values::parse_noise(text), 0.0, 200.0),
        (values::parse_number(text), f64::MIN, f64::MAX),
        (values::parse_divisor(text), f64::MIN, f64::MAX),
    ];
    for (number, least, most) in numbers {
        assert!(number.is_err() || number.is_ok_and(|number| (least..=most).contains(&number)), "{text}");
    }

    assert!(values::parse_divisor(text) != Ok(0.0), "{text}");
    if let Ok((name, sizes)) = values::parse_dimension(text) {
        assert!(!name.is_empty() && !sizes.is_empty() && sizes.iter().all(|&size| size > 0), "{text}");
    }
    if let Ok((name, weight)) = values::parse_weight(text) {
        assert!(!name.is_empty() && (1e-6..=1e6).contains(&weight), "{text}");
    }
    let _ = values::parse_effort(text);
    let _ = values::parse_deadline(text);
    let _ = (values::parse_speed(text), values::parse_loss(text), values::parse_restoration(text));
}
