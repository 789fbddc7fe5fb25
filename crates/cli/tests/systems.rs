//! Several boards with links between them.

#![cfg(feature = "highs")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::Path;

use millstream_board::Board;
use millstream_schedule::BoardReference;
use serde_json::{Value, json};
use support::{Workplace, in_one_line};

/// Two boards on a link with so much bandwidth.
fn system(bytes_per_second: f64) -> String {
    format!(
        r#"{{"format": "millstream-system", "version": 1, "name": "two", "hosts": [
            {{"id": "rk", "board": "rk3588", "clusters": ["B"]}}, {{"id": "pi", "board": "raspberry-pi-5"}}],
            "links": [{{"hosts": ["rk", "pi"], "latency_seconds": 2e-4, "bytes_per_second": {bytes_per_second},
                "cpu_seconds_per_byte": {{"rk": 4e-10, "pi": 6e-10}}}}]}}"#
    )
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The schedule is checked, simulated and proven by the same file that it was planned with.
#[test]
fn a_system_is_planned_simulated_and_certified() {
    let workplace = Workplace::new();
    workplace.write("two.json", system(117e6));
    let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet"];
    let said = workplace.succeed(&[&arguments[..], &["--certificate", "certificate.json"]].concat());
    for part in
        ["squeezenet on two", "| division ", "| ours ", "| all on ", "| equal parts ", "| parts by memory ", "(exact)"]
    {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let report = parsed(&workplace.succeed(&[&arguments[..], &["--json"]].concat()));
    let predicted = report["schedule"]["predicted"]["period_seconds"].as_f64().unwrap();
    for rival in report["rivals"].as_array().unwrap() {
        // The objective may give up 1 % of the throughput for a shorter latency.
        assert!(rival["period_seconds"].as_f64().unwrap() * 1.01 >= predicted, "{rival}");
    }

    let simulate = ["simulate", "--system", "two.json", "--frames", "400", "--json"];
    let simulated = parsed(&workplace.succeed(&simulate));
    let period = simulated["simulated_period_seconds"].as_f64().unwrap();
    assert!((period / predicted - 1.0).abs() < 0.01, "{period} {predicted}");
    assert!((simulated["predicted_period_seconds"].as_f64().unwrap() / predicted - 1.0).abs() < 1e-6);
    let noisy = parsed(&workplace.succeed(&[&simulate[..], &["--noise", "20"]].concat()));
    assert!(noisy["simulated_period_seconds"].as_f64().unwrap() > period);
    let holds = workplace.succeed(&["certify", "--system", "two.json"]);
    assert!(holds.contains("The certificate holds for ") && holds.contains(": squeezenet on two."), "{holds}");
    assert!(in_one_line(&holds).contains("checked by following all of it"), "{holds}");
    // It is of these hosts.
    assert!(workplace.fail(&["simulate", "--system", "rk3588-raspberry-pi-5"]).contains("is for the board 'two'"));
}

/// Neither file can promise another shortest period than there is, nor leave its proof out.
#[test]
fn the_shortest_period_over_hosts_is_proven() {
    let workplace = Workplace::new();
    workplace.write("two.json", system(117e6));
    let schedule =
        ["schedule", "--system", "two.json", "--model", "zoo:squeezenet", "--certificate", "certificate.json"];
    let certify = ["certify", "--system", "two.json"];
    workplace.succeed(&schedule);
    let read = |name: &str| parsed(&std::fs::read_to_string(workplace.path(name)).unwrap());
    let (planned, certificate) = (read("schedule.json"), read("certificate.json"));
    let refuse = |planned: &Value, certificate: &Value, reason: &str| {
        workplace.write("other-schedule.json", planned.to_string());
        workplace.write("other-certificate.json", certificate.to_string());
        let others = ["--schedule", "other-schedule.json", "--certificate", "other-certificate.json"];
        let refused = workplace.fail(&[&certify[..], &others].concat());
        assert!(in_one_line(&refused).contains(reason), "{refused}");
    };

    let shortest = certificate["hosts"]["period_nanoseconds"].as_u64().unwrap();
    for (change, reason) in [(-1, "all take longer"), (1, "has a shorter period")] {
        let period = shortest.checked_add_signed(change).unwrap();
        let (mut planned, mut certificate) = (planned.clone(), certificate.clone());
        planned["predicted"]["searched"]["period_seconds"] = Value::from(period as f64 * 1e-9);
        refuse(&planned, &certificate, "shortest period over the hosts");
        certificate["hosts"]["period_nanoseconds"] = Value::from(period);
        refuse(&planned, &certificate, reason);
    }
    let mut unproven = certificate.clone();
    unproven["hosts"].take();
    unproven["unproven"] = planned["predicted"]["searched"].clone();
    refuse(&planned, &unproven, "no proof of it");

    // Nor can anything stand beside the proof that is none.
    unproven["hosts"] = certificate["hosts"].clone();
    refuse(&planned, &unproven, "its unproven bound");
    let mut of_a_board = certificate.clone();
    of_a_board["single_processors"] = serde_json::json!({"period_nanoseconds": 1, "blocks": 1, "reached": []});
    refuse(&planned, &of_a_board, "proves something of a single board");
    let (mut measured, mut of_measured) = (planned.clone(), certificate.clone());
    measured["predicted"]["is_measured"] = Value::from(true);
    of_measured["is_measured"] = Value::from(true);
    refuse(&measured, &of_measured, "nothing is measured");

    // Without a host there is less to follow, and what is left out is said.
    let said = in_one_line(&workplace.succeed(&[&schedule[..], &["--without", "pi"]].concat()));
    assert!(said.contains(" ms without pi (exact)") && said.contains("and no host was left out"), "{said}");
    let holds = in_one_line(&workplace.succeed(&certify));
    assert!(holds.contains("Nothing runs on pi."), "{holds}");
    let (mut of_both, without_pi) = (planned.clone(), read("certificate.json"));
    of_both["predicted"]["searched"] = read("schedule.json")["predicted"]["searched"].clone();
    let mut leaves_out = certificate.clone();
    leaves_out["hosts"] = without_pi["hosts"].clone();
    refuse(&of_both, &leaves_out, "leaves out the host 'pi'");
    let mut of_all = read("certificate.json");
    of_all["hosts"]["without"] = serde_json::json!([]);
    refuse(&read("schedule.json"), &of_all, "has a shorter period");
    of_all["hosts"]["without"] = serde_json::json!(["po"]);
    refuse(&read("schedule.json"), &of_all, "a host 'po'");
}

/// Frames that are costly to take in make the first stage longer, and are work for the simulation as well.
#[test]
fn what_frames_cost_counts_in_plans_simulations_and_certificates() {
    let workplace = Workplace::new();
    let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet"];
    let free = system(117e6);
    let costly = free.replace("\"id\": \"rk\",", "\"id\": \"rk\", \"cpu_seconds_per_frame_byte\": 1e-8,");
    let more_for = |division: &str| {
        let [free, costly] = [&free, &costly].map(|text| {
            workplace.write("two.json", text);
            let latency = ["--division", division, "--objective", "latency", "--json"];
            let report = parsed(&workplace.succeed(&[&arguments[..], &latency].concat()));
            report["schedule"]["predicted"]["latency_seconds"].as_f64().unwrap()
        });
        costly - free
    };

    // An image of 3 x 224 x 224 floats comes in, and a thousand of them go out: with equal parts, from the other host.
    let (image, results) = (4.0 * 150_528.0, 4.0 * 1000.0);
    assert!((more_for("rk") - 1e-8 * (image + results)).abs() < 1e-6, "{}", more_for("rk"));
    assert!((more_for("equal") - 1e-8 * image).abs() < 1e-6, "{}", more_for("equal"));

    let certified = ["--division", "rk", "--certificate", "certificate.json"];
    let said = workplace.succeed(&[&arguments[..], &certified].concat());
    assert!(
        in_one_line(&said).contains("taking a frame in costs rk 6.02 ms, giving its results out costs rk 0.040 ms"),
        "{said}"
    );
    let simulated = workplace.succeed(&["simulate", "--system", "two.json", "--frames", "400"]);
    assert!(simulated.contains("as predicted"), "{simulated}");
    assert!(workplace.succeed(&["certify", "--system", "two.json"]).contains("The certificate holds for "));
}

/// Frames that come to a host over a slow way can't be faster than that, so another host takes them in.
#[test]
fn the_way_of_frames_from_outside_is_one_more_link() {
    let workplace = Workplace::new();
    let way = |bytes_per_second: f64| {
        format!("\"frame_bytes_per_second\": {bytes_per_second}, \"frame_latency_seconds\": 2e-4")
    };
    let text = system(117e6).replace("\"id\": \"rk\",", &format!("\"id\": \"rk\", {},", way(1e7)));
    workplace.write("two.json", text.replace("\"id\": \"pi\",", &format!("\"id\": \"pi\", {},", way(1e8))));
    let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet"];
    let planned = parsed(&workplace.succeed(&[&arguments[..], &["--json"]].concat()));
    let configuration = planned["schedule"]["configuration"].as_str().unwrap();
    assert!(configuration.trim_start_matches('(').starts_with("pi/"), "{configuration}");

    // An image of 3 x 224 x 224 floats in 60.2 ms.
    let all_on_rk = [&arguments[..], &["--division", "rk", "--certificate", "certificate.json"]].concat();
    let told = in_one_line(&workplace.succeed(&all_on_rk));
    assert!(told.contains("the link outside-rk is the bottleneck: 16.6 frames/s, with 602 kB a frame"), "{told}");
    assert!(
        told.contains("A frame is there 60.4 ms after it was sent to rk, and occupies the way for 60.2 ms"),
        "{told}"
    );
    assert!(workplace.succeed(&["certify", "--system", "two.json"]).contains("The certificate holds for "));
    let simulate = |more: &[&str]| {
        let simulate = ["simulate", "--system", "two.json", "--frames", "200", "--json"];
        let report = parsed(&workplace.succeed(&[&simulate[..], more].concat()));
        assert_eq!(report["unfinished"], 0);
        report["simulated_period_seconds"].as_f64().unwrap()
    };
    let period = 4.0 * 150_528.0 / 1e7;
    assert!((simulate(&[]) / period - 1.0).abs() < 1e-3);
    assert!((simulate(&["--speed", "1ms:outside-rk:0.5"]) / period - 2.0).abs() < 0.02);
    let message = workplace.fail(&["simulate", "--system", "two.json", "--speed", "1s:outside-xx:0.5"]);
    assert!(message.contains("board 'two' has no outside-xx"), "{message}");
}

#[test]
fn a_slow_link_keeps_everything_on_one_host_and_a_fast_one_does_not() {
    let workplace = Workplace::new();
    let configuration = |bytes_per_second: f64| {
        workplace.write("two.json", system(bytes_per_second));
        let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet", "--json"];
        let report = parsed(&workplace.succeed(&arguments));
        (report["schedule"]["configuration"].as_str().unwrap().to_owned(), report["bottleneck_link"].clone())
    };
    let (fast, bottleneck) = configuration(1e9);
    assert!(fast.contains("rk/") && fast.contains("pi/"), "{fast}");
    assert_eq!(bottleneck, Value::Null);
    let (slow, _) = configuration(1e6);
    assert!(!(slow.contains("rk/") && slow.contains("pi/")), "{slow}");
}

#[test]
fn hosts_are_lost_and_links_slow_down_in_simulations() {
    let workplace = Workplace::new();
    workplace.write("two.json", system(1e9));
    workplace.succeed(&["schedule", "--system", "two.json", "--model", "zoo:squeezenet"]);
    let run = |more: &[&str]| {
        let simulate = ["simulate", "--system", "two.json", "--frames", "300", "--json"];
        parsed(&workplace.succeed(&[&simulate[..], more].concat()))
    };
    assert_eq!(run(&[])["unfinished"], 0);
    assert!(run(&["--lose", "500ms:pi"])["unfinished"].as_u64().unwrap() > 0);
    assert_eq!(run(&["--lose", "500ms:pi", "--restore", "1s:pi"])["unfinished"], 0);
    let alone =
        ["schedule", "--system", "two.json", "--model", "zoo:squeezenet", "-o", "alone.json", "--without", "pi"];
    let said = workplace.succeed(&alone);
    assert!(!said.contains("pi/") && said.contains("| all on rk "), "{said}");
    assert_eq!(run(&["--lose", "500ms:pi", "--fallback", "alone.json"])["unfinished"], 0);

    // A schedule that needs what was lost is no help.
    let lost = run(&["--lose", "500ms:pi", "--fallback", "schedule.json"])["unfinished"].clone();
    assert_eq!(lost, run(&["--lose", "500ms:pi"])["unfinished"]);
    let message = workplace.fail(&["simulate", "--system", "two.json", "--lose", "1s:4"]);
    assert!(message.contains("core 4 says nothing; its hosts are rk, pi"), "{message}");
    let both = [&alone[..8], &["rk", "--without", "pi"]].concat();
    assert!(workplace.fail(&both).contains("no host is left to plan for"));
    workplace.succeed(&[&alone[..8], &["pi", "--without", "pi"]].concat());
    assert!(workplace.fail(&[&alone[..8], &["xx"]].concat()).contains("the system has no host 'xx', only rk, pi"));
    let period = |report: &Value| report["simulated_period_seconds"].as_f64().unwrap();
    assert!(period(&run(&["--speed", "1ms:rk-pi:0.01"])) > 2.0 * period(&run(&[])));
    let message = workplace.fail(&["simulate", "--system", "two.json", "--speed", "1s:rk-xx:0.5"]);
    assert!(message.contains("board 'two' has no rk-xx"), "{message}");
    assert!(workplace.fail(&["simulate", "--system", "two.json", "--lose", "1s:xx"]).contains("has no accelerator xx"));
}

#[test]
fn what_a_system_can_not_be_is_told() {
    let workplace = Workplace::new();
    let message = |text: &str, more: &[&str]| {
        workplace.write("two.json", text);
        workplace.fail(&[&["schedule", "--system", "two.json", "--model", "zoo:tiny-darknet"], more].concat())
    };
    let whole = system(1e8);
    let with_way = |fields: &str| whole.replace("\"id\": \"rk\",", &format!("\"id\": \"rk\", {fields},"));
    let cases = [
        (whole.replace("\"pi\", \"board\"", "\"rk\", \"board\""), "hosts[1].id: is 'rk', which another host is called"),
        (whole.replace("[\"rk\", \"pi\"]", "[\"rk\", \"po\"]"), "links[0].hosts: names 'po', which is no host"),
        (system(0.0), "links[0].bytes_per_second: is 0, must be above 0"),
        (with_way("\"frame_bytes_per_second\": 0"), "hosts[0].frame_bytes_per_second: is 0, must be above 0"),
        (with_way("\"frame_latency_seconds\": -1"), "hosts[0].frame_latency_seconds: is -1, must be a number from 0"),
        (whole.replace("raspberry-pi-5", "none.json"), "cannot read none.json"),
        (whole.replace("millstream-system", "millstream-board"), "not a system file"),
        (whole.split("\"links\"").next().unwrap().replace("}],", "}], \"links\": []}"), "links: has none to 'rk'"),
    ];
    for (text, expected) in cases {
        let said = message(&text, &[]);
        assert!(said.contains("two.json") && said.contains(expected), "{said}\n{expected}");
    }

    let said = message(&whole, &["--objective", "energy"]);
    assert!(said.contains("don't count energy"), "{said}");
    assert!(message(&whole, &["--board", "rk3588"]).contains("cannot be used with"));
    let inline =
        whole.replace("\"raspberry-pi-5\"", &workplace.succeed(&["board", "--board", "raspberry-pi-5", "--json"]));
    assert!(message(&inline, &[]).contains("host 'pi' has a board of its own; say in 'cost'"));
    let costed = inline.replace("\"id\": \"pi\",", "\"id\": \"pi\", \"cost\": \"raspberry-pi-5\",");
    workplace.write("two.json", costed);
    workplace.succeed(&["schedule", "--system", "two.json", "--model", "zoo:tiny-darknet"]);
    assert!(
        workplace
            .fail(&["schedule", "--system", "rk3588-raspberry-pi"])
            .contains("did you mean rk3588-raspberry-pi-5?")
    );
}

/// Systems of the papers: each place of a chiplet system, and each cluster of a Jetson TX2, is a host.
#[test]
fn every_built_in_system_is_planned_for_and_proven() {
    let workplace = Workplace::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/systems");
    let names = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".json").map(str::to_owned));
    let mut count = 0;
    for name in names {
        count += 1;
        let schedule = ["schedule", "--system", &name, "--model", "zoo:alexnet", "--certificate", "certificate.json"];
        let report = parsed(&workplace.succeed(&[&schedule[..], &["--json"]].concat()));
        let [period, bound] = ["period_seconds", "lower_bound_period_seconds"]
            .map(|field| report["schedule"]["predicted"][field].as_f64().unwrap());
        assert!(bound <= period && period > 0.0, "{name}: {bound} {period}");
        let holds = workplace.succeed(&["certify", "--system", &name]);
        assert!(in_one_line(&holds).contains("checked by following all of it"), "{name}: {holds}");
    }
    assert_eq!(count, 10);
}

/// A board of the built-in ones with so much memory.
fn with_memory(name: &str, bytes: u64) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boards").join(name);
    let mut board = parsed(&std::fs::read_to_string(path).unwrap());
    board["memory"]["bytes"] = bytes.into();
    board
}

/// Memories that have no room for what would be best: nothing is called exact then, and nothing that is usually done is
/// better.
#[test]
fn narrow_memories_take_the_claim_away_and_not_the_quality() {
    let workplace = Workplace::new();
    let mut narrow = 0;
    for (rk, pi) in [(12, 11), (14, 11), (14, 18), (17, 24), (4000, 4000)] {
        let mut document = parsed(&system(117e6));
        document["hosts"] = serde_json::json!([
            {"id": "rk", "cost": "rk3588", "board": with_memory("rk3588.json", rk * 1_000_000)},
            {"id": "pi", "cost": "raspberry-pi-5", "board": with_memory("raspberry-pi-5.json", pi * 1_000_000)}
        ]);
        workplace.write("two.json", document.to_string());
        let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet"];
        let report = parsed(&workplace.succeed(&[&arguments[..], &["--json"]].concat()));
        let front = report["front"].as_array().unwrap();
        let least = front.iter().map(|point| point["period_seconds"].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
        for rival in report["rivals"].as_array().unwrap() {
            let period = rival["period_seconds"].as_f64().unwrap_or(f64::INFINITY);
            assert!(period >= least, "{rk} {pi}: {rival}");
        }
        let is_exact = report["schedule"]["predicted"]["searched"].is_object();
        let said = workplace.succeed(&arguments);
        assert_eq!((said.contains("(exact)"), said.contains("not proven")), (is_exact, !is_exact), "{said}");
        narrow += usize::from(!is_exact);
    }
    assert_eq!(narrow, 4);
}

/// What others do is held to the same limits and compared in what was asked for.
#[test]
fn rivals_keep_to_the_limits_and_are_compared_in_what_counts() {
    let workplace = Workplace::new();
    workplace.write("two.json", system(117e6));
    let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet", "--objective"];
    let limited =
        parsed(&workplace.succeed(&[&arguments[..], &["throughput", "--max-latency", "15ms", "--json"]].concat()));
    for rival in limited["rivals"].as_array().unwrap() {
        assert!(rival["latency_seconds"].as_f64().is_none_or(|latency| latency <= 0.015), "{rival}");
    }
    let said = workplace.succeed(&[&arguments[..], &["latency"]].concat());
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let row = |name: &str| cells(said.lines().find(|line| line.starts_with(name)).unwrap());
    let (ours, equal) = (row("| ours "), row("| equal parts "));
    let number = |cells: &[String], from_end: usize| -> f64 {
        cells[cells.len() - from_end].trim_end_matches('x').parse().unwrap()
    };
    let ratio = number(&equal, 3) / number(&ours, 3);
    assert!((number(&equal, 2) - ratio).abs() < 0.02, "{said}");
}

/// 8 bits are a quarter of 32, and all else in the way of a frame stays as it is.
#[test]
fn values_of_fewer_bits_take_links_for_less_time() {
    let workplace = Workplace::new();
    let planned = |precision: &str| {
        let document =
            system(3e6).replace("\"latency_seconds\"", &format!("\"precision\": \"{precision}\", \"latency_seconds\""));
        workplace.write("two.json", document);
        // The same cut, whatever is sent.
        let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet", "--division", "equal"];
        let said = in_one_line(&workplace.succeed(&arguments));
        (parsed(&workplace.succeed(&[&arguments[..], &["--json"]].concat())), said)
    };
    let (whole, said) = planned("f32");
    assert!(!said.contains("Precision:"), "{said}");
    let of = |report: &Value, field: &str| report["crossings"][0][field].as_f64().unwrap();
    for (precision, part) in [("f16", 2.0), ("int8", 4.0)] {
        let (report, said) = planned(precision);
        assert_eq!(of(&report, "bytes") * part, of(&whole, "bytes"));
        assert!((of(&report, "occupied_seconds") * part / of(&whole, "occupied_seconds") - 1.0).abs() < 1e-4);
        assert_eq!(report["crossings"][0]["precision"], precision);
        assert!(said.contains(&format!("Precision: over rk-pi, 32-bit floats go as {precision}")), "{said}");
        // A link that is the bottleneck passes as many more frames, in a simulation as well.
        let simulated = parsed(&workplace.succeed(&["simulate", "--system", "two.json", "--frames", "300", "--json"]));
        let ratio = simulated["simulated_period_seconds"].as_f64().unwrap() / of(&report, "occupied_seconds");
        assert!((ratio - 1.0).abs() < 0.01, "{precision}: {ratio}");
    }
    workplace
        .write("two.json", system(3e6).replace("\"latency_seconds\"", "\"precision\": \"f8\", \"latency_seconds\""));
    let message = workplace.fail(&["schedule", "--system", "two.json"]);
    assert!(message.contains("two.json") && message.contains("f8"), "{message}");
}

/// The same numbers as in the table that stands beside the best.
#[test]
fn a_network_is_divided_as_others_would() {
    let workplace = Workplace::new();
    workplace.write("two.json", system(117e6));
    let arguments = ["schedule", "--system", "two.json", "--model", "zoo:squeezenet"];
    let report = |division: &[&str]| parsed(&workplace.succeed(&[&arguments[..], &["--json"], division].concat()));
    let best = report(&[]);
    for rival in best["rivals"].as_array().unwrap() {
        let (division, algorithm) = match rival["name"].as_str().unwrap() {
            "equal parts" => ("equal", "equal-parts"),
            "parts by memory" => ("memory", "parts-by-memory"),
            host => (host.strip_prefix("all on ").unwrap(), "one-host"),
        };
        let divided = report(&["--division", division]);
        assert_eq!(divided["schedule"]["predicted"]["period_seconds"], rival["period_seconds"], "{division}");
        assert_eq!(divided["schedule"]["configuration"], rival["configuration"]);
        assert_eq!(divided["schedule"]["algorithm"], algorithm);
    }
    let said = in_one_line(&workplace.succeed(&[&arguments[..], &["--division", "pi"]].concat()));
    assert!(
        said.contains("the shortest period with the division that was asked for (pi)") && !said.contains("(exact)"),
        "{said}"
    );
    let fail = |more: &[&str]| workplace.fail(&[&arguments[..], more].concat());
    assert!(fail(&["--division", "po"]).contains("the system has no host 'po', only rk, pi"));
    assert!(fail(&["--division", "pi", "--without", "pi"]).contains("'pi' is both left out and to run everything"));
}

/// Two hosts of a core and a graphics device each: the core is quick for small operators, the device for large ones.
fn with_devices(workplace: &Workplace) {
    let board = json!({
        "format": "millstream-board", "version": 1, "name": "x", "accelerators": [{"label": "G", "kind": "gpu"}],
        "clusters": [{"label": "B", "core_type": "c", "capacity": 1024, "cores": [{"id": 0}], "operating_points": []}],
    });
    let terms = |per_operator: f64, per_mac: f64| {
        json!({
            "terms": [{"name": "operators", "seconds": per_operator}, {"name": "macs", "seconds": per_mac}],
            "samples": 0, "r_squared": 0.0, "training_range": {"macs": [0, 0], "bytes": [0, 0]},
        })
    };
    let fingerprint = BoardReference::of(&Board::from_json(&board.to_string()).unwrap()).fingerprint;
    let costs = json!({
        "format": "millstream-cost", "version": 1, "board": board, "board_fingerprint": fingerprint,
        "provenance": {"tool_version": "0.1.0", "created": "2026-11-30T00:00:00Z"},
        "processors": [{
            "processor": {"cluster": "B", "count": 1}, "cache_bytes": 1_u64 << 40, "families": [],
            "pooled": terms(1e-6, 1e-8),
        }],
        "accelerators": [{"label": "G", "model": {"terms": terms(1e-3, 1e-12)}}],
        "fusions": [], "transfers": [], "power": [],
    });
    let host = |id: &str| json!({"id": id, "board": "board.json", "cost": "costs.json"});
    let link = json!({"hosts": ["a", "b"], "latency_seconds": 1e-3, "bytes_per_second": 1e5});
    let system = json!({
        "format": "millstream-system", "version": 1, "name": "two", "hosts": [host("a"), host("b")], "links": [link],
    });

    workplace.write("board.json", board.to_string());
    workplace.write("costs.json", costs.to_string());
    workplace.write("two.json", system.to_string());
}

/// What is proven is of pipelines without teams; a schedule with one may be faster, and both the search and the
/// certificate say so.
#[test]
fn teams_of_a_host_are_planned_simulated_and_told_apart_from_what_is_proven() {
    let workplace = Workplace::new();
    with_devices(&workplace);
    let arguments = ["schedule", "--system", "two.json", "--model", "zoo:googlenet"];
    let said = workplace.succeed(&[&arguments[..], &["--certificate", "certificate.json"]].concat());
    let told = in_one_line(&said);
    assert!(said.contains("Chosen for throughput: b/B1+b/G1-a/G1") || said.contains("a/B1+a/G1-b/G1"), "{said}");
    assert!(told.contains("With processors that work on the same frame, this schedule's is"), "{said}");

    let schedule = parsed(&std::fs::read_to_string(workplace.path("schedule.json")).unwrap());
    let number = |place: &str| schedule.pointer(place).unwrap().as_f64().unwrap();
    let (predicted, proven) = (number("/predicted/period_seconds"), number("/predicted/searched/period_seconds"));
    assert!(predicted < 0.99 * proven, "{predicted} {proven}");
    let holds = in_one_line(&workplace.succeed(&["certify", "--system", "two.json"]));
    assert!(holds.contains("This schedule is none of these: processors of a host work on the same frame."), "{holds}");
    let simulated = parsed(&workplace.succeed(&["simulate", "--system", "two.json", "--frames", "300", "--json"]));
    let period = simulated["simulated_period_seconds"].as_f64().unwrap();
    assert!((period / predicted - 1.0).abs() < 0.01, "{period} {predicted}");

    // With next to no effort no team is found that is worth it.
    let modest = workplace.succeed(&[&arguments[..], &["--search-effort", "0.001"]].concat());
    assert!(!modest.contains("With processors that work on the same frame"), "{modest}");
}
