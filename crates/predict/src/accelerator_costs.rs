//! Adding accelerators to cost models of a board: as published, or as measured.

use std::collections::BTreeSet;

use millstream_board::{Board, Processor};

use crate::calibration::{AcceleratorCostModel, AcceleratorCosts, MeasuredOperators};
use crate::measured_convolutions::MeasuredConvolutions;
use crate::model::{ProcessorModel, TimedOperators, main_of};
use crate::profile::Profile;
use crate::samples::OperatorRecord;

/// Costs of one of the board's accelerators, fitted to what operators took there: by the default model, and for
/// convolutions by whichever formula does best on shapes that it did not see. `None` if too few different ones were
/// measured.
pub(crate) fn measured_costs(profile: &Profile, board: &Board, label: &str) -> Option<AcceleratorCosts> {
    let class = Processor::accelerator(label).class();
    let observations = TimedOperators::all(profile, &class);
    let model = ProcessorModel::fit(&class, board, &observations).ok()?;
    let (mut main, mut within) = (BTreeSet::new(), BTreeSet::new());
    for network in &profile.networks {
        let operators: Vec<&OperatorRecord> = network.operators().collect();
        for sample in network.operator_samples.iter().filter(|sample| sample.processor == class) {
            let members: Vec<&OperatorRecord> =
                sample.operators.iter().filter_map(|&index| operators.get(index).copied()).collect();
            main.extend(main_of(&members).map(|operator| operator.op_type.clone()));
            within.extend(members.iter().map(|operator| operator.op_type.clone()));
        }
    }
    let within = within.into_iter().filter(|op_type| !main.contains(op_type)).collect();
    let convolutions = MeasuredConvolutions::new(&class, board, &observations, &profile.granularity).choice();
    let measured = MeasuredOperators { model, main: main.into_iter().collect(), within, convolutions };
    let model = AcceleratorCostModel::Measured(Box::new(measured));
    Some(AcceleratorCosts { label: label.to_owned(), model, unsupported: Vec::new() })
}
