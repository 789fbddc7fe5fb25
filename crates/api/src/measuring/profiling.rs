//! Measuring a network: its operators in context, operators in parts, and ranges of blocks.

use std::collections::BTreeMap;
use std::time::Duration;

use millstream_backend::Observed;
use millstream_board::{Accelerator, Board, EngineName, Processor};
use millstream_graph::OperatorId;
use millstream_predict::samples::TransferSample;
use millstream_predict::{LeftOutEngine, NetworkProfile, Profile, UnsupportedOperators};
use millstream_profile::{
    OperatorSettings, PartSettings, ProfileSettings, Workload, measure, measure_accelerator_transfers,
    measure_accelerators, measure_operators, measure_parts, unsupported_operators,
};

use crate::backends::Backends;
use crate::backends::library_versions::{changed_library, library_versions};
use crate::control::{Control, Event};
use crate::error::Error;
use crate::interference::Interference;
use crate::machine::Machine;
use crate::measuring::disturbed::{self, is_quieter_now};
use crate::network::Network;
use crate::provenance;

/// Time for a profile of a network that is needed on the way.
pub const PROFILE_BUDGET: Duration = Duration::from_secs(20);

/// Part of a network's time that goes to its operators in context; the rest goes to its segments.
const OPERATORS_SHARE: f64 = 0.2;
/// Part that goes to operators in parts.
const PARTS_SHARE: f64 = 0.2;

/// The cached profile of a network, unless a new one is wanted, or would be better since others have become quieter.
pub(crate) fn cached(machine: &Machine, network: &Network, is_fresh: bool, control: &Control) -> Option<Profile> {
    let board = machine.board();
    let known = if is_fresh { None } else { machine.cache.load(network, board) }?;
    let created = &known.provenance.created;
    let profiled = known.network(network.digest())?;
    if is_quieter_now(profiled, board) {
        let others = Interference::during(profiled).other_cores;
        let reason = format!("other programs used {others:.1} cores then, and less than half as much now");
        control.emit(&Event::MeasuredAnew { created, reason: &reason });
        return None;
    }
    if let Some(reason) = changed_library(&profiled.library_versions, &library_versions(board)) {
        control.emit(&Event::MeasuredAnew { created, reason: &reason });
        return None;
    }
    let is_without = |engine: &LeftOutEngine| engine.gain.is_none() && profiled.unsupported.is_empty();
    if profiled.left_out.iter().any(is_without) {
        control.emit(&Event::MeasuredAnew { created, reason: "it does not say what an engine refused" });
        return None;
    }
    control.emit(&Event::CachedProfile { created, age: age(created), during: Interference::during(profiled) });
    report_left_out(profiled, board, control);
    Some(known)
}

/// How long ago something was made; `None` if nobody can tell, as where clocks were set back.
fn age(created: &str) -> Option<Duration> {
    let created: jiff::Timestamp = created.parse().ok()?;
    Duration::try_from(jiff::Timestamp::now().duration_since(created)).ok()
}

/// The profile of a network that is `known`, or else a new one, and what runs its operators.
pub(crate) fn known_or_measured(
    network: &Network,
    machine: &Machine,
    known: Option<Profile>,
    budget: Duration,
    control: &Control,
) -> Result<(Profile, Backends), Error> {
    let board = machine.board();
    let backends = Backends::open(board, network.model(), known.as_ref())?;
    if let Some(profile) = known {
        return Ok((profile, backends));
    }
    let mut profile = Profile::new(board, provenance());
    if add_network(&mut profile, network, board, &backends, budget, control)? {
        report_disturbance(&profile, network, board, control);
        machine.cache.store(&profile, network, board);
        Ok((profile, backends))
    } else {
        Err(Error::Interrupted)
    }
}

/// Measures what the profile does not know yet of a network. Returns whether it now knows everything: if not, somebody
/// asked to stop.
pub(crate) fn add_network(
    profile: &mut Profile,
    network: &Network,
    board: &Board,
    backends: &Backends,
    budget: Duration,
    control: &Control,
) -> Result<bool, Error> {
    backends.measure_granularity(profile, control)?;
    let backend = &*backends.all;
    add_accelerator_transfers(profile, backend, board)?;

    let frame = network.first_frame(backend, board)?;
    let workload = Workload { graph: network.graph(), chain: network.chain(), backend, frame };
    let known = entry(profile, network);
    note_libraries(known, network, library_versions(board));
    let measuring = Measuring { workload, board, budget, control };
    if !measuring.operators(known)? {
        return Ok(false);
    }
    let board = &board.clone().with_engines_of(&LeftOutEngine::others(&known.left_out, board));
    let measuring = Measuring { board, ..measuring };
    Ok(measuring.parts(known)? && measuring.segments(known)?)
}

/// Measures what moving values to accelerators and back takes, unless the profile knows.
pub(crate) fn add_accelerator_transfers(
    profile: &mut Profile,
    backend: &dyn Observed,
    board: &Board,
) -> Result<(), Error> {
    let is_of_accelerator = |pair: &TransferSample| board.accelerator(&pair.from).is_some();
    if !profile.transfers.iter().any(is_of_accelerator) {
        profile.transfers.extend(measure_accelerator_transfers(backend, board)?);
    }
    Ok(())
}

/// Notes what measures a network: samples of other versions are of no use, and of samples without any nobody knows
/// whether they are.
fn note_libraries(known: &mut NetworkProfile, network: &Network, here: BTreeMap<String, String>) {
    if changed_library(&known.library_versions, &here).is_some() {
        *known = NetworkProfile::new(network.digest(), network.graph(), network.chain());
    }
    if known.samples.is_empty() && known.operator_samples.is_empty() {
        known.library_versions = here;
    }
}

/// What the profile says of the network, or a new entry. What it says of the same model in other blocks is of no use.
fn entry<'a>(profile: &'a mut Profile, network: &Network) -> &'a mut NetworkProfile {
    let fresh = NetworkProfile::new(network.digest(), network.graph(), network.chain());
    let is_same = |known: &NetworkProfile| known.digest == fresh.digest && known.blocks == fresh.blocks;
    profile.networks.retain(|known| known.digest != fresh.digest || is_same(known));
    let place = profile.networks.iter().position(is_same).unwrap_or(profile.networks.len());
    if place == profile.networks.len() {
        profile.networks.push(fresh);
    }
    &mut profile.networks[place]
}

/// Says what disturbed measuring a network.
pub(crate) fn report_disturbance(profile: &Profile, network: &Network, board: &Board, control: &Control) {
    let by = profile.network(network.digest()).map(Interference::during).unwrap_or_default();
    disturbed::report(&format!("measuring {} on {}", network.name(), board.name()), by, control);
}

/// Says which engines and accelerators are not used, and which of the others do not run all operators.
pub(crate) fn report_left_out(known: &NetworkProfile, board: &Board, control: &Control) {
    let engines_of = |label: &str| board.cluster(label).map(|cluster| &cluster.engines);
    let has = |label: &str, engine: EngineName| engines_of(label).is_ok_and(|engines| engines.contains(engine));
    let is_left_out = |label: &str, engine: EngineName| {
        known.left_out.iter().any(|left_out| left_out.cluster == label && left_out.engine == engine)
    };
    // Those beside which it could save little may not be asked for now: that is an error then (`of_own_engines`).
    let has_better =
        |label: &str| engines_of(label).is_ok_and(|engines| engines.iter().any(|engine| !is_left_out(label, engine)));
    let is_told = |left_out: &&LeftOutEngine| {
        has(&left_out.cluster, left_out.engine) && (left_out.gain.is_none() || has_better(&left_out.cluster))
    };
    let left_out = known.left_out.iter().filter(is_told);
    left_out.for_each(|left_out| control.emit(&Event::LeftOut(left_out)));

    let is_used = |missing: &&UnsupportedOperators| {
        has(&missing.cluster, missing.engine) && !is_left_out(&missing.cluster, missing.engine)
    };
    for missing in known.unsupported.iter().filter(is_used) {
        control.emit(&Event::Unsupported(&known.unsupported_text(missing)));
    }
    for idle in idle_accelerators(known, board) {
        let text = format!("{idle} is not used: it runs none of the network's operators");
        control.emit(&Event::Unsupported(&text));
    }
}

/// The accelerators of which a network that was measured has no sample.
fn idle_accelerators<'a>(known: &NetworkProfile, board: &'a Board) -> Vec<&'a str> {
    let is_sampled = |own: &Accelerator| known.operator_samples.iter().any(|seen| seen.processor.cluster == own.label);
    let idle = board.accelerators().iter().filter(|own| !known.operator_samples.is_empty() && !is_sampled(own));
    idle.map(|own| own.label.as_str()).collect()
}

/// A network that is being measured. Each step returns whether it is done: if not, somebody asked to stop.
struct Measuring<'a> {
    workload: Workload<'a>,
    board: &'a Board,
    budget: Duration,
    control: &'a Control,
}

impl Measuring<'_> {
    /// Operators in context.
    fn operators(&self, known: &mut NetworkProfile) -> Result<bool, Error> {
        if !known.operator_samples.is_empty() {
            return Ok(true);
        }
        let budget = self.budget.mul_f64(OPERATORS_SHARE);
        let settings = OperatorSettings { budget, ..OperatorSettings::default() };
        let go_on = || !self.control.is_cancelled();
        let mut samples = measure_operators(&self.workload, self.board, &settings, &mut |_| go_on())?;
        if go_on() {
            samples.extend(measure_accelerators(&self.workload, self.board, budget, &mut || go_on())?);
        }
        if !go_on() {
            return Ok(false);
        }
        known.operator_samples = samples;
        known.unsupported = unsupported_operators(&self.workload, self.board);
        known.left_out = LeftOutEngine::of(known, self.board);
        report_left_out(known, self.board, self.control);
        self.report_reasons(known);
        Ok(true)
    }

    /// Why engines and accelerators run nothing of the network: what each says of the first operator that it refuses.
    fn report_reasons(&self, known: &NetworkProfile) {
        let refused = |id: OperatorId, processor: &Processor| self.workload.backend.why_refused(id, processor);
        let order = self.workload.graph.order();
        let reason = |processor: &Processor| order.iter().find_map(|&id| refused(id, processor));
        let of_engine = |left_out: &LeftOutEngine| {
            let cluster = self.board.clusters().iter().find(|cluster| cluster.label == left_out.cluster)?;
            let processor = cluster.processor(cluster.cores.first().map(|core| core.id)).with_engine(left_out.engine);
            Some(format!("{} on {}: {}", left_out.engine, left_out.cluster, reason(&processor)?))
        };
        let of_device = |label: &&str| Some(format!("{label}: {}", reason(&Processor::accelerator(*label))?));

        let engines = known.left_out.iter().filter(|left_out| left_out.gain.is_none()).filter_map(of_engine);
        let devices = idle_accelerators(known, self.board);
        let devices = devices.iter().filter_map(of_device);
        engines.chain(devices).for_each(|why| self.control.emit(&Event::Unsupported(&why)));
    }

    /// Operators in parts.
    fn parts(&self, known: &mut NetworkProfile) -> Result<bool, Error> {
        if !known.part_samples.is_empty() || self.board.processor_classes().count() < 2 {
            return Ok(true);
        }
        let settings = PartSettings { budget: self.budget.mul_f64(PARTS_SHARE), ..PartSettings::default() };
        let samples = measure_parts(&self.workload, self.board, &settings, &mut |_| !self.control.is_cancelled())?;
        if self.control.is_cancelled() {
            return Ok(false);
        }
        known.part_samples = samples;
        Ok(true)
    }

    /// Ranges of blocks, of which what was measured is kept in any case.
    fn segments(&self, known: &mut NetworkProfile) -> Result<bool, Error> {
        let budget = self.budget.mul_f64(1.0 - OPERATORS_SHARE - PARTS_SHARE);
        let settings = ProfileSettings { budget, ..ProfileSettings::default() };
        let activity = format!("measuring {} on {}", self.workload.graph.name(), self.board.name());
        let mut steps = self.control.steps(activity, 1);
        let mut is_stopped = false;
        let samples = measure(&self.workload, self.board, &settings, &known.samples, &mut |progress| {
            steps.set(progress.done, progress.total);
            is_stopped = self.control.is_cancelled() && progress.done < progress.total;
            !is_stopped
        })?;
        known.samples.extend(samples);
        Ok(!is_stopped)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_onnx::ReadOptions;
    use millstream_test_support::board;

    use super::*;
    use crate::control::tests::told;
    use crate::learning::plan_model::tests::profiled;

    /// Whether a profile with this entry is used again.
    fn is_kept(known: NetworkProfile, network: &Network, board: &Board) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::of_board(board.clone()).with_cache_folder(folder.path());
        let mut profile = Profile::new(board, provenance());
        profile.networks.push(known);
        machine.cache.store(&profile, network, board);
        cached(&machine, network, false, &Control::new()).is_some()
    }

    /// What is said of engines and accelerators that do not run all of a network.
    fn reported(known: &NetworkProfile, board: &Board) -> Vec<String> {
        let text = |event: &Event<'_>| match event {
            Event::Unsupported(text) => Some((*text).to_owned()),
            Event::LeftOut(left_out) => Some(left_out.to_string()),
            _ => None,
        };
        told(text, |control| report_left_out(known, board, control))
    }

    /// Earlier profiles left out an engine that refused any operator, without saying which.
    #[test]
    fn a_profile_that_does_not_say_what_an_engine_refused_is_made_anew() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B1@onnxruntime,openvino");
        let kept = |gain: Option<f64>, refused: &[usize]| {
            let mut known = profiled(&network, &board, |_| 1e-3);
            let (cluster, engine) = ("B".to_owned(), EngineName::OpenVino);
            let operators = refused.to_vec();
            if !refused.is_empty() {
                known.unsupported.push(UnsupportedOperators { cluster: cluster.clone(), engine, operators });
            }
            known.left_out.push(LeftOutEngine { cluster, engine, gain });
            is_kept(known, &network, &board)
        };
        assert!(kept(Some(0.01), &[]) && kept(None, &[0, 1]));
        assert!(!kept(None, &[]));
    }

    #[test]
    fn accelerators_that_run_no_operator_are_told() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B1+G+N");
        let mut known = profiled(&network, &board, |_| 1e-3);
        assert!(reported(&known, &board).is_empty());
        known.operator_samples.retain(|sample| sample.processor.cluster != "N");
        assert_eq!(reported(&known, &board), ["N is not used: it runs none of the network's operators"]);
        known.operator_samples.clear();
        assert!(reported(&known, &board).is_empty(), "nothing was measured");
    }

    /// A profile may have engines that nobody asks for now.
    #[test]
    fn only_engines_of_the_board_are_told() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let both = board("B1@onnxruntime,openvino");
        let mut known = profiled(&network, &both, |_| 1e-3);
        let (cluster, engine) = ("B".to_owned(), EngineName::OpenVino);
        let operators = vec![0];
        known.unsupported.push(UnsupportedOperators { cluster: cluster.clone(), engine, operators });
        assert_eq!((reported(&known, &both).len(), reported(&known, &board("B1")).len()), (1, 0));
        known.left_out.push(LeftOutEngine { cluster, engine, gain: Some(0.01) });
        let left_out = "openvino is left out on B: it could save 1.0 % of the time at most";
        assert_eq!(reported(&known, &both), [left_out], "what it does not run is no matter then");
        assert!(reported(&known, &board("B1")).is_empty());
        assert!(reported(&known, &board("B1@openvino")).is_empty(), "the better one is not asked for");
        known.left_out[0].gain = None;
        let runs_nothing = "openvino is left out on B: it runs none of the network's operators";
        assert_eq!(reported(&known, &board("B1@openvino")), [runs_nothing], "with or without another");
    }

    #[test]
    fn samples_of_another_version_are_dropped() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B1");
        let versions = |version: &str| BTreeMap::from([("onnxruntime".to_owned(), version.to_owned())]);
        let noted = |before: Option<&str>| {
            let mut known = profiled(&network, &board, |_| 1e-3);
            known.library_versions = before.map(versions).unwrap_or_default();
            note_libraries(&mut known, &network, versions("2"));
            (known.operator_samples.is_empty(), known.library_versions)
        };
        assert_eq!(noted(Some("2")), (false, versions("2")));
        assert_eq!(noted(Some("1")), (true, versions("2")));
        assert_eq!(noted(None), (false, BTreeMap::new()), "nobody knows of what they are");
        let mut new = NetworkProfile::new(network.digest(), network.graph(), network.chain());
        note_libraries(&mut new, &network, versions("2"));
        assert_eq!(new.library_versions, versions("2"));
    }

    #[cfg(feature = "ort")]
    #[test]
    fn a_profile_of_another_library_is_made_anew() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B1");
        let kept = |versions: &BTreeMap<String, String>| {
            let known = profiled(&network, &board, |_| 1e-3);
            is_kept(NetworkProfile { library_versions: versions.clone(), ..known }, &network, &board)
        };
        let mut versions = library_versions(&board);
        assert!(kept(&versions) && kept(&BTreeMap::new()));
        assert_eq!(versions.keys().collect::<Vec<_>>(), ["onnxruntime"]);
        versions.insert("onnxruntime".to_owned(), "1.0.0".to_owned());
        assert!(!kept(&versions));
    }
}
