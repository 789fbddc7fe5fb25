//! From a model and options to a session at work.

use millstream_api::bindings::Submissions;
use millstream_api::{Control, Machine, Network, Session};

use crate::border::MsStatus;
use crate::failure::Failure;
use crate::options::Options;
use crate::ports::Port;

/// A session with what C asks of it by pointers that must stay as they are.
pub(crate) struct Opened {
    pub(crate) session: Session,
    /// Frames that are submitted one by one.
    pub(crate) submissions: Submissions,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
}

/// Opens a session on a thread of its own, which may pin itself to cores while it measures.
pub(crate) fn open(model: Option<&str>, options: &Options) -> Result<Opened, Failure> {
    let thread = std::thread::Builder::new().name("session".to_owned());
    std::thread::scope(|scope| {
        let opening = thread.spawn_scoped(scope, || start(model, options));
        let opening =
            opening.map_err(|error| Failure::new(MsStatus::Failed, format!("cannot start a thread: {error}")))?;
        opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn start(model: Option<&str>, options: &Options) -> Result<Opened, Failure> {
    let (request, engine_options) = (options.request()?, options.engine_options()?);
    let schedule = options.schedule()?;
    let open = |model| Network::open(model, options.read_options())?.with_inputs(&options.inputs());
    let network = model.map(open).transpose()?;
    let machine: Machine = options.machine()?;
    let (machine, scheduled) = request.scheduled(&machine, network, schedule, &Control::new())?;
    let graph = scheduled.network.graph();
    let ports = |ids: &[millstream_api::graph::ValueId]| ids.iter().map(|&id| Port::new(graph.value(id))).collect();
    let (inputs, outputs) = (ports(graph.inputs()), ports(graph.outputs()));
    let session = Session::start(&machine, scheduled, &engine_options)?;
    let submissions = Submissions::new(&session)?;
    Ok(Opened { session, submissions, inputs, outputs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_to_measure_with_are_read() {
        let options = Options::parse(Some(r#"{ "inputs": ["none.npy"], "costs": "khadas-vim3" }"#));
        let refused = options.and_then(|options| open(Some("zoo:squeezenet"), &options)).err();
        assert!(refused.as_ref().is_some_and(|failure| failure.message.contains("none.npy")), "{refused:?}");
    }
}
