//! Accelerators that run nothing because another one drives the same device.

use millstream_board::{Accelerator, Board};
use millstream_cost::CostTable;

use crate::control::{Control, Event};

/// Says which accelerators are not used because another one drives their device.
pub(crate) fn report_other_drivers(board: &Board, table: &CostTable, control: &Control) {
    other_drivers(board, table).iter().for_each(|text| control.emit(&Event::OtherDriver(text)));
}

/// A sentence on each accelerator that is not used because another one drives its device.
pub(crate) fn other_drivers(board: &Board, table: &CostTable) -> Vec<String> {
    let text = |(idle, used): (&Accelerator, &Accelerator)| {
        format!(
            "{} is not used: it is the same device as {}, with which the network's operators take no longer",
            idle.label, used.label
        )
    };
    table.other_drivers(board).into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_onnx::ReadOptions;
    use millstream_pipeline::Objective;
    use millstream_test_support::{board, table};

    use super::*;
    use crate::control::tests::told;
    use crate::network::Network;
    use crate::plans::{Aim, Plans};

    /// Two libraries drive one device. Both together would pass more frames than either: no schedule has both.
    #[test]
    fn a_schedule_has_one_driver_of_a_device() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let apart = board("B1+G+V=gpu");
        let [shaders, openvino] = apart.accelerators() else { unreachable!("there are two") };
        let openvino = Accelerator { same_device_as: Some("G".to_owned()), ..openvino.clone() };
        let one = apart.with_accelerators(vec![shaders.clone(), openvino]).unwrap();

        for (board, drivers) in [(&apart, 2), (&one, 1)] {
            let times = |label: &str| if label == "V" { 900 } else { 1000 };
            let table = table(network.graph(), board, |_, class| Some(times(&class.cluster)));
            let other_driver = |event: &Event<'_>| match event {
                Event::OtherDriver(text) => Some((*text).to_owned()),
                _ => None,
            };
            let mut found = None;
            let said = told(other_driver, |control| {
                found = Some(Plans::search(&network, board, &table, Aim::default(), control).unwrap());
            });
            let plans = found.unwrap();
            let schedule = plans.schedule(plans.chosen(Objective::Throughput).unwrap());
            schedule.validate(network.graph(), board).unwrap();
            let used = schedule.processors().filter(|processor| processor.is_accelerator()).count();
            assert_eq!(used, drivers, "{schedule}");
            assert_eq!(said.iter().filter(|text| text.starts_with("G is not used")).count(), 2 - drivers, "{said:?}");

            // What somebody writes by hand is refused.
            if drivers == 2 {
                let refused = schedule.validate(network.graph(), &one).unwrap_err().to_string();
                assert!(refused.contains("is used twice"), "{refused}");
            }
        }
    }
}
