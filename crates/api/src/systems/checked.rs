//! Frames for a system, and what sequential inference makes of them.

use millstream_backend::Tensor;
use millstream_graph::ValueId;

use crate::backends::needed::Needed;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::open_to_run;
use crate::network::Network;
use crate::run::precisions::ResultMakers;
use crate::run::reference::Reference;

/// Frames of a network, which take turns, with the results of sequential inference on this computer to compare with.
pub struct CheckedFrames {
    reference: Reference,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl CheckedFrames {
    /// Runs the network as a whole on each of its different frames, on the first core of a machine.
    ///
    /// # Errors
    /// Whatever keeps the network from running there.
    pub fn new(network: &Network, machine: &Machine) -> Result<Self, Error> {
        machine.check_usable()?;
        let (backends, _) = open_to_run(machine, network, &Needed::All, &[])?;
        let board = machine.board();
        let reference = Reference::new(network, backends.backend(), board, &ResultMakers::all_of(board), None)?;
        let graph = network.graph();
        Ok(Self { reference, inputs: graph.inputs().to_vec(), outputs: graph.outputs().to_vec() })
    }

    /// The frame of this number, input by input.
    pub fn frame(&self, number: u64) -> Vec<(ValueId, Tensor)> {
        self.inputs.iter().copied().zip(self.reference.frame(number)).collect()
    }

    /// How many different frames there are.
    pub fn different(&self) -> usize {
        self.reference.different_frames()
    }

    /// Compares what came of a frame with sequential inference, and returns the largest difference, relative to the
    /// largest element.
    ///
    /// # Errors
    /// [`Error::Different`] if they differ by more than rounding explains.
    pub fn check(&self, number: u64, results: &[(ValueId, Tensor)]) -> Result<f64, Error> {
        let find = |&id: &ValueId| results.iter().find(|result| result.0 == id).map(|result| result.1.clone());
        let results: Vec<Tensor> = self.outputs.iter().filter_map(find).collect();
        self.reference.check(number, &results)
    }
}
