//! System files say what they should, and nothing impossible.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, BoardError, Duplex, Memory, Processor, System, SystemDocument, host_of};

/// What every board file of a host says but for its name.
fn board(name: &str) -> Result<Board, BoardError> {
    let mut document = millstream_test_support::board("B2#4+s2:400#0").to_document();
    document.name = name.to_owned();
    document.memory = Some(Memory { bytes_per_second: 1e9, bytes: None });
    Board::try_from(document)
}

const HOSTS: &str = r#"{"id": "rk", "board": "rk.json"}, {"id": "pi", "board": "pi.json", "clusters": ["B"]}"#;
const LINK: &str = r#"{"hosts": ["rk", "pi"], "latency_seconds": 2e-4, "bytes_per_second": 1e8,
    "cpu_seconds_per_byte": {"pi": 6e-10}, "origin": "measured"}"#;

fn read(hosts: &str, links: &str) -> Result<System, String> {
    let text = format!(
        r#"{{"format": "millstream-system", "version": 1, "name": "robot", "hosts": [{hosts}], "links": [{links}]}}"#
    );
    let document = SystemDocument::from_json(&text).map_err(|error| error.to_string())?;
    System::of(document, board).map_err(|error| error.to_string())
}

#[test]
fn hosts_become_one_board_with_names_and_cores_of_its_own() {
    let system = read(HOSTS, LINK).unwrap();
    let whole = system.board();
    let labels: Vec<&str> = whole.clusters().iter().map(|cluster| cluster.label.as_str()).collect();
    assert_eq!(labels, ["rk/B", "pi/B", "rk/s"]);
    let cores: Vec<u32> = whole.cores().map(|core| core.id.0).collect();
    assert_eq!(cores, [0, 1, 4, 5, 2, 3]);
    assert_eq!((whole.name(), whole.memory_bytes_per_second()), ("robot", None));
    assert_eq!(system.hosts()[0].in_system().memory_bytes_per_second(), Some(1e9));
    whole.check(&Processor::new("pi/B", [4, 5])).unwrap();
    assert!(whole.check(&Processor::new("pi/B", [3])).is_err());
    // And back.
    let pi = &system.hosts()[1];
    assert_eq!(pi.own(&Processor::new("pi/B", [5])), Some(Processor::new("B", [5])));
    assert_eq!(pi.own(&Processor::new("pi/B", [4])), Some(Processor::new("B", [4])));
    assert_eq!(pi.own(&Processor::new("rk/B", [0])), None);
    assert_eq!((host_of("pi/B"), host_of("B")), (Some("pi"), None));
    let link = system.link("pi", "rk").unwrap();
    assert_eq!((link.name().as_str(), link.duplex, link.cpu_seconds_per_byte), ("rk-pi", Duplex::Full, [0.0, 6e-10]));
    assert_eq!(link.cpu_seconds_per_sent_byte, [0.0, 6e-10], "as what is received, unless it is said");
    let sent = LINK.replacen("\"origin\"", "\"cpu_seconds_per_sent_byte\": {\"rk\": 1e-10, \"pi\": 0}, \"cpu_seconds_per_message\": {\"rk\": 1e-4}, \"origin\"", 1);
    let link = read(HOSTS, &sent).unwrap().links()[0].clone();
    assert_eq!((link.cpu_seconds_per_byte, link.cpu_seconds_per_sent_byte), ([0.0, 6e-10], [1e-10, 0.0]));
    assert_eq!(link.cpu_seconds_per_message, [1e-4, 0.0]);
    assert!(system.link("rk", "rk").is_none());
    assert_eq!(system.hosts()[0].cpu_seconds_per_frame_byte, 0.0);
    let costly = HOSTS.replacen("\"rk\",", "\"rk\", \"cpu_seconds_per_frame_byte\": 2e-9,", 1);
    assert_eq!(read(&costly, LINK).unwrap().hosts()[0].cpu_seconds_per_frame_byte, 2e-9);
}

/// Two hosts that have the same engine share what their system knows of it.
#[test]
fn a_provider_that_several_hosts_have_is_there_once() {
    let host = |id: &str| {
        format!(
            r#"{{"id": "{id}", "board": {{"format": "millstream-board", "version": 1, "name": "{id}", "clusters": [
                {{"label": "B", "capacity": 1024, "cores": [{{"id": 0}}]}}],
                "providers": [{{"engine": "xnnpack", "provider": "XnnpackExecutionProvider"}}]}}}}"#
        )
    };
    let system = read(&[host("rk"), host("pi")].join(", "), LINK).unwrap();
    assert_eq!(system.board().providers().len(), 1);
}

#[test]
fn an_inline_board_and_a_half_duplex_link_are_read() {
    let inline = r#"{"id": "x", "board": {"format": "millstream-board", "version": 1, "name": "x", "clusters": [
        {"label": "B", "capacity": 1024, "cores": [{"id": 0}]}]}}"#;
    let link = r#"{"hosts": ["x", "rk"], "latency_seconds": 0, "bytes_per_second": 1e8, "duplex": "half"}"#;
    let system = read(&format!(r#"{inline}, {{"id": "rk", "board": "rk"}}"#), link).unwrap();
    assert_eq!(system.links()[0].duplex, Duplex::Half);
    assert_eq!(system.hosts()[0].board.name(), "x");
    // Alone, a host needs no link.
    assert_eq!(read(inline, "").unwrap().hosts().len(), 1);
}

#[test]
fn what_is_wrong_is_named_with_a_remedy() {
    let message = |hosts: &str, links: &str| read(hosts, links).unwrap_err();
    let link = |from: &str, to: &str| LINK.replacen(from, to, 1);
    let costly = HOSTS.replacen("\"rk\",", "\"rk\", \"cpu_seconds_per_frame_byte\": -1e-9,", 1);
    let with = |fields: &str| HOSTS.replacen("\"rk\",", &format!("\"rk\", {fields},"), 1);

    let cases = [
        (message("", ""), "system file, hosts: is empty, a system needs a host"),
        (message(&HOSTS.replace("pi\"", "rk\""), LINK), "hosts[1].id: is 'rk', which another host is called as well"),
        (message(&HOSTS.replace("\"pi\"", "\"a/b\""), LINK), "hosts[1].id: is 'a/b', must be a letter and then"),
        (message(&HOSTS.replace("[\"B\"]", "[\"G\"]"), LINK), "hosts[1].clusters: names 'G', which board 'pi.json'"),
        (
            message(&HOSTS.replace("\"rk.json\"", "7"), LINK),
            "hosts[0].board: invalid type: integer `7`, expected the path of",
        ),
        (
            message(&HOSTS.replace("\"rk.json\"", "{\"name\": 7}"), LINK),
            "system file, hosts[0].board.name: invalid type",
        ),
        (message(HOSTS, ""), "links: has none to 'rk': nobody has measured how frames get there"),
        (message(HOSTS, &link("\"pi\"]", "\"po\"]")), "links[0].hosts: names 'po', which is no host; there are rk, pi"),
        (message(HOSTS, &link("\"pi\"]", "\"rk\"]")), "links[0].hosts: names 'rk' twice"),
        (message(HOSTS, &format!("{LINK}, {LINK}")), "links[1].hosts: is a second link between 'rk' and 'pi'"),
        (message(HOSTS, &link("1e8", "0")), "links[0].bytes_per_second: is 0, must be above 0"),
        (message(HOSTS, &link("2e-4", "-1")), "links[0].latency_seconds: is -1, must be a number from 0"),
        (message(HOSTS, &link("{\"pi\"", "{\"po\"")), "links[0].cpu_seconds_per_byte.po: is of 'po'"),
        (message(HOSTS, &link("6e-10", "-6")), "links[0].cpu_seconds_per_byte.pi: is -6"),
        (
            message(HOSTS, &link("per_byte\": {\"pi\"", "per_sent_byte\": {\"po\"")),
            "cpu_seconds_per_sent_byte.po: is of 'po'",
        ),
        (message(&with("\"frame_bytes_per_second\": 1e-300"), LINK), "hosts[0].frame_bytes_per_second: is 0.0"),
        (
            message(&with("\"frame_bytes_per_second\": -1"), LINK),
            "hosts[0].frame_bytes_per_second: is -1, must be above 0",
        ),
        (
            message(&with("\"frame_latency_seconds\": 1e6"), LINK),
            "hosts[0].frame_latency_seconds: is 1000000, must be a day at the most",
        ),
        (
            message(&HOSTS.replacen("\"rk\"", "\"outside\"", 1), LINK),
            "hosts[0].id: is 'outside', which is where frames",
        ),
        (message(&costly, LINK), "hosts[0].cpu_seconds_per_frame_byte: is -0.000000001, must be a number from 0"),
        (message(HOSTS, &link("\"origin\"", "\"speed\"")), "links[0].speed: unknown field"),
    ];
    for (said, expected) in cases {
        assert!(said.contains(expected), "{said}\n{expected}");
    }
}

/// A device that is driven in two ways is one in the system as well, unless the host has one driver only.
#[test]
fn drivers_of_one_device_stay_together() {
    let host = |clusters: &str| {
        format!(
            r#"{{"id": "rk", "board": {{"format": "millstream-board", "version": 1, "name": "rk", "clusters": [
                {{"label": "B", "capacity": 1024, "cores": [{{"id": 0}}]}}],
                "accelerators": [{{"label": "G", "kind": "gpu"}},
                    {{"label": "V", "kind": "gpu", "engine": "openvino", "same_device_as": "G"}}]}}{clusters}}}"#
        )
    };
    let device_of = |clusters: &str| {
        let system =
            read(&[host(clusters), r#"{"id": "pi", "board": "pi.json"}"#.to_owned()].join(", "), LINK).unwrap();
        let own = serde_json::to_string(&system.hosts()[0].board.to_document()).unwrap();
        assert!(Board::from_json(&own).is_ok(), "{own}");
        system.board().device_of("rk/V").to_owned()
    };
    assert_eq!(device_of(""), "rk/G");
    assert_eq!(device_of(r#", "clusters": ["B", "V"]"#), "rk/V");
}
