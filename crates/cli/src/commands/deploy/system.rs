//! `deploy --system`: plans for all hosts of a system, and for when each is lost, and has `millstream-node` run that.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use millstream::{Aim, Error, Hosts, Network, OnHosts, files, plan_system};

use super::written::{RUN, SCHEDULE};
use crate::arguments::{DEFAULT_MODEL, DeployCommand};
use crate::output;

/// The variable that names the program of hosts.
const PROGRAM_VARIABLE: &str = "MILLSTREAM_NODE";
/// What it is called.
const PROGRAM: &str = "millstream-node";
const TRACE: &str = "trace.json";

pub(super) fn run(command: &DeployCommand, system: &Path) -> Result<()> {
    let folder = &command.output;
    files::check_folder(folder)?;
    if command.inputs.brings_into_form() {
        bail!(
            "frames of a system are brought into form as without options: leave out --scale, --mean, --std, --resize and --channel-order"
        );
    }
    let hosts = Hosts::read(system)?;
    let model = command.model.model.as_deref().unwrap_or(DEFAULT_MODEL);
    let network =
        Network::open(model, command.model.dimensions.read_options()?)?.with_inputs(&command.inputs.inputs())?;

    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let fallbacks = plan_all(command, &hosts, &network)?;
    let mut node = Command::new(program());
    node.arg("run").arg("--system").arg(system).arg("--schedule").arg(folder.join(SCHEDULE));
    for fallback in &fallbacks {
        node.arg("--fallback").arg(fallback);
    }
    for input in &command.inputs.inputs {
        node.arg(format!("--input={input}"));
    }
    node.args(command.frames.map(|frames| format!("--frames={frames}")));
    node.arg("--output").arg(folder.join(RUN)).arg("--trace").arg(folder.join(TRACE));
    node.args(command.json.then_some("--json")).args(&command.more);
    output::remark(format!(
        "the report goes to {}, the trace to {}",
        folder.join(RUN).display(),
        folder.join(TRACE).display()
    ));
    become_it(&mut node)
}

/// Writes a schedule for all hosts into the folder, and one for when each is lost, whose paths are returned.
fn plan_all(command: &DeployCommand, hosts: &Hosts, network: &Network) -> Result<Vec<PathBuf>> {
    let aim = Aim::best(command.objective);
    let folder = &command.output;
    let write = |name: &str, without: &[String]| -> Result<(PathBuf, String)> {
        let planned = plan_system(hosts, network, &aim, &OnHosts { without: without.to_vec(), ..OnHosts::default() })?;
        let path = folder.join(name);
        files::write(&path, &files::to_json(&planned.document)?)?;
        Ok((path, planned.document.configuration))
    };
    let (path, configuration) = write(SCHEDULE, &[])?;
    output::remark(format!("wrote {}: {configuration}", path.display()));

    let mut fallbacks = Vec::new();
    for host in hosts.system().hosts().iter().filter(|_| hosts.system().hosts().len() > 1) {
        match write(&format!("without-{}.json", host.id), std::slice::from_ref(&host.id)) {
            Ok((path, configuration)) => {
                output::remark(format!("wrote {}: {configuration}, for when '{}' is lost", path.display(), host.id));
                fallbacks.push(path);
            }
            // A host that nobody can do without has no schedule to fall back on: whatever else is wrong is an error.
            Err(error) if is_infeasible(&error) => {
                output::remark(format!("nothing is possible without '{}': {error:#}", host.id));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(fallbacks)
}

fn is_infeasible(error: &anyhow::Error) -> bool {
    use millstream::pipeline::PipelineError;

    let Some(Error::Pipeline(error)) = error.downcast_ref::<Error>() else { return false };
    matches!(error, PipelineError::Infeasible | PipelineError::HostMemory { .. } | PipelineError::Unsupported { .. })
}

/// The program of hosts: what the variable names, else one beside this, else whatever is found as commands are.
fn program() -> OsString {
    if let Some(named) = std::env::var_os(PROGRAM_VARIABLE).filter(|named| !named.is_empty()) {
        return named;
    }
    let file = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&file)));
    beside.filter(|beside| beside.is_file()).map_or_else(|| file.into(), PathBuf::into_os_string)
}

/// Goes on as the program of hosts, which gets the signals that are for this one, and ends with a code of its own.
fn become_it(node: &mut Command) -> Result<()> {
    let remedy = format!(
        "`cargo xtask node` builds it; put it beside this program or on the PATH, or name it with {PROGRAM_VARIABLE}"
    );
    let error = node.exec();
    Err(error).with_context(|| format!("cannot start {}: {remedy}", node.get_program().display()))
}
