//! What a schedule needs of a board's engines and devices.

use millstream_board::{Board, EngineName, Processor};
use millstream_schedule::Schedule;

use crate::error::Error;

/// Which engines and devices of a board must be there.
pub(crate) enum Needed<'a> {
    /// Each: any may be measured or chosen.
    All,
    /// Those that a schedule has, and the engine that makes the results that its own are compared with: the first one of
    /// the board. It was planned with others to choose from, which may be missing where it runs.
    By(&'a Schedule),
}

impl Needed<'_> {
    /// Opens an engine for cores; nothing where that fails and it is not needed.
    pub(crate) fn engine<T>(
        &self,
        engine: EngineName,
        board: &Board,
        open: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let first = board.clusters().first().and_then(|cluster| cluster.engines.iter().next());
        let is_needed = Some(engine) == first || self.has(|own| !own.is_accelerator() && own.engine == engine);
        or_without(is_needed, &engine.to_string(), open())
    }

    /// Opens what drives the device with this label; nothing where that fails and it is not needed.
    pub(crate) fn device<T>(&self, label: &str, open: impl FnOnce() -> Result<T, Error>) -> Result<Option<T>, Error> {
        let is_needed = self.has(|own| own.is_accelerator() && own.cluster == label);
        or_without(is_needed, label, open())
    }

    fn has(&self, is_it: impl Fn(&Processor) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::By(schedule) => schedule.processors().any(is_it),
        }
    }
}

fn or_without<T>(is_needed: bool, name: &str, opened: Result<T, Error>) -> Result<Option<T>, Error> {
    match opened {
        Err(error) if !is_needed => {
            tracing::warn!("goes on without {name}, which the schedule does not use: {error}");
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_schedule::{Replica, Stage};
    use millstream_test_support::board;

    use super::*;

    #[test]
    fn only_what_a_schedule_uses_must_be_there() {
        let (first, used, other) = (EngineName::OnnxRuntime, EngineName::OpenVino, "openvinoint8".parse().unwrap());
        let board = board("B1+G").with_engines(&"onnxruntime,openvino,openvinoint8".parse().unwrap());
        let processor = board.clusters()[0].processor([millstream_board::CoreId(0)]).with_engine(used);
        let of =
            |processor| Schedule { stages: vec![Stage { replicas: vec![Replica::single(processor, Vec::new())] }] };
        let missing = || Err::<(), _>(Error::Unfit("it is not there".to_owned()));

        let on_core = of(processor);
        let needed = Needed::By(&on_core);
        assert!(needed.engine(used, &board, missing).is_err() && needed.engine(first, &board, missing).is_err());
        assert!(needed.engine(other, &board, missing).unwrap().is_none());
        assert!(needed.engine(other, &board, || Ok(())).unwrap().is_some());
        assert!(needed.device("G", missing).unwrap().is_none() && needed.device("G", || Ok(())).unwrap().is_some());

        let on_device = of(Processor::accelerator("G"));
        let needed = Needed::By(&on_device);
        assert!(needed.device("G", missing).is_err() && needed.engine(used, &board, missing).unwrap().is_none());
        assert!(needed.engine(first, &board, missing).is_err(), "results are compared with its own");
        assert!(Needed::All.engine(other, &board, missing).is_err() && Needed::All.device("G", missing).is_err());
    }
}
