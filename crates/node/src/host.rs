//! The process of a host.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use millstream_api::board::TransferPrecision;
use millstream_distributed::{HostAction, HostId, HostSide, Message, Peer, PlanId};

use crate::deployment::LoadedDeployment;
use crate::stages::{Computed, VisitStages};
use crate::transport::{Incoming, Outlet, Transport};

/// The lines of a plan by their visits, or why there are none.
type Prepared = (PlanId, Result<Vec<(usize, VisitStages)>, String>);

/// A host at work.
struct Host {
    loaded: Arc<LoadedDeployment>,
    id: HostId,
    /// When its clock began.
    begin: Instant,
    side: HostSide,
    outlet: Box<dyn Outlet>,
    lines: BTreeMap<(PlanId, usize), VisitStages>,
    computed: (Sender<Computed>, Receiver<Computed>),
    prepared: (Sender<Prepared>, Receiver<Prepared>),
}

/// Runs the stages of a host until the front says that no more frames will come, or nothing can come any more.
///
/// # Errors
/// If the system has no host of this name, or nothing can be sent.
pub fn run(loaded: LoadedDeployment, name: &str, transport: Transport) -> Result<()> {
    let hosts = loaded.hosts.system().hosts();
    let Some(place) = hosts.iter().position(|host| host.id == name) else {
        let known: Vec<&str> = hosts.iter().map(|host| host.id.as_str()).collect();
        bail!("the system has no host '{name}', only {}", known.join(", "));
    };
    let identity = loaded.identities.get(place).cloned().context("a host has no identity")?;
    // Greater each time, as long as nobody sets the clock back meanwhile.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let incarnation = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let id = HostId(place);
    let side = HostSide::new(id, identity, incarnation, loaded.routes());
    let Transport { outlet, inlet } = transport;
    let host = Host {
        loaded: Arc::new(loaded),
        id,
        begin: Instant::now(),
        side,
        outlet,
        lines: BTreeMap::new(),
        computed: unbounded(),
        prepared: unbounded(),
    };
    host.serve(&inlet)
}

impl Host {
    fn serve(mut self, inlet: &Receiver<Incoming>) -> Result<()> {
        let (computed, prepared) = (self.computed.1.clone(), self.prepared.1.clone());
        loop {
            let actions = select! {
                recv(inlet) -> incoming => match incoming {
                    Ok(incoming) => self.receive(&incoming),
                    Err(_) => return Ok(()),
                },
                recv(computed) -> done => match done {
                    Ok(done) => self.side.computed(done.tag, done.outcome),
                    Err(_) => Vec::new(),
                },
                recv(prepared) -> done => {
                    if let Ok((plan, outcome)) = done {
                        self.take_lines(plan, outcome);
                    }
                    Vec::new()
                }
            };
            if self.perform(actions)? {
                return Ok(());
            }
        }
    }

    fn receive(&mut self, incoming: &Incoming) -> Vec<HostAction> {
        match Message::decode(&incoming.bytes) {
            Ok(message) => self.side.receive(message, self.begin.elapsed()),
            Err(error) => {
                tracing::warn!("from {}: {error}", incoming.from);
                Vec::new()
            }
        }
    }

    fn take_lines(&mut self, plan: PlanId, outcome: Result<Vec<(usize, VisitStages)>, String>) {
        let outcome = outcome.map(|lines| {
            self.lines.extend(lines.into_iter().map(|(visit, line)| ((plan, visit), line)));
        });
        self.side.prepared(plan, outcome);
    }

    /// Whether that was all.
    fn perform(&mut self, actions: Vec<HostAction>) -> Result<bool> {
        for action in actions {
            match action {
                HostAction::Send { to, message } => self.outlet.send(to, &message.encode_as(self.precision(to))?)?,
                HostAction::Compute { tag, values } => {
                    if let Some(line) = self.lines.get(&(tag.plan, tag.visit)) {
                        line.compute(tag, values);
                    }
                }
                HostAction::Prepare(plan) => self.prepare(plan)?,
                HostAction::GatherFigures => {
                    let figures = self.lines.values().flat_map(VisitStages::figures).collect();
                    let spans = self.lines.values().flat_map(|line| line.spans(self.begin)).collect();
                    let sending = self.side.figures(figures, spans);
                    self.perform(sending)?;
                }
                HostAction::End => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    /// What floats are sent as to somebody; the front gets results as they are.
    fn precision(&self, to: Peer) -> TransferPrecision {
        match to {
            Peer::Front => TransferPrecision::F32,
            Peer::Host(HostId(place)) => self.loaded.hosts.precision(self.id.0, place).unwrap_or_default(),
        }
    }

    /// Gets the stages of a plan ready beside whatever else is at work.
    fn prepare(&self, plan: PlanId) -> Result<()> {
        let (loaded, host) = (Arc::clone(&self.loaded), self.id);
        let (computed, prepared) = (self.computed.0.clone(), self.prepared.0.clone());
        let work = move || {
            let lines = start_lines(&loaded, host, plan, &computed);
            drop(prepared.send((plan, lines.map_err(|error| format!("{error:#}")))));
        };
        thread::Builder::new().name("preparing".to_owned()).spawn(work).context("cannot start a thread")?;
        Ok(())
    }
}

/// The stages of all visits of a plan to a host.
fn start_lines(
    loaded: &LoadedDeployment,
    host: HostId,
    id: PlanId,
    computed: &Sender<Computed>,
) -> Result<Vec<(usize, VisitStages)>> {
    let plan = loaded.plans.get(id.0).context("there is no such plan")?;
    let visits = plan.parts.iter().enumerate().filter(|(_, part)| part.host() == host.0);
    visits.map(|(visit, part)| Ok((visit, VisitStages::start(loaded, (id, plan), part, computed)?))).collect()
}
