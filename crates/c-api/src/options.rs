//! How a session is opened, as JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use millstream_api::bindings::{Limits, SessionRequest, positive_seconds};
use millstream_api::schedule::ScheduleDocument;
use millstream_api::{Aim, EngineOptions, Error, Inputs, Machine, ReadOptions, files};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;

/// What a caller may say; all of it may be left out. The header says what each means.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    objective: Option<String>,
    max_latency: Option<f64>,
    min_throughput: Option<f64>,
    max_power: Option<f64>,
    margin: f64,
    schedule: Option<Value>,
    profile: Option<PathBuf>,
    costs: Option<PathBuf>,
    fresh: bool,
    profile_seconds: Option<f64>,
    dimensions: BTreeMap<String, usize>,
    batch: Option<usize>,
    inputs: Vec<String>,
    board: Option<PathBuf>,
    engine: Option<String>,
    cache_folder: Option<PathBuf>,
    frames_in_flight: Option<usize>,
    frames_outstanding: Option<usize>,
    frame_timeout: Option<f64>,
}

impl Options {
    pub(crate) fn parse(json: Option<&str>) -> Result<Self, Failure> {
        let text = json.unwrap_or("{}");
        // A list would be taken for the fields in their order.
        let is_object = serde_json::from_str::<serde_json::Map<String, Value>>(text);
        let options: Self = is_object
            .and_then(|_| serde_json::from_str(text))
            .map_err(|error| Failure::argument(format!("the options are not usable: {error}")))?;
        options.check_counts()?;
        Ok(options)
    }

    /// There is at least one of whatever is counted.
    fn check_counts(&self) -> Result<(), Failure> {
        let counts = [
            ("batch", self.batch),
            ("frames_in_flight", self.frames_in_flight),
            ("frames_outstanding", self.frames_outstanding),
        ];
        let sizes = self.dimensions.iter().map(|(name, size)| (name.as_str(), Some(*size)));
        match counts.into_iter().chain(sizes).find(|(_, count)| *count == Some(0)) {
            Some((name, _)) => Err(Failure::argument(format!("{name} must be at least 1"))),
            None => Ok(()),
        }
    }

    pub(crate) fn request(&self) -> Result<SessionRequest, Error> {
        let limits =
            Limits { max_latency: self.max_latency, min_throughput: self.min_throughput, max_power: self.max_power };
        Ok(SessionRequest {
            aim: Aim::named(self.objective.as_deref().unwrap_or("throughput"), limits, self.margin)?,
            profile: self.profile.clone(),
            costs: self.costs.clone(),
            is_fresh: self.fresh,
            budget: self.profile_seconds.map(|seconds| positive_seconds("profile_seconds", seconds)).transpose()?,
        })
    }

    pub(crate) fn engine_options(&self) -> Result<EngineOptions, Error> {
        let frame_timeout = self.frame_timeout.map(|seconds| positive_seconds("frame_timeout", seconds)).transpose()?;
        Ok(EngineOptions::default()
            .with_frames_in_flight(self.frames_in_flight)
            .with_frames_outstanding(self.frames_outstanding)
            .with_frame_timeout(frame_timeout))
    }

    pub(crate) fn read_options(&self) -> ReadOptions {
        let usual = ReadOptions::default().with_dimensions(self.dimensions.clone());
        self.batch.map_or(usual.clone(), |batch| usual.with_batch(batch))
    }

    /// Files of frames that the network is measured and tried with.
    pub(crate) fn inputs(&self) -> Inputs {
        Inputs { files: self.inputs.clone(), ..Inputs::default() }
    }

    pub(crate) fn machine(&self) -> Result<Machine, Error> {
        let machine = match &self.board {
            Some(board) => Machine::read(board)?,
            None => Machine::detect()?,
        };
        machine.as_asked(self.engine.as_deref(), self.cache_folder.clone())
    }

    /// The schedule, which is the path of a file or what stands in one.
    pub(crate) fn schedule(&self) -> Result<Option<ScheduleDocument>, Error> {
        let read = |path: &Path| {
            let in_file = |error: Error| Error::File { path: path.to_owned(), source: Box::new(error) };
            ScheduleDocument::from_json(&files::read(path)?).map_err(|error| in_file(error.into()))
        };
        match &self.schedule {
            None => Ok(None),
            Some(Value::String(path)) => read(Path::new(path)).map(Some),
            Some(document) => Ok(Some(ScheduleDocument::from_json(&document.to_string())?)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::Duration;

    use super::*;
    use crate::border::MsStatus;

    #[test]
    fn what_is_left_out_has_its_usual_value() {
        let options = Options::parse(None).unwrap();
        assert_eq!(options, Options::parse(Some("{}")).unwrap());
        assert_eq!(options.request().unwrap().aim, Aim::default());
        assert_eq!(options.engine_options().unwrap(), EngineOptions::default());
        assert_eq!(options.read_options().batch, ReadOptions::default().batch);
        assert!(options.schedule().unwrap().is_none());
    }

    #[test]
    fn nothing_that_is_counted_is_zero() {
        for name in ["batch", "frames_in_flight", "frames_outstanding"] {
            let failure = Options::parse(Some(&format!("{{ \"{name}\": 0 }}"))).unwrap_err();
            assert_eq!(
                (failure.status, failure.message),
                (MsStatus::InvalidArgument, format!("{name} must be at least 1"))
            );
        }
        let failure = Options::parse(Some(r#"{ "dimensions": { "n": 0 } }"#)).unwrap_err();
        assert_eq!(failure.message, "n must be at least 1");
    }

    #[test]
    fn what_is_said_arrives() {
        let json = r#"{ "objective": "latency", "max_latency": 0.25, "min_throughput": 20, "max_power": 3.5, "margin": 0.1,
            "profile": "kept.json", "costs": "rk3588", "fresh": true, "profile_seconds": 2, "dimensions": { "n": 4 }, "batch": 3, "inputs": ["a.npy", "b=b.npz"],
            "frames_in_flight": 5, "frames_outstanding": 6, "frame_timeout": 1.5 }"#;
        let options = Options::parse(Some(json)).unwrap();
        let SessionRequest { aim, profile, costs, is_fresh, budget } = options.request().unwrap();
        let limits = Limits { max_latency: Some(0.25), min_throughput: Some(20.0), max_power: Some(3.5) };
        assert_eq!(aim, Aim::named("latency", limits, 0.1).unwrap());
        assert_eq!((profile, costs), (Some("kept.json".into()), Some("rk3588".into())));
        assert_eq!((is_fresh, budget), (true, Some(Duration::from_secs(2))));

        let expected = EngineOptions::default()
            .with_frames_in_flight(5)
            .with_frames_outstanding(6)
            .with_frame_timeout(Duration::from_millis(1500));
        assert_eq!(options.engine_options().unwrap(), expected);
        assert_eq!(options.inputs().files, ["a.npy", "b=b.npz"]);
        assert_eq!((options.read_options().batch, options.read_options().dimensions["n"]), (3, 4));
    }

    /// Where the cache is, `tests/statuses.rs` sees.
    #[test]
    fn the_board_and_its_engines_are_those_that_are_named() {
        let machine = |json: &str| Options::parse(Some(json)).unwrap().machine();
        let board = machine(r#"{ "board": "khadas-vim3" }"#).unwrap().board().clone();
        assert_eq!(board.name(), Machine::read(Path::new("khadas-vim3")).unwrap().board().name());
        let asked = machine(r#"{ "board": "khadas-vim3", "engine": "openvino" }"#).unwrap();
        assert_ne!(asked.board().engines(), board.engines());
        for json in [r#"{ "board": "khadas-vim3", "engine": "nothing" }"#, r#"{ "engine": "nothing" }"#] {
            let failure = Failure::from(machine(json).unwrap_err());
            assert!(failure.status == MsStatus::InvalidArgument && failure.message.contains("nothing"), "{failure:?}");
        }
        let nowhere = Failure::from(machine(r#"{ "board": "nowhere.json" }"#).unwrap_err());
        assert!(nowhere.status == MsStatus::FileError && nowhere.message.contains("nowhere.json"), "{nowhere:?}");
    }

    #[test]
    fn what_nobody_knows_or_can_use_is_refused_by_name() {
        let refused = |json: &str| {
            let failure = Options::parse(Some(json)).unwrap_err();
            assert_eq!(failure.status, MsStatus::InvalidArgument);
            failure.message
        };
        assert!(refused(r#"{ "objctive": "latency" }"#).contains("objctive"));
        assert!(refused("{").contains("options"));
        assert!(refused("7").contains("options"));
        assert!(refused("[]").contains("options are not usable"));
        let unusable = |json: &str| {
            let options = Options::parse(Some(json)).unwrap();
            let request = options.request().map(drop);
            request.and_then(|()| options.engine_options().map(drop)).unwrap_err().to_string()
        };
        assert!(unusable(r#"{ "max_latency": -1 }"#).contains("max_latency"));
        assert!(unusable(r#"{ "profile_seconds": 0 }"#).contains("profile_seconds"));
        assert!(unusable(r#"{ "frame_timeout": 1e300 }"#).contains("frame_timeout"));
        assert!(unusable(r#"{ "objective": "speed" }"#).contains("speed"));
    }
}
