//! A line for each frame, for other programs to read.

use crate::Error;
use crate::run::sink::Taken;

/// The frames of a run as CSV, each with the sizes of its network, with times in seconds from the first one's arrival.
///
/// # Errors
/// None that anybody has seen: it is written to memory.
pub fn frame_log(frames: &[(Option<&str>, &Taken)], deadline_seconds: Option<f64>) -> Result<String, Error> {
    csv_of(frames, deadline_seconds).map_err(|error| Error::Defect(format!("frames can't be written as CSV: {error}")))
}

fn csv_of(frames: &[(Option<&str>, &Taken)], deadline_seconds: Option<f64>) -> Result<String, csv::Error> {
    let begin = frames.iter().map(|(_, frame)| frame.arrived).min();
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record([
        "frame",
        "label",
        "sizes",
        "arrived_seconds",
        "submitted_seconds",
        "received_seconds",
        "latency_seconds",
        "is_late",
    ])?;
    for (number, (sizes, frame)) in frames.iter().enumerate() {
        let since = |moment: std::time::Instant| {
            let seconds = begin.map_or(0.0, |begin| moment.saturating_duration_since(begin).as_secs_f64());
            format!("{seconds:.9}")
        };
        let latency = frame.latency_seconds();
        table.write_record([
            number.to_string(),
            frame.label.clone(),
            sizes.unwrap_or_default().to_owned(),
            since(frame.arrived),
            since(frame.result.submitted),
            since(frame.result.received),
            format!("{latency:.9}"),
            u8::from(deadline_seconds.is_some_and(|deadline| latency > deadline)).to_string(),
        ])?;
    }
    let bytes = table.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
