//! Frames for a system, and what sequential inference makes of them.

use std::path::Path;

use millstream_backend::Tensor;
use millstream_frames::{Golden, Tolerance};
use millstream_graph::ValueId;

use crate::backends::needed::Needed;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::open_to_run;
use crate::network::Network;
use crate::run::precisions::ResultMakers;
use crate::run::reference::Reference;
use crate::run::sink::told;
use crate::systems::sent::{AsReceived, SentParts};
use crate::systems::{HostPart, Hosts};

/// Frames of a network, which take turns, with the results of sequential inference on this computer to compare with.
pub struct CheckedFrames {
    reference: Reference,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    expected: Option<Expected>,
    sending_changes: f64,
}

/// Results that somebody expects.
struct Expected {
    golden: Golden,
    tolerance: Tolerance,
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
        let (inputs, outputs) = (graph.inputs().to_vec(), graph.outputs().to_vec());
        Ok(Self { reference, inputs, outputs, expected: None, sending_changes: 0.0 })
    }

    /// The same for the parts of a schedule that go one after the other, where what is sent in fewer bits between hosts
    /// may change results: as much as it does when the parts run one after the other on the machine. Of several
    /// schedules, the most counts.
    ///
    /// # Errors
    /// Whatever keeps the parts from running there.
    pub fn sending(
        mut self,
        (network, hosts, parts): (&Network, &Hosts, &[HostPart]),
        machine: &Machine,
        received: AsReceived<'_>,
    ) -> Result<Self, Error> {
        let Some(mut sent) = SentParts::new(parts, hosts, network, machine)? else { return Ok(self) };
        let frames = (0..self.reference.different_frames() as u64).map(|number| self.frame(number));
        let results = frames.map(|frame| sent.run(frame, received)).collect::<Result<Vec<_>, Error>>()?;
        self.sending_changes = self.sending_changes.max(self.reference.largest_difference(&results)?);
        let Self { reference, sending_changes, .. } = self;
        Ok(Self { reference: reference.with_transfers(sending_changes), ..self })
    }

    /// The same where results are to be those of a file, or of a folder with a file for each frame, within so much
    /// relative to the largest element; by their type if `None`.
    ///
    /// # Errors
    /// [`Error::Frames`] if the file can't be read or has other results than the network.
    pub fn expecting(self, network: &Network, path: &Path, relative: Option<f64>) -> Result<Self, Error> {
        let golden = Golden::read(path, network.graph(), self.reference.frames())?;
        let tolerance = Tolerance { relative, ..Tolerance::default() };
        Ok(Self { expected: Some(Expected { golden, tolerance }), ..self })
    }

    /// By how much values that are sent in fewer bits change the results, relative to the largest element: 0 where all
    /// are sent as they are.
    pub fn sending_changes(&self) -> f64 {
        self.sending_changes
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
    /// [`Error::Different`] if they differ by more than rounding and what is [sent](Self::sending) explain,
    /// [`Error::Unexpected`] if they are not what is [expected](Self::expecting).
    pub fn check(&self, number: u64, results: &[(ValueId, Tensor)]) -> Result<f64, Error> {
        let find = |&id: &ValueId| results.iter().find(|result| result.0 == id).map(|result| result.1.clone());
        let results: Vec<Tensor> = self.outputs.iter().filter_map(find).collect();
        let largest = self.reference.check(number, &results)?;
        if let Some(Expected { golden, tolerance }) = &self.expected {
            let (place, label) = (self.reference.place(number), self.reference.label(number));
            if let Err(wrong) = golden.check(place, &label, &results, *tolerance)? {
                let (expected, detail) = (golden.path().to_owned(), told(&wrong));
                return Err(Error::Unexpected { wrong: 1, frames: 1, expected, detail });
            }
        }
        Ok(largest)
    }
}
