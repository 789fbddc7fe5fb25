//! What a page looks like to a browser.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_report::{
    ContestBar, Fact, FrontRow, GanttBar, Number, Part, ReportChapter, ReportPage, ReportSection, Table, Tone,
    contest_drawing, front_drawing, gantt_drawing, network_drawing, processor_lanes,
};
use millstream_schedule::{Replica, Schedule, Stage};

fn schedule(operators: &[OperatorId], cut: usize) -> Schedule {
    let replica = |cluster: &str, core, operators: &[OperatorId]| {
        Replica::single(Processor::new(cluster, [core]), operators.to_vec())
    };
    let (front, back) = operators.split_at(cut);
    let stages = vec![
        Stage { replicas: vec![replica("B", 4, front), replica("B", 5, front)] },
        Stage { replicas: vec![replica("s", 0, back)] },
    ];
    Schedule { stages }
}

fn front() -> Vec<FrontRow> {
    let row = |configuration: &str, period_seconds, latency_seconds, best: &[&str]| FrontRow {
        configuration: configuration.into(),
        period_seconds,
        latency_seconds,
        joules_per_frame: None,
        is_measured: false,
        chosen_for: best.iter().map(|own| (*own).to_owned()).collect(),
    };
    vec![
        row("B2", 0.02, 0.02, &["latency"]),
        row("B1-B1", 0.016, 0.03, &[]),
        row("(B1|B1)-s1", 0.01, 0.04, &["throughput"]),
    ]
}

fn page(parts: Vec<Part>) -> String {
    let section = ReportSection::new("A <section>", parts);
    let chapters = vec![ReportChapter { title: "alexnet".into(), sections: vec![section] }];
    let page = ReportPage { title: "A page".into(), lead: "It has all".into(), chapters, footer: "Made now".into() };
    page.to_html()
}

#[test]
fn everything_is_on_the_page() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let schedule = schedule(model.graph().order(), 7);
    let bar = |lane, frame, start_seconds, end_seconds| GanttBar { lane, frame, start_seconds, end_seconds };
    let bars = [bar(0, 0, 0.0, 0.02), bar(1, 1, 0.0, 0.02), bar(2, 0, 0.02, 0.03), bar(2, 1, 0.03, 0.04)];
    let mut table = Table::new([("what", millstream_report::Align::Left), ("ms", millstream_report::Align::Right)]);
    table.row(["<b>".into(), "1.5".into()]);
    let number = Number { label: "rate".into(), value: "100".into(), remark: "as predicted".into(), tone: Tone::Good };
    let contender = |is_ours, value| ContestBar {
        name: "a contender".into(),
        is_ours,
        value,
        text: format!("{value:.1}"),
        rounds: vec![value - 1.0, value + 1.0],
    };
    let contest =
        contest_drawing(&[contender(true, 20.0), contender(false, 10.0)], "More is better", ["ours", "theirs"]);
    let html = page(vec![
        Part::Text("a < b".into()),
        Part::Numbers(vec![number]),
        Part::Facts(vec![Fact::new("Plain", "one\ntwo"), Fact::warning("Disturbed", "by others")]),
        Part::Table(table),
        Part::Drawing(front_drawing(&front(), Some(2), 0.009).unwrap()),
        Part::Drawing(gantt_drawing(&processor_lanes(&schedule), &bars, "Frames").unwrap()),
        Part::Drawing(contest.unwrap()),
        Part::Drawing(network_drawing(model.graph(), &schedule)),
    ]);

    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    insta::assert_snapshot!(format!("{head}{body}").replace('>', ">\n"));
}

#[test]
fn what_can_not_be_drawn_is_left_out() {
    assert_eq!(gantt_drawing(&["one".into()], &[], "Frames"), None);
    assert_eq!(front_drawing(&[], None, 0.01), None);
    assert_eq!(contest_drawing(&[], "More is better", ["ours", "theirs"]), None);
    let broken = FrontRow { latency_seconds: f64::NAN, ..front().remove(0) };
    assert_eq!(front_drawing(&[broken], None, 0.01), None);
    // A front of one point, with a bound that is far away, is one.
    let single = front_drawing(&front()[..1], Some(0), 1e-9).unwrap();
    assert!(single.svg.contains("<circle") && !single.svg.contains("no schedule is above"), "{}", single.svg);
}

/// Points of one configuration differ in where stages end; only one of them was chosen.
#[test]
fn one_point_of_a_front_is_chosen() {
    let rows: Vec<FrontRow> =
        [0.02, 0.03].map(|latency_seconds| FrontRow { latency_seconds, ..front().remove(1) }).into();
    let drawing = front_drawing(&rows, Some(1), 0.009).unwrap();
    assert_eq!(drawing.svg.matches("class=\"ring\"").count(), 1);
    let chosen: Vec<&str> =
        drawing.legend.iter().map(|own| own.1.as_str()).filter(|own| own.contains("chosen")).collect();
    assert_eq!(chosen.len(), 1);
    assert!(chosen[0].contains("30.0 ms"), "{chosen:?}");
}

#[test]
fn one_box_is_not_called_boxes() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let order = model.graph().order();
    let whole = Replica::single(Processor::new("B", [0]), order.to_vec());
    let one = network_drawing(model.graph(), &Schedule { stages: vec![Stage { replicas: vec![whole] }] });
    assert!(one.caption.starts_with(&format!("{} operators in 1 box and 1 layer.", order.len())), "{}", one.caption);
    let two = network_drawing(model.graph(), &schedule(order, 7));
    assert!(two.caption.contains(" boxes and "), "{}", two.caption);
}

/// As large as real ones of a thousand operators.
#[test]
fn a_large_network_is_folded_and_drawn_in_a_moment() {
    let model = millstream_zoo::build("inception-resnet-v2").unwrap();
    let drawing = network_drawing(model.graph(), &schedule(model.graph().order(), 300));
    assert!(drawing.svg.matches("<rect").count() <= 120 && drawing.svg.len() < 100_000, "{}", drawing.svg.len());
    assert_eq!(drawing.legend.len(), 2);
}
