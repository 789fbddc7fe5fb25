//! The fastest settings for one session of plain ONNX Runtime, for users who stay with it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use millstream_board::{Board, CoreId, EngineName, Processor};
use serde::Serialize;

use super::TurnOptions;
use super::contender::{Contender, cores_of};
use super::turns::{Rounds, Turn};
use crate::backends;
use crate::backends::core_engine::SessionThreads;
use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::quantile::quantile;
use crate::network::Network;

/// The behaviour of a session's threads while they wait for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Waiting {
    /// They spin for a while after every operator and every frame: ONNX Runtime's own default.
    Spin,
    /// They spin while a frame is in the session, and sleep otherwise.
    SpinWhileRunning,
    /// They sleep at once.
    Sleep,
}

impl Waiting {
    const ALL: [Self; 3] = [Self::Spin, Self::SpinWhileRunning, Self::Sleep];

    /// The entry of the session's configuration that has them wait so; none for the default.
    fn entry(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Spin => None,
            Self::SpinWhileRunning => Some(("session.force_spinning_stop", "1")),
            Self::Sleep => Some(("session.intra_op.allow_spinning", "0")),
        }
    }
}

/// One way to set up a session, in the words of ONNX Runtime's own `SessionOptions`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Threads that work on an operator, the calling one among them.
    pub intra_op_num_threads: usize,
    /// Operators that run at once.
    pub inter_op_num_threads: usize,
    /// Keys and values for `AddConfigEntry` (C++) or `add_session_config_entry` (Python).
    pub config_entries: BTreeMap<String, String>,
    /// Where the calling thread is to be pinned before it makes the session; anywhere if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calling_thread_core: Option<CoreId>,
}

impl SessionOptions {
    /// A session on so many of the processor's cores as there are, pinned or wherever the system puts its threads.
    fn on(cores: &[CoreId], is_pinned: bool, waiting: Waiting) -> Self {
        let mut entries: BTreeMap<String, String> = BTreeMap::new();
        // Of the pool's threads, which the calling one is not among; they count cores from 1.
        if let Some((_, pool)) = cores.split_first().filter(|(_, pool)| is_pinned && !pool.is_empty()) {
            let places: Vec<String> = pool.iter().map(|core| (u64::from(core.0) + 1).to_string()).collect();
            entries.insert("session.intra_op_thread_affinities".to_owned(), places.join(";"));
        }
        // A session of one thread has nothing to wait for.
        if let Some((key, value)) = waiting.entry().filter(|_| cores.len() > 1) {
            entries.insert(key.to_owned(), value.to_owned());
        }
        Self {
            intra_op_num_threads: cores.len(),
            inter_op_num_threads: 1,
            config_entries: entries,
            calling_thread_core: cores.first().copied().filter(|_| is_pinned),
        }
    }

    /// Lines of Python that set up such a session.
    pub fn python(&self) -> String {
        let mut lines = vec!["import onnxruntime, os".to_owned(), "options = onnxruntime.SessionOptions()".to_owned()];
        lines.push(format!("options.intra_op_num_threads = {}", self.intra_op_num_threads));
        lines.push(format!("options.inter_op_num_threads = {}", self.inter_op_num_threads));
        for (key, value) in &self.config_entries {
            lines.push(format!("options.add_session_config_entry(\"{key}\", \"{value}\")"));
        }
        if let Some(core) = self.calling_thread_core {
            lines.push(format!("os.sched_setaffinity(0, {{{core}}})  # this thread only, before the session is made"));
        }
        lines.join("\n")
    }
}

/// Measurements of a session with certain options: medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSession {
    /// How it was set up.
    pub options: SessionOptions,
    /// Where its threads are, such as `B2`, or `anywhere`.
    pub threads: String,
    /// What they do while they wait.
    pub waiting: Waiting,
    /// Whether nothing was asked of ONNX Runtime but its own choice of threads.
    pub is_default: bool,
    /// Median over the rounds of the round's median time of a frame.
    pub frame_seconds: f64,
    /// A quarter of the rounds were faster.
    pub frame_seconds_p25: f64,
    /// A quarter of the rounds were slower.
    pub frame_seconds_p75: f64,
    /// Rounds during which other programs used more than a tenth of a core, or clocks were lowered because of heat, also
    /// when they were repeated.
    pub disturbed_rounds: usize,
}

/// Measured ways to set up a session of a network, fastest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionContest {
    /// The network.
    pub network: String,
    /// The ways.
    pub sessions: Vec<MeasuredSession>,
}

/// A way to set up a session that is to be measured.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    processor: Processor,
    is_pinned: bool,
    waiting: Waiting,
}

impl Candidate {
    fn is_default(&self) -> bool {
        !self.is_pinned && self.waiting == Waiting::Spin
    }

    fn threads(&self) -> String {
        if self.is_pinned { self.processor.to_string() } else { "anywhere".to_owned() }
    }
}

/// Measures sessions of plain ONNX Runtime in turns: on 1, 2, 4, ... and all cores of each cluster and on all cores of
/// the board, pinned there; with as many threads as there are cores wherever the system puts them; each with threads
/// that spin or sleep while they wait. The time of a frame counts, one frame after the other. If the caller asks to
/// stop, the rounds so far count.
///
/// # Errors
/// [`Error::NotHere`] if the board is not this computer; whatever keeps a session from running.
pub fn session_options(
    machine: &Machine,
    network: &Network,
    options: &TurnOptions,
    control: &Control,
) -> Result<SessionContest, Error> {
    machine.check_usable()?;
    let board = machine.board();
    let frame =
        network.first_frame(&*backends::pinned(board, EngineName::OnnxRuntime, network.model())?, board)?.to_vec();

    let candidates = candidates(board);
    let mut sessions = Vec::new();
    let mut slowest = Duration::ZERO;
    for candidate in &candidates {
        let session = open(network, candidate)?;
        let measured = session.measure(&frame, options.turn / 8)?;
        slowest = slowest.max(Duration::from_secs_f64(measured.median_frame_seconds));
        sessions.push(session);
    }

    let cores = cores_of(board);
    let rounds = Rounds::new(network, &sessions, &frame, cores, options.turn).for_frames_of(slowest);
    let turns = rounds.play(options.rounds, control)?;
    let mut measured: Vec<_> =
        candidates.iter().zip(&turns).map(|(candidate, turns)| report(candidate, turns)).collect();
    measured.sort_by(|one, other| one.frame_seconds.total_cmp(&other.frame_seconds));
    Ok(SessionContest { network: network.name().to_owned(), sessions: measured })
}

fn open(network: &Network, candidate: &Candidate) -> Result<Contender, Error> {
    let threads = match candidate.waiting {
        Waiting::Spin => SessionThreads::Spin,
        Waiting::SpinWhileRunning => SessionThreads::SpinWhileRunning,
        Waiting::Sleep => SessionThreads::Sleep,
    };
    let backend = backends::session(network.model(), threads, candidate.is_pinned)?;
    Contender::session(network, candidate.processor.clone(), &Arc::clone(&backend), candidate.is_pinned)
}

/// The default first.
fn candidates(board: &Board) -> Vec<Candidate> {
    let all = cores_of(board);
    let everywhere = Processor::on_cores("all", all.iter().copied());
    let mut places = vec![(everywhere.clone(), false)];
    if board.clusters().len() > 1 {
        places.push((everywhere, true));
    }
    for cluster in board.clusters() {
        let cores = || cluster.cores.iter().map(|core| core.id);
        let powers = std::iter::successors(Some(1_usize), |count| count.checked_mul(2));
        let counts = powers.take_while(|count| *count < cluster.cores.len()).chain([cluster.cores.len()]);
        places.extend(counts.map(|count| (cluster.processor(cores().take(count)), true)));
    }

    let mut candidates = Vec::new();
    for (processor, is_pinned) in places {
        let waits = if processor.cores.len() > 1 { &Waiting::ALL[..] } else { &[Waiting::Spin] };
        for &waiting in waits {
            candidates.push(Candidate { processor: processor.clone(), is_pinned, waiting });
        }
    }
    candidates
}

fn report(candidate: &Candidate, turns: &[Turn]) -> MeasuredSession {
    let times: Vec<f64> = turns.iter().map(|turn| turn.measurement.median_frame_seconds).collect();
    MeasuredSession {
        options: SessionOptions::on(&candidate.processor.cores, candidate.is_pinned, candidate.waiting),
        threads: candidate.threads(),
        waiting: candidate.waiting,
        is_default: candidate.is_default(),
        frame_seconds: quantile(&times, 0.5),
        frame_seconds_p25: quantile(&times, 0.25),
        frame_seconds_p75: quantile(&times, 0.75),
        disturbed_rounds: turns.iter().filter(|turn| turn.is_disturbed()).count(),
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Spin => "spin",
            Self::SpinWhileRunning => "spin while a frame is there",
            Self::Sleep => "sleep",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_test_support::board;

    use super::*;

    #[test]
    fn every_cluster_is_tried_with_some_and_all_of_its_cores() {
        let board = board("B3#4+s1:300#0");
        let candidates = candidates(&board);
        assert!(
            candidates[0].is_default() && candidates.iter().filter(|candidate| candidate.is_default()).count() == 1
        );
        let places: Vec<(String, usize)> =
            candidates.iter().map(|candidate| (candidate.threads(), candidate.processor.cores.len())).collect();
        let times = |place: &str, cores| places.iter().filter(|other| **other == (place.to_owned(), cores)).count();
        assert_eq!(
            [times("anywhere", 4), times("B1", 1), times("B2", 2), times("B3", 3), times("s1", 1)],
            [3, 1, 3, 3, 1]
        );
        assert_eq!(candidates.len(), 14, "those, and all cores pinned: {places:?}");
    }

    #[test]
    fn a_single_core_is_tried_once_pinned_and_once_anywhere() {
        let candidates = candidates(&board("B1"));
        assert_eq!(candidates.iter().map(|candidate| candidate.is_pinned).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn options_are_in_the_words_of_onnx_runtime() {
        let cores = [CoreId(4), CoreId(5), CoreId(1023)];
        let options = SessionOptions::on(&cores, true, Waiting::Sleep);
        assert_eq!(
            options.python(),
            "import onnxruntime, os\n\
             options = onnxruntime.SessionOptions()\n\
             options.intra_op_num_threads = 3\n\
             options.inter_op_num_threads = 1\n\
             options.add_session_config_entry(\"session.intra_op.allow_spinning\", \"0\")\n\
             options.add_session_config_entry(\"session.intra_op_thread_affinities\", \"6;1024\")\n\
             os.sched_setaffinity(0, {4})  # this thread only, before the session is made"
        );
        let alone = SessionOptions::on(&cores[..1], true, Waiting::SpinWhileRunning);
        assert_eq!((alone.config_entries.len(), alone.calling_thread_core), (0, Some(CoreId(4))));
        let anywhere = SessionOptions::on(&cores, false, Waiting::Spin);
        assert_eq!((anywhere.config_entries.len(), anywhere.calling_thread_core), (0, None));
    }
}
