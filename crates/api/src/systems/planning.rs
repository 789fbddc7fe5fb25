//! Plans for networks on several boards.

use millstream_board::ProcessorClass;
use millstream_certify::{Certificate, HostsProof, NetworkBlocks, can_check_hosts};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_pipeline::{
    HostDivision, HostPlace, Objective, PipelineError, Plan, SystemFront, SystemProblem, ThroughputBound, choose,
    teams_of,
};
use millstream_schedule::{
    Crossing, Evaluation, FrameWays, Prediction, Schedule, ScheduleDocument, SearchedBound, SearchedSpace,
};
use millstream_sim::SteadyState;

use crate::certifying::written;
use crate::error::Error;
use crate::network::Network;
use crate::plans::other_drivers::other_drivers;
use crate::plans::shared_memory::simulated;
use crate::plans::timed::with_what_has_times;
use crate::plans::{Aim, replica_seconds};
use crate::schedules::document;
use crate::systems::{Hosts, OnHosts, SystemDivision};

/// A network on a system.
pub struct SystemPlan {
    /// Everything that no other plan beats in period without losing in latency, from the lowest latency on. Where
    /// stages or replicas wait for the same link of a board, with the numbers of a simulation.
    pub front: Vec<Plan>,
    /// How the network is divided.
    pub division: SystemDivision,
    /// Whether nothing in the space that was searched, but for stages that several processors own together, is better
    /// than the front; not known if the network is divided in a way that was asked for, or where the memory of a host
    /// has no room for what would be, or where stages or replicas of a host wait for the same link.
    pub is_exact: bool,
    /// The one that suits the aim.
    pub plan: Plan,
    /// How it runs.
    pub schedule: Schedule,
    /// What it achieves, links included.
    pub evaluation: Evaluation,
    /// The ways between its hosts, stage by stage.
    pub crossings: Vec<Option<Crossing>>,
    /// The ways of frames from outside and of results to there.
    pub frame_ways: FrameWays,
    /// Its file.
    pub document: ScheduleDocument,
    /// No schedule on these hosts goes below this, whatever links carry.
    pub bound: ThroughputBound,
    /// What others would do.
    pub rivals: Vec<SystemRival>,
    /// A sentence on each accelerator that is not used because another one drives its device.
    pub other_drivers: Vec<String>,
    /// The costs that all this is by.
    pub table: CostTable,
    problem: SystemProblem,
    shortest_without_teams: Option<Nanoseconds>,
    /// Of the shortest period without teams, where it is exact and not too much to check.
    proof: Option<HostsProof>,
}

/// A network divided as it is usually done.
pub struct SystemRival {
    /// How it is divided.
    pub name: String,
    /// The best plan of those that are divided so, for the same objective; or why there is none.
    pub plan: Result<Plan, String>,
}

impl SystemPlan {
    /// The shortest period of what was found.
    pub fn shortest(&self) -> Nanoseconds {
        self.front.iter().map(|plan| plan.period).min().unwrap_or_default()
    }

    /// The shortest period of everything that was searched but for stages that several processors own together; `None`
    /// if the front is not [exact](Self::is_exact).
    pub fn shortest_without_teams(&self) -> Option<Nanoseconds> {
        self.shortest_without_teams
    }

    /// Its certificate: a period that no schedule on these hosts goes below by the costs, even if links took no time,
    /// and where the front is [exact](Self::is_exact), the shortest of pipelines over them whose stages are on single
    /// processors.
    pub fn certificate(&self) -> Certificate {
        let certificate = written(&self.document, self.evaluation.period, &self.bound);
        let hosts = self.proof.clone();
        let unproven = self.document.predicted.searched.clone().filter(|_| hosts.is_none());
        Certificate { hosts, unproven, ..certificate }
    }

    /// How another plan of the front runs.
    pub fn schedule_of(&self, plan: &Plan) -> Schedule {
        self.problem.schedule(plan)
    }
}

/// Searches for a schedule of a network on a system that suits the aim, by the costs that its file names
/// (`SystemPlan::is_exact` says when nothing without teams is better than the front). Hosts may be left out, for what
/// there is to fall back on when they are lost, and divisions asked for, as others would have them. Nothing runs.
///
/// # Errors
/// [`Error::Pipeline`] if nothing runs the network or keeps to the constraints, [`Error::File`] if costs can't be read,
/// [`Error::Unfit`] if the aim is about energy, which is not counted over several boards, or a host is not there.
pub fn plan_system(hosts: &Hosts, network: &Network, aim: &Aim, on: &OnHosts) -> Result<SystemPlan, Error> {
    if aim.wants_energy {
        let remedy = "choose another objective, and leave a limit on power out";
        return Err(Error::Unfit(format!("plans over several boards don't count energy: {remedy}")));
    }
    let lost = on.without.iter().map(|name| hosts.place(name)).collect::<Result<Vec<_>, _>>()?;
    if (0..hosts.system().hosts().len()).all(|place| lost.contains(&HostPlace::new(place))) {
        return Err(Error::Unfit("no host is left to plan for".to_owned()));
    }
    let (graph, board) = (network.graph(), hosts.machine().board());
    let table = hosts.table(network)?;
    let teams = teams_of_hosts(hosts, &table);
    let problem = SystemProblem::with_teams(graph, network.chain(), hosts.system(), &table, (&teams, aim.effort))?;
    let problem = evaluated(problem, hosts, &lost)?;
    let bound = ThroughputBound::of(graph, board, &table);
    let SystemFront { plans, is_exact, shortest_without_teams } = front_of(&on.division, hosts, &problem, &lost)?;
    let shortest_without_teams = shortest_without_teams.filter(|_| is_exact);
    let simulate = |plan: &Plan| simulated_if_it_waits(plan, &problem.schedule(plan), network, &table);
    let front = Plan::undominated(plans.iter().map(simulate).collect::<Result<_, Error>>()?);
    let plan = best(aim.limits().among(&front)?, aim.objective)?;

    let schedule = problem.schedule(&plan);
    let evaluation = schedule.evaluate(graph, &table)?;
    let crossings = schedule.crossings(graph, &table)?;
    let searched =
        |shortest: Nanoseconds| SearchedBound { period_seconds: shortest.seconds(), space: SearchedSpace::Hosts };
    let predicted = Prediction {
        searched: shortest_without_teams.map(searched),
        period_seconds: plan.period.seconds(),
        latency_seconds: plan.latency.seconds(),
        replica_seconds: replica_seconds(&plan),
        ..Prediction::new(&evaluation, bound.period.seconds())
    };
    let algorithm = on.division.algorithm(is_exact, problem.has_teams());
    let document = document(&schedule, predicted, algorithm, aim.objective, network, board);
    let document = ScheduleDocument { constraints: aim.stated(), ..document };
    let rivals = rivals(hosts, &problem, aim, &lost);
    let proof = shortest_without_teams.and_then(|shortest| proof(shortest, hosts, network, &table, &on.without));
    Ok(SystemPlan {
        front,
        division: on.division.clone(),
        is_exact,
        plan,
        evaluation,
        crossings,
        frame_ways: schedule.frame_ways(graph, &table)?,
        schedule,
        document,
        bound,
        rivals,
        other_drivers: other_drivers(board, &table),
        table,
        problem,
        shortest_without_teams,
        proof,
    })
}

/// The problem with teams evaluated for all divisions that are looked at, whichever is asked for: so nothing that
/// others would do is found to be better than ours, and who asks for that gets what is shown beside ours.
fn evaluated(problem: SystemProblem, hosts: &Hosts, lost: &[HostPlace]) -> Result<SystemProblem, Error> {
    let all = hosts.system().hosts().iter().map(|host| SystemDivision::Only(host.id.clone()));
    let others = all.chain([SystemDivision::Equal, SystemDivision::Memory]);
    let mut divisions = vec![HostDivision::without(&problem, lost)];
    // What can't be done is told where it is asked for.
    divisions.extend(others.filter_map(|other| other.of(hosts, &problem, lost).ok().flatten()));
    Ok(problem.evaluated_for(&divisions)?)
}

/// Processors of a host that may own a stage together, of all hosts.
fn teams_of_hosts(hosts: &Hosts, table: &CostTable) -> Vec<Vec<ProcessorClass>> {
    let boards = hosts.system().hosts().iter().map(|host| with_what_has_times(&host.in_system(), table));
    boards.flat_map(|board| teams_of(&board)).collect()
}

/// What says that no pipeline over the hosts, with stages on single processors, has a shorter period; `None` if these
/// are too many to be followed.
fn proof(
    shortest: Nanoseconds,
    hosts: &Hosts,
    network: &Network,
    table: &CostTable,
    without: &[String],
) -> Option<HostsProof> {
    let board = table.board_without_other_drivers(hosts.machine().board());
    let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
    let names = hosts.system().hosts().iter().map(|host| &host.id);
    let without: Vec<String> = names.filter(|name| without.contains(name)).cloned().collect();
    can_check_hosts(blocks, &board, table, &without).then(|| HostsProof {
        period_nanoseconds: shortest.0,
        blocks: network.chain().blocks().len(),
        without,
    })
}

/// A plan with the numbers that a simulation shows, if its stages or replicas wait for the same link of a board.
fn simulated_if_it_waits(
    plan: &Plan,
    schedule: &Schedule,
    network: &Network,
    table: &CostTable,
) -> Result<Plan, Error> {
    if schedule.evaluate(network.graph(), table)?.shares_board_links() {
        simulated(plan, schedule, network, table, None, SteadyState::FRAMES)
    } else {
        Ok(plan.clone())
    }
}

/// The front of plans that are divided so. It is called exact only if nobody asked for a division.
fn front_of(
    division: &SystemDivision,
    hosts: &Hosts,
    problem: &SystemProblem,
    lost: &[HostPlace],
) -> Result<SystemFront, Error> {
    Ok(match division.of(hosts, problem, lost)? {
        None => problem.front_without(lost)?,
        Some(division) => SystemFront { is_exact: false, ..problem.front_of(&division)? },
    })
}

/// The plan that an objective asks for.
fn best(plans: Vec<Plan>, objective: Objective) -> Result<Plan, Error> {
    let place = choose(&plans, objective);
    let plan = place.and_then(|place| plans.into_iter().nth(place));
    plan.ok_or(Error::Pipeline(PipelineError::Infeasible))
}

/// What others do: all on one host, equal parts for all hosts, parts by the sizes of their memories. Each host runs its
/// part as well as it can, and keeps to the same limits.
fn rivals(hosts: &Hosts, problem: &SystemProblem, aim: &Aim, lost: &[HostPlace]) -> Vec<SystemRival> {
    let all = hosts.system().hosts();
    let of = |name: String, division: &SystemDivision| {
        let allowed = |front: SystemFront| best(aim.limits().among(&front.plans)?, aim.objective);
        let plan = front_of(division, hosts, problem, lost).and_then(allowed);
        let reason = |error: Error| match error {
            Error::Pipeline(PipelineError::Infeasible) => {
                "nothing runs like that: hosts that follow each other have no link, or one runs none of its part"
                    .to_owned()
            }
            error => error.to_string(),
        };
        SystemRival { name, plan: plan.map_err(reason) }
    };
    let left = all.iter().enumerate().filter(|(place, _)| !lost.contains(&HostPlace::new(*place)));
    let alone = |host: &str| of(format!("all on {host}"), &SystemDivision::Only(host.to_owned()));
    let mut rivals: Vec<SystemRival> = left.map(|(_, host)| alone(&host.id)).collect();
    // Of these only the best is one that somebody would choose.
    let (places, plans): (Vec<usize>, Vec<Plan>) =
        rivals.iter().enumerate().filter_map(|(place, rival)| Some((place, rival.plan.as_ref().ok()?.clone()))).unzip();
    if !rivals.is_empty() {
        let place = choose(&plans, aim.objective).and_then(|index| places.get(index).copied()).unwrap_or(0);
        rivals = vec![rivals.swap_remove(place)];
    }
    rivals.push(of("equal parts".to_owned(), &SystemDivision::Equal));
    rivals.push(of("parts by memory".to_owned(), &SystemDivision::Memory));
    rivals
}
