//! Every JSON document that is read: it is refused, or it can be used and written again as it was.

mod edited;

use std::fmt::Debug;
use std::sync::LazyLock;

use millstream_board::{Board, BoardDocument, Provenance};
use millstream_certify::{Certificate, NetworkBlocks, check_single_processors, check_throughput};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_predict::calibration::{MeasuredNetwork, Measurements, calibrate};
use millstream_predict::{CostModels, Profile, fit};
use millstream_schedule::{Schedule, ScheduleDocument, ScheduleSetDocument, SizesDocument};
use millstream_sim::{SimulationSettings, simulate};
use serde::Serialize;
use serde_json::Value;

pub(crate) use edited::text;

use crate::network::{SETTING, Setting};

/// Documents that edits begin with.
macro_rules! sound {
    ($($path:literal),+) => {{
        static SOUND: LazyLock<Vec<Value>> = LazyLock::new(|| {
            [$(include_str!($path)),+].into_iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
        });
        &SOUND
    }};
}

/// What is written of a document is read as the same document.
fn written<D: Serialize, E: Debug>(document: &D, read: impl Fn(&str) -> Result<D, E>) {
    let encode = |document: &D| serde_json::to_string(document).unwrap_or_default();
    let first = encode(document);
    match read(&first) {
        Ok(again) => assert_eq!(encode(&again), first, "written and read again"),
        Err(error) => unreachable!("what was written can't be read: {error:?}\n{first}"),
    }
}

pub(crate) fn board(data: &[u8]) {
    let sound = sound!("../../../fixtures/boards/khadas-vim3.json", "../../../fixtures/boards/rk3588.json");
    let Some(Ok(board)) = text(data, sound).map(|text| Board::from_json(&text)) else { return };
    let document: BoardDocument = board.to_document();
    let text = serde_json::to_string(&document).unwrap_or_default();
    assert_eq!(Board::from_json(&text).ok().as_ref(), Some(&board), "a board is written as it is");
    assert!(board.processor_classes().count() >= board.clusters().len());
    let _ = board.fingerprint();
}

pub(crate) fn cost_models(data: &[u8]) {
    let sound = sound!("../../../fixtures/costs/khadas-vim3.json", "../../../fixtures/costs/chiplet-c1.json");
    let Some(Ok(mut models)) = text(data, sound).map(|text| CostModels::from_json(&text)) else { return };
    written(&models, CostModels::from_json);
    let Ok(board) = Board::try_from(models.board.clone()) else { return };
    models.board_fingerprint = board.fingerprint();
    let Setting { model, chain, .. } = &*SETTING;
    if let Ok(table) = models.table(&board, model.digest(), model.graph(), chain) {
        for processor in table.class_ids() {
            let _ = table.operator_ids().filter_map(|operator| table.time(processor, operator)).max();
        }
        let _ = table.within_memory_of(&board, model.graph());
    }
}

pub(crate) fn profile(data: &[u8]) {
    let sound = sound!("../../documents/profile.json");
    let Some(Ok(mut profile)) = text(data, sound).map(|text| Profile::from_json(&text)) else { return };
    written(&profile, Profile::from_json);
    let Ok(board) = Board::try_from(profile.board.clone()) else { return };
    profile.board_fingerprint = board.fingerprint();
    let Setting { model, chain, .. } = &*SETTING;
    if let Some(network) = profile.networks.first_mut() {
        model.digest().clone_into(&mut network.digest);
    }
    let _ = profile.classes();
    let _ = fit(&profile, &board, model.digest(), model.graph(), chain);
    let _ = CostModels::fit(&profile, profile.provenance.clone());
}

pub(crate) fn measurements(data: &[u8]) {
    let sound =
        sound!("../../../fixtures/measurements/khadas-vim3.json", "../../../fixtures/measurements/chiplet-c1.json");
    let Some(Ok(measurements)) = text(data, sound).map(|text| Measurements::from_json(&text)) else { return };
    written(&measurements, Measurements::from_json);
    let Setting { model, chain, board, .. } = &*SETTING;
    let (graph, digest): (&Graph, &str) = (model.graph(), model.digest());
    let network = |name| MeasuredNetwork { name, digest, graph, chain };
    let networks = ["alexnet", "googlenet", "mobilenet", "resnet50", "squeezenet"].map(network);
    let provenance = Provenance { tool_version: String::new(), created: String::new() };
    let _ = calibrate(board, &measurements, &networks, provenance);
}

pub(crate) fn schedule(data: &[u8]) {
    let sound = sound!(
        "../../documents/schedule.json",
        "../../documents/schedule-split.json",
        "../../documents/schedule-stages.json"
    );
    let Some(Ok(document)) = text(data, sound).map(|text| ScheduleDocument::from_json(&text)) else { return };
    written(&document, ScheduleDocument::from_json);
    run(document);
}

pub(crate) fn schedule_set(data: &[u8]) {
    let sound = sound!("../../documents/schedule-set.json");
    let Some(Ok(set)) = text(data, sound).map(|text| ScheduleSetDocument::from_json(&text)) else { return };
    written(&set, ScheduleSetDocument::from_json);
}

pub(crate) fn schedule_sizes(data: &[u8]) {
    let sound = sound!("../../documents/schedule-sizes.json");
    let Some(Ok(sizes)) = text(data, sound).map(|text| SizesDocument::from_json(&text)) else { return };
    written(&sizes, SizesDocument::from_json);
}

/// A schedule that fits the network and the board is evaluated, and simulated to the same period.
fn run(mut document: ScheduleDocument) {
    let Setting { model, board, table, .. } = &*SETTING;
    model.digest().clone_into(&mut document.model.digest);
    document.board.fingerprint = board.fingerprint();
    let Ok(schedule) = document.resolve(model.graph(), model.digest(), board) else { return };
    assert_eq!(schedule.to_stages(model.graph()), document.stages, "a schedule is written as it is");
    evaluated(&schedule, model.graph(), table);
}

fn evaluated(schedule: &Schedule, graph: &Graph, table: &millstream_cost::CostTable) {
    let Ok(evaluation) = schedule.evaluate(graph, table) else { return };
    assert!(evaluation.period <= evaluation.latency, "{evaluation:?}");
    let settings = SimulationSettings { frames: 3, ..SimulationSettings::default() };
    let simulation = simulate(schedule, graph, table, &settings);
    assert!(simulation.is_ok(), "what can be evaluated can be simulated: {simulation:?}");
}

pub(crate) fn certificate(data: &[u8]) {
    let sound = sound!("../../documents/certificate.json");
    let Some(Ok(certificate)) = text(data, sound).map(|text| Certificate::from_json(&text)) else { return };
    written(&certificate, Certificate::from_json);
    let Setting { model, chain, board, table } = &*SETTING;
    let (graph, chain): (&Graph, &Chain) = (model.graph(), chain);
    let _ = check_throughput(&certificate.throughput, graph, board, table);
    if let Some(proof) = &certificate.single_processors {
        let _ = check_single_processors(proof, NetworkBlocks { graph, chain }, board, table);
    }
}

#[cfg(test)]
mod tests {
    use millstream_board::Board;
    use millstream_certify::Certificate;
    use millstream_predict::Profile;
    use millstream_schedule::{ScheduleDocument, ScheduleSetDocument, SizesDocument};

    use crate::network::{SETTING, Setting};

    /// Edits of what is refused as it is would reach nothing.
    #[test]
    fn what_edits_begin_with_is_sound() {
        let Setting { model, board, .. } = &*SETTING;
        let schedules = [
            include_str!("../../documents/schedule.json"),
            include_str!("../../documents/schedule-split.json"),
            include_str!("../../documents/schedule-stages.json"),
        ];
        for text in schedules {
            let document = ScheduleDocument::from_json(text).unwrap_or_else(|error| unreachable!("{error}"));
            let schedule = document.resolve(model.graph(), model.digest(), board);
            assert!(schedule.is_ok(), "{schedule:?}");
        }
        let profile = Profile::from_json(include_str!("../../documents/profile.json"));
        assert!(profile.is_ok_and(|profile| Board::try_from(profile.board).is_ok()));
        assert!(ScheduleSetDocument::from_json(include_str!("../../documents/schedule-set.json")).is_ok());
        assert!(SizesDocument::from_json(include_str!("../../documents/schedule-sizes.json")).is_ok());
        assert!(Certificate::from_json(include_str!("../../documents/certificate.json")).is_ok());
    }
}
