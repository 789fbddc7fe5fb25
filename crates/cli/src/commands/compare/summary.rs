//! One row per network: our schedules beside the best of plain ONNX Runtime and OpenVINO; "ORT" is ONNX Runtime at its
//! best.

use millstream::{ContenderReport, EngineName, NetworkContest};
use millstream_report::{Align, Fact, Part, ReportChapter, ReportSection, Table, beside, milliseconds, rate_beside};

use super::tables::{of_most_frames, of_quickest_frames, over, quicker_than};
use crate::output;

/// Tables by frames each second and by the time of a frame, each with what its networks come to together.
pub(super) fn print(networks: &[NetworkContest]) {
    let summary = Summary::of(networks);
    output::line("Our schedule for throughput, network by network (ORT: the best of ONNX Runtime):\n");
    output::table(&summary.throughput);
    output::line(format!("\n{}", summary.throughput_together));
    output::line("\nOur schedule for latency:\n");
    output::table(&summary.latency);
    output::line(format!("\n{}", summary.latency_together));
    output::line("\nWhat these schedules are, and how they came out beside what was expected:\n");
    output::table(&summary.predictions);
    output::line("");
    output::line(summary.median_error);
}

/// The same as the first chapter of a page.
pub(super) fn chapter(networks: &[NetworkContest]) -> ReportChapter {
    let summary = Summary::of(networks);
    let section = |title: &str, table: Table, fact: Fact| {
        ReportSection::new(title, vec![Part::Table(table), Part::Facts(vec![fact])])
    };
    let sections = vec![
        section(
            "Our schedules for throughput (ORT: the best of ONNX Runtime)",
            summary.throughput,
            summary.throughput_together,
        ),
        section("Our schedules for latency", summary.latency, summary.latency_together),
        section(
            "What they are, and how they came out beside what was expected",
            summary.predictions,
            summary.median_error,
        ),
    ];
    ReportChapter { title: "All networks".to_owned(), sections }
}

/// What all networks come to.
struct Summary {
    throughput: Table,
    throughput_together: Fact,
    latency: Table,
    latency_together: Fact,
    predictions: Table,
    median_error: Fact,
}

impl Summary {
    fn of(networks: &[NetworkContest]) -> Self {
        let throughputs: Vec<Throughput<'_>> = networks.iter().filter_map(Throughput::of).collect();
        let latencies: Vec<Latency<'_>> = networks.iter().filter_map(Latency::of).collect();
        let median = |errors: Vec<f64>| {
            let errors: Vec<f64> = errors.into_iter().map(f64::abs).collect();
            millstream_predict::Summary::of(&errors).map_or(0.0, |summary| summary.median * 100.0)
        };
        let median_error = format!(
            "{:.1} % of the period, {:.1} % of the latency in the median",
            median(throughputs.iter().filter_map(|row| period_error(row.ours)).collect()),
            median(latencies.iter().filter_map(|row| latency_error(row.ours)).collect())
        );
        Self {
            throughput: throughput_table(&throughputs),
            throughput_together: Fact::new(
                "Together",
                together(throughputs.iter().map(|row| (row.network, row.ratio()))),
            ),
            latency: latency_table(&latencies),
            latency_together: Fact::new("Together", together(latencies.iter().map(|row| (row.network, row.ratio())))),
            predictions: prediction_table(&throughputs, &latencies),
            median_error: Fact::new("Expected", format!("missed by {median_error}")),
        }
    }
}

fn period_error(contender: &ContenderReport) -> Option<f64> {
    Some(contender.predicted_period_seconds? * contender.frames_per_second - 1.0)
}

fn latency_error(contender: &ContenderReport) -> Option<f64> {
    Some(contender.predicted_latency_seconds? / contender.measured_latency_seconds? - 1.0)
}

/// Who passed most frames.
struct Throughput<'a> {
    network: &'a str,
    ours: &'a ContenderReport,
    best: &'a ContenderReport,
    /// `None` where it was not among them.
    best_of_onnx_runtime: Option<&'a ContenderReport>,
}

impl<'a> Throughput<'a> {
    /// `None` without rivals.
    fn of(contest: &'a NetworkContest) -> Option<Self> {
        let ours = ours(contest, "throughput")?;
        Some(Self {
            network: &contest.network,
            ours,
            best: of_most_frames(ours, rivals(contest))?,
            best_of_onnx_runtime: of_most_frames(ours, rivals(contest).filter(is_onnx_runtime)),
        })
    }

    fn ratio(&self) -> f64 {
        self.ours.frames_over(self.best)
    }
}

/// Who had a frame done soonest.
struct Latency<'a> {
    network: &'a str,
    ours: &'a ContenderReport,
    best: &'a ContenderReport,
    /// `None` where it was not among them.
    best_of_onnx_runtime: Option<&'a ContenderReport>,
}

impl<'a> Latency<'a> {
    /// `None` without rivals.
    fn of(contest: &'a NetworkContest) -> Option<Self> {
        let ours = ours(contest, "latency")?;
        Some(Self {
            network: &contest.network,
            ours,
            best: of_quickest_frames(ours, rivals(contest))?,
            best_of_onnx_runtime: of_quickest_frames(ours, rivals(contest).filter(is_onnx_runtime)),
        })
    }

    fn ratio(&self) -> f64 {
        self.best.frame_time_over(self.ours)
    }
}

/// Our schedule for an objective; a schedule that is best for several of them is there once.
fn ours<'a>(contest: &'a NetworkContest, objective: &str) -> Option<&'a ContenderReport> {
    contest.contenders.iter().find(|contender| contender.rival.is_none() && contender.name.contains(objective))
}

fn rivals(contest: &NetworkContest) -> impl Iterator<Item = &ContenderReport> {
    contest.contenders.iter().filter(|contender| contender.rival.is_some())
}

fn is_onnx_runtime(rival: &&ContenderReport) -> bool {
    rival.rival == Some(EngineName::OnnxRuntime)
}

fn throughput_table(rows: &[Throughput<'_>]) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("frames/s", Align::Right),
        ("best rival", Align::Left),
        ("over it", Align::Right),
        ("over ORT", Align::Right),
    ]);
    for row in rows {
        table.row([
            row.network.to_owned(),
            format!("{:.1}", row.ours.frames_per_second),
            row.best.name.clone(),
            over(row.ours, row.best),
            row.best_of_onnx_runtime.map_or("-".to_owned(), |other| over(row.ours, other)),
        ]);
    }
    table
}

fn latency_table(rows: &[Latency<'_>]) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("frame ms", Align::Right),
        ("best rival", Align::Left),
        ("faster by", Align::Right),
        ("than ORT", Align::Right),
    ]);
    for row in rows {
        table.row([
            row.network.to_owned(),
            milliseconds(row.ours.median_frame_seconds),
            row.best.name.clone(),
            quicker_than(row.ours, row.best),
            row.best_of_onnx_runtime.map_or("-".to_owned(), |other| quicker_than(row.ours, other)),
        ]);
    }
    table
}

fn prediction_table(throughputs: &[Throughput<'_>], latencies: &[Latency<'_>]) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("for", Align::Left),
        ("stages", Align::Left),
        ("than expected", Align::Right),
    ]);
    for row in throughputs {
        let rate = row.ours.predicted_period_seconds;
        let words = rate.map_or("-".to_owned(), |period| rate_beside(row.ours.frames_per_second, 1.0 / period));
        table.row([row.network.to_owned(), "throughput".to_owned(), row.ours.configuration.clone(), words]);
    }
    for row in latencies {
        let times = row.ours.measured_latency_seconds.zip(row.ours.predicted_latency_seconds);
        let words = times.map_or("-".to_owned(), |(measured, predicted)| beside(measured, predicted));
        table.row([row.network.to_owned(), "latency".to_owned(), row.ours.configuration.clone(), words]);
    }
    table
}

/// Ratios to the best rivals of some networks, their geometric mean and the least.
fn together<'a>(ratios: impl Iterator<Item = (&'a str, f64)>) -> String {
    let ratios: Vec<(&str, f64)> = ratios.collect();
    let Some((network, least)) = ratios.iter().min_by(|one, other| one.1.total_cmp(&other.1)) else {
        return "no rival could be measured".to_owned();
    };
    let logarithms: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
    let mean = (logarithms / ratios.len() as f64).exp();
    format!("{mean:.2}x over the best rivals (geometric mean); the least is {least:.2}x ({network})")
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    pub(in super::super) fn contender(
        name: &str,
        rival: Option<EngineName>,
        frames_per_second: f64,
        frame_seconds: f64,
    ) -> ContenderReport {
        ContenderReport {
            name: name.to_owned(),
            rival,
            configuration: "B1".to_owned(),
            schedule: None,
            in_order: true,
            is_one_at_a_time: false,
            predicted_period_seconds: None,
            predicted_latency_seconds: None,
            measured_latency_seconds: None,
            frames_per_second,
            frames_per_second_p25: frames_per_second,
            frames_per_second_p75: frames_per_second,
            rounds: vec![frames_per_second],
            disturbed_rounds: 0,
            median_frame_seconds: frame_seconds,
            frame_seconds_p25: frame_seconds,
            frame_seconds_p75: frame_seconds,
            frame_rounds: vec![frame_seconds],
            worst_frame_seconds: frame_seconds,
        }
    }

    fn contest() -> NetworkContest {
        let (ort, openvino) = (Some(EngineName::OnnxRuntime), Some(EngineName::OpenVino));
        NetworkContest {
            network: "net".to_owned(),
            contenders: vec![
                contender("millstream for throughput", None, 60.0, 0.040),
                contender("millstream for balanced, latency", None, 50.0, 0.020),
                contender("ONNX Runtime, all cores", ort, 30.0, 0.030),
                contender("ONNX Runtime, an instance per core", ort, 40.0, 0.050),
                contender("OpenVINO, LATENCY", openvino, 45.0, 0.022),
                contender("OpenVINO, THROUGHPUT", openvino, 75.0, 0.045),
            ],
        }
    }

    #[test]
    fn schedules_stand_beside_the_best_rival_of_their_objective() {
        let contest = contest();
        let throughput = Throughput::of(&contest).unwrap();
        assert_eq!((throughput.ours.frames_per_second, throughput.ratio()), (60.0, 0.8));
        assert_eq!(throughput.best.name, "OpenVINO, THROUGHPUT");
        assert_eq!(throughput.best_of_onnx_runtime.unwrap().frames_per_second, 40.0);
        let latency = Latency::of(&contest).unwrap();
        assert_eq!(latency.ours.median_frame_seconds, 0.020);
        assert_eq!(latency.best.name, "OpenVINO, LATENCY");
        assert_eq!(latency.ratio(), 0.022 / 0.020);
        assert_eq!(quicker_than(latency.ours, latency.best_of_onnx_runtime.unwrap()), "1.50x =");
    }

    /// The machine was twice as quick in some rounds.
    #[test]
    fn contenders_are_compared_round_by_round() {
        let mut contest = contest();
        let rounds = [[10.0, 20.0, 10.0, 20.0, 20.0], [11.0, 22.0, 11.0, 20.0, 10.0], [8.0, 16.0, 8.0, 16.0, 16.0]];
        for (place, rounds) in [0, 2, 3].into_iter().zip(rounds) {
            contest.contenders[place].rounds = rounds.to_vec();
            contest.contenders[place].frame_rounds = rounds.map(|rate| 1.0 / rate).to_vec();
        }
        contest.contenders.truncate(4);
        // As much as the median of the rival that is behind in three of five.
        contest.contenders[3].frames_per_second = 1000.0;
        let throughput = Throughput::of(&contest).unwrap();
        assert_eq!((throughput.best.name.as_str(), throughput.ratio()), ("ONNX Runtime, all cores", 10.0 / 11.0));
        contest.contenders.swap(0, 1);
        contest.contenders[1].name = "millstream for latency".to_owned();
        contest.contenders.remove(0);
        let latency = Latency::of(&contest).unwrap();
        assert_eq!(latency.best.name, "ONNX Runtime, all cores");
        assert!((latency.ratio() - 10.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn networks_are_summed_up_without_onnx_runtime_too() {
        let mut contest = contest();
        contest.contenders.retain(|contender| contender.rival != Some(EngineName::OnnxRuntime));
        let (throughput, latency) = (Throughput::of(&contest).unwrap(), Latency::of(&contest).unwrap());
        assert_eq!((throughput.ratio(), latency.ratio()), (0.8, 0.022 / 0.020));
        let tables = [throughput_table(&[throughput]).to_string(), latency_table(&[latency]).to_string()];
        for table in tables {
            let row = table.lines().last().unwrap_or_default();
            assert!(row.contains("OpenVINO") && row.trim_end().ends_with("- |"), "{table}");
        }
    }

    #[test]
    fn ratios_of_networks_are_put_together_by_their_geometric_mean() {
        let text = together([("a", 2.0), ("b", 0.5), ("c", 1.0)].into_iter());
        assert_eq!(text, "1.00x over the best rivals (geometric mean); the least is 0.50x (b)");
        assert_eq!(together(std::iter::empty()), "no rival could be measured");
    }
}
