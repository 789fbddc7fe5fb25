//! What values that are sent in fewer bits do to results.

use std::collections::HashMap;

use millstream_backend::{Tensor, WholeNetwork};
use millstream_board::TransferPrecision;
use millstream_graph::ValueId;

use crate::backends::needed::Needed;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::open_to_run;
use crate::network::Network;
use crate::systems::parts::border_in;
use crate::systems::{HostPart, Hosts};

/// What a receiver gets of a value that is sent with a precision.
pub type AsReceived<'a> = &'a dyn Fn(&Tensor, TransferPrecision) -> Tensor;

/// The parts of a schedule one after the other on one core, each frame alone, with what goes between hosts as it is
/// sent.
pub(super) struct SentParts {
    parts: Vec<SentPart>,
    outputs: Vec<ValueId>,
}

struct SentPart {
    whole: WholeNetwork,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    needed_after: Vec<ValueId>,
    /// Of the link to the next part's host.
    precision: TransferPrecision,
}

impl SentParts {
    /// `None` if everything is sent as it is.
    pub(super) fn new(
        parts: &[HostPart],
        hosts: &Hosts,
        network: &Network,
        machine: &Machine,
    ) -> Result<Option<Self>, Error> {
        let precisions = precisions(parts, hosts);
        if precisions.iter().all(TransferPrecision::is_full) {
            return Ok(None);
        }
        let prepare = |(part, precision): (&HostPart, TransferPrecision)| {
            let own = part.network(network)?;
            let (backends, _) = open_to_run(machine, &own, &Needed::All, &[])?;
            let whole = own.prepare_whole(backends.backend().as_ref(), machine.board())?;
            let (inputs, outputs) = border_in(network.graph(), own.graph())?;
            Ok(SentPart { whole, inputs, outputs, needed_after: part.needed_after().to_vec(), precision })
        };
        let parts = parts.iter().zip(precisions).map(prepare).collect::<Result<_, Error>>()?;
        Ok(Some(Self { parts, outputs: network.graph().outputs().to_vec() }))
    }

    /// The results of a frame.
    pub(super) fn run(
        &mut self,
        frame: Vec<(ValueId, Tensor)>,
        received: AsReceived<'_>,
    ) -> Result<Vec<Tensor>, Error> {
        let mut values: HashMap<ValueId, Tensor> = frame.into_iter().collect();
        for part in &mut self.parts {
            let inputs = those_of(&values, &part.inputs)?;
            let outputs = part.whole.run(&inputs)?;
            values.extend(part.outputs.iter().copied().zip(outputs));
            values.retain(|id, _| part.needed_after.contains(id));
            values.values_mut().for_each(|value| *value = received(value, part.precision));
        }
        those_of(&values, &self.outputs)
    }
}

fn those_of(values: &HashMap<ValueId, Tensor>, ids: &[ValueId]) -> Result<Vec<Tensor>, Error> {
    let lost = || Error::Defect("a value of a frame is needed that no part of the network made".to_owned());
    ids.iter().map(|id| values.get(id).cloned().ok_or_else(lost)).collect()
}

/// What each part sends with; the last one sends nothing to another host.
fn precisions(parts: &[HostPart], hosts: &Hosts) -> Vec<TransferPrecision> {
    let next = parts.iter().skip(1).map(Some).chain([None]);
    let between = |(part, next): (&HostPart, Option<&HostPart>)| hosts.precision(part.host(), next?.host());
    parts.iter().zip(next).map(|pair| between(pair).unwrap_or_default()).collect()
}
