//! What was measured of a system, as its file has it and for people.

use millstream_api::board::{Duplex, TransferPrecision};
use millstream_report::{Align, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::meter::{Direction, SIZES};

/// What was measured of a system.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSystem {
    /// Its links.
    pub links: Vec<MeasuredLink>,
    /// Per host, the way of frames from this computer to it.
    pub frames: Vec<MeasuredFrames>,
}

/// A link that was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredLink {
    /// Its ends.
    pub hosts: [String; 2],
    /// What the system file says 32-bit floats are sent as.
    #[serde(default, skip_serializing_if = "TransferPrecision::is_full")]
    pub precision: TransferPrecision,
    /// Whether it can be used in both directions at once, by the system file.
    #[serde(default)]
    pub duplex: Duplex,
    /// Both directions, idle and busy, as the first host saw them.
    pub directions: Vec<Direction>,
}

/// The way of frames to a host, and of results from there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredFrames {
    /// The host.
    pub host: String,
    /// Both directions, idle, as this computer saw them.
    pub directions: Vec<Direction>,
}

impl MeasuredFrames {
    /// What frames cost the host and take on their way, as fields that its entry in the system file has. Results are
    /// taken to be as frames are, though sending costs less than receiving: they are smaller as a rule.
    pub fn document(&self) -> serde_json::Value {
        let arriving = || self.directions.iter().filter(|direction| direction.sends && !direction.is_busy);
        let most = |of: fn(&Direction) -> f64| arriving().map(of).fold(0.0, f64::max);
        let per_byte = most(|direction| direction.among_others.seconds_per_byte);
        let mut document = json!({
            "cpu_seconds_per_frame": most(|direction| direction.echo_cpu_seconds_per_message),
            "cpu_seconds_per_frame_byte": most(|direction| direction.echo_cpu_seconds_per_byte),
            "frame_latency_seconds": most(|direction| direction.alone.seconds),
        });
        if let (Some(document), true) = (document.as_object_mut(), per_byte > 0.0) {
            document.insert("frame_bytes_per_second".to_owned(), json!(1.0 / per_byte));
        }
        document
    }
}

impl MeasuredLink {
    /// The link as a system file has it, by what was measured while both hosts were idle: the slower direction counts.
    pub fn document(&self, when: &str) -> serde_json::Value {
        let idle = || self.directions.iter().filter(|direction| !direction.is_busy);
        let most = |of: fn(&Direction) -> f64| idle().map(of).fold(0.0, f64::max);
        let per_byte = most(|direction| direction.among_others.seconds_per_byte);
        let bytes_per_second = if per_byte > 0.0 { 1.0 / per_byte } else { 0.0 };
        let [one, other] = &self.hosts;
        // The meter receives where the echo sends.
        let cpu = |meter_sends: bool| {
            let with = |sends: bool| idle().filter(move |direction| direction.sends == sends);
            let meter = with(meter_sends).map(|direction| direction.meter_cpu_seconds_per_byte).fold(0.0, f64::max);
            let echo = with(!meter_sends).map(|direction| direction.echo_cpu_seconds_per_byte).fold(0.0, f64::max);
            json!({one: meter, other: echo})
        };

        let mut document = json!({
            "hosts": [one, other],
            "duplex": self.duplex,
            "latency_seconds": most(|direction| direction.alone.seconds),
            "bytes_per_second": bytes_per_second,
            "cpu_seconds_per_byte": cpu(false),
            "cpu_seconds_per_sent_byte": cpu(true),
            "cpu_seconds_per_message": {
                one: most(|direction| direction.meter_cpu_seconds_per_message),
                other: most(|direction| direction.echo_cpu_seconds_per_message),
            },
            "origin": format!("measured {when}, through dora-rs"),
        });
        if let (Some(document), false) = (document.as_object_mut(), self.precision.is_full()) {
            document.insert("precision".to_owned(), json!(self.precision));
        }
        document
    }
}

impl MeasuredSystem {
    /// Times for people.
    pub fn text(&self) -> String {
        let mut table = Table::new([
            ("from", Align::Left),
            ("to", Align::Left),
            ("ends", Align::Left),
            ("latency ms", Align::Right),
            ("R2", Align::Right),
            ("MB/s", Align::Right),
            ("R2", Align::Right),
            ("1 MiB ms", Align::Right),
            ("lost", Align::Right),
        ]);
        for MeasuredLink { hosts: [one, other], directions, .. } in &self.links {
            directions.iter().for_each(|direction| table.row(row([one, other], direction)));
        }
        for MeasuredFrames { host, directions } in &self.frames {
            directions.iter().for_each(|direction| table.row(row(["here", host], direction)));
        }
        table.to_string()
    }
}

/// What was measured in a direction between two ends, of which the first is the meter's.
fn row([one, other]: [&str; 2], direction: &Direction) -> [String; 9] {
    let (from, to) = if direction.sends { (one, other) } else { (other, one) };
    let large = direction.samples.iter().find(|sample| sample.bytes == SIZES[4]);
    [
        from.to_owned(),
        to.to_owned(),
        if direction.is_busy { "busy" } else { "idle" }.to_owned(),
        format!("{:.3}", direction.alone.seconds * 1e3),
        format!("{:.3}", direction.alone.r_squared),
        format!("{:.1}", 1e-6 / direction.among_others.seconds_per_byte.max(1e-15)),
        format!("{:.3}", direction.among_others.r_squared),
        large.map_or_else(|| "-".to_owned(), |sample| format!("{:.3}", sample.alone_seconds * 1e3)),
        direction.lost.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::meter::TransferLine;

    /// A direction in which a byte and a message cost the meter and the echo so many seconds.
    fn direction(sends: bool, [meter, echo]: [f64; 2], [meter_message, echo_message]: [f64; 2]) -> Direction {
        let line = |seconds: f64| TransferLine { seconds, seconds_per_byte: 1e-8, r_squared: 1.0 };
        Direction {
            sends,
            is_busy: false,
            lost: 0,
            messages: 9,
            samples: Vec::new(),
            alone: line(if sends { 1e-3 } else { -2e-3 }),
            among_others: line(0.0),
            meter_cpu_seconds_per_byte: meter,
            echo_cpu_seconds_per_byte: echo,
            meter_cpu_seconds_per_message: meter_message,
            echo_cpu_seconds_per_message: echo_message,
        }
    }

    #[test]
    fn what_was_measured_comes_to_the_ends_that_pay_it() {
        // `a` sends for 1 and receives for 3, `b` receives for 2 and sends for 4.
        let directions = vec![direction(true, [1.0, 2.0], [10.0, 20.0]), direction(false, [3.0, 4.0], [11.0, 19.0])];
        let (precision, duplex) = (TransferPrecision::F32, Duplex::Full);
        let hosts = ["a", "b"].map(str::to_owned);
        let link = MeasuredLink { hosts, precision, duplex, directions: directions.clone() }.document("today");
        assert_eq!(link["cpu_seconds_per_sent_byte"], json!({"a": 1.0, "b": 4.0}));
        assert_eq!(link["cpu_seconds_per_byte"], json!({"a": 3.0, "b": 2.0}));
        assert_eq!(link["cpu_seconds_per_message"], json!({"a": 11.0, "b": 20.0}));
        assert_eq!(link["latency_seconds"], json!(1e-3), "the longer of both, and none is negative");

        let costs = json!({
            "cpu_seconds_per_frame": 20.0, "cpu_seconds_per_frame_byte": 2.0, "frame_latency_seconds": 1e-3,
        });
        let mut frames = MeasuredFrames { host: "b".to_owned(), directions };
        assert_eq!(frames.document(), costs, "a byte that takes no time has no bandwidth");
        frames.directions[0].among_others.seconds_per_byte = 0.5;
        assert_eq!(frames.document()["frame_bytes_per_second"], json!(2.0));
    }
}
