//! What is run where: a file that every process of a system is started with.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use millstream_api::schedule::{Schedule, ScheduleDocument};
use millstream_api::{HostPart, Hosts, Inputs, Network, ReadOptions, files};
use millstream_distributed::{FrontOptions, HostId, Identity, Route};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What `run` writes for the processes that it has started.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// The version that wrote it.
    pub version: String,
    /// The system file.
    pub system: PathBuf,
    /// The network, if it is somewhere else than the schedules say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The schedules in the order of preference.
    pub schedules: Vec<PathBuf>,
    /// Files of frames that are streamed, as `PATH` or `NAME=PATH` with the name of an input; frames are made up where
    /// there are none. Only the front reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// How many frames are streamed.
    pub frames: u64,
    /// How many are under way at most; as many as suits the first schedule if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// Results that are expected of the frames, as a file or a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<PathBuf>,
    /// How far floats may be from these, relative to the largest element; by their type if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Where the front writes what each stage did when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
}

/// A deployment with all that it names.
pub struct LoadedDeployment {
    /// What is run.
    pub deployment: Deployment,
    /// The system.
    pub hosts: Hosts,
    /// The network.
    pub network: Network,
    /// The schedules in the order of preference.
    pub plans: Vec<LoadedPlan>,
    /// What every host must be.
    pub identities: Vec<Identity>,
}

/// A schedule with the parts of its hosts.
pub struct LoadedPlan {
    /// Its file.
    pub document: ScheduleDocument,
    /// It.
    pub schedule: Schedule,
    /// Its parts, visit by visit.
    pub parts: Vec<HostPart>,
}

impl Deployment {
    /// Reads the file.
    ///
    /// # Errors
    /// If it can't be read, or another version wrote it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let deployment: Self = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let version = env!("CARGO_PKG_VERSION");
        if deployment.version != version {
            let remedy = "have the same version on all hosts";
            bail!("{}: version {} wrote it, this is {version}; {remedy}", path.display(), deployment.version);
        }
        Ok(deployment)
    }

    /// Reads all that it names and checks that it fits together.
    ///
    /// # Errors
    /// With what does not fit.
    pub fn load(self) -> Result<LoadedDeployment> {
        let hosts = Hosts::read(&self.system)?;
        let texts = self.schedules.iter().map(|path| files::read(path)).collect::<Result<Vec<_>, _>>()?;
        let mut documents = Vec::new();
        for (path, text) in self.schedules.iter().zip(&texts) {
            documents.push(ScheduleDocument::from_json(text).with_context(|| path.display().to_string())?);
        }

        let first = documents.first().context("there is no schedule to run")?;
        let network = match &self.model {
            None => Network::of_schedule(&first.model)?,
            Some(model) => {
                let dimensions = first.model.dimensions.iter().cloned();
                let options = ReadOptions::default().with_batch(first.model.batch).with_dimensions(dimensions);
                Network::open(model, options)?
            }
        };

        let mut plans = Vec::new();
        for (path, document) in self.schedules.iter().zip(documents) {
            plans.push(LoadedPlan::new(document, &hosts, &network).with_context(|| path.display().to_string())?);
        }

        let digests: Vec<String> = texts.iter().map(|text| digest(text)).collect();
        let identity = |host: &millstream_api::board::Host| Identity {
            host: host.id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: network.digest().to_owned(),
            board: host.board.fingerprint(),
            schedules: digests.clone(),
        };
        let identities = hosts.system().hosts().iter().map(identity).collect();
        Ok(LoadedDeployment { deployment: self, hosts, network, plans, identities })
    }
}

/// A text's digest, enough of it to tell any two apart.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl LoadedPlan {
    fn new(document: ScheduleDocument, hosts: &Hosts, network: &Network) -> Result<Self> {
        let schedule = document.resolve(network.graph(), network.digest(), hosts.machine().board())?;
        let parts = HostPart::all(hosts, network.graph(), &schedule)?;
        let system = hosts.system();
        let name = |part: &HostPart| system.hosts().get(part.host()).map_or("", |host| host.id.as_str());
        for pair in parts.windows(2) {
            if let [from, to] = pair
                && system.link(name(from), name(to)).is_none()
            {
                let (from, to) = (name(from), name(to));
                bail!(
                    "frames go from host '{from}' to '{to}', but the system file has no link between them; measure it, or plan again"
                );
            }
        }
        Ok(Self { document, schedule, parts })
    }

    /// The hosts that a frame visits.
    pub fn route(&self) -> Route {
        Route::new(self.parts.iter().map(|part| HostId(part.host())))
    }
}

impl LoadedDeployment {
    /// The same with the frames that are streamed, if files were named.
    ///
    /// # Errors
    /// If a file can't be read or does not fit.
    pub fn with_inputs(self) -> Result<Self> {
        let inputs = Inputs { files: self.deployment.inputs.clone(), ..Inputs::default() };
        Ok(Self { network: self.network.with_inputs(&inputs)?, ..self })
    }

    /// The deployment for processes in other folders: with the network's whole path.
    ///
    /// # Errors
    /// If there is no current folder.
    pub fn with_paths_for_all(&self) -> Result<Deployment> {
        let source = self.network.source();
        let model = if source.starts_with("zoo:") {
            source.to_owned()
        } else {
            std::path::absolute(source).with_context(|| source.to_owned())?.display().to_string()
        };
        Ok(Deployment { model: Some(model), ..self.deployment.clone() })
    }

    /// The ways of all plans.
    pub fn routes(&self) -> Vec<Route> {
        self.plans.iter().map(LoadedPlan::route).collect()
    }

    /// How many frames are under way: one on each replica, one on each way between hosts and to and from them, and as
    /// many again; and not fewer than one host alone would have.
    pub fn in_flight(&self) -> usize {
        let replicas = |plan: &LoadedPlan| plan.schedule.stages.iter().map(|stage| stage.replicas.len()).sum::<usize>();
        let usual = self
            .plans
            .first()
            .map_or(1, |plan| (2 * (replicas(plan) + plan.parts.len() + 1)).max(plan.schedule.frames_in_flight()));
        self.deployment.in_flight.unwrap_or(usual).max(1)
    }

    /// How patient the front is: what says that a host is there waits behind frames that are under way.
    pub fn front_options(&self) -> FrontOptions {
        let mut options = FrontOptions::new(self.in_flight());
        let slowest =
            |plan: &LoadedPlan| plan.document.predicted.period_seconds.max(plan.document.predicted.latency_seconds);
        let seconds = self.plans.iter().map(slowest).fold(0.0, f64::max) * self.in_flight() as f64;
        let frames = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(60));
        options.silence += frames;
        options.answer += frames * 4;
        options
    }
}

/// Values of the network as messages name them: by their places.
pub fn value_ids(values: &[millstream_api::graph::ValueId]) -> Vec<u32> {
    values.iter().map(|id| u32::try_from(id.index()).unwrap_or(u32::MAX)).collect()
}
