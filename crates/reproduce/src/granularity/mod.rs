//! Thread granularity: the fitted lines, where they cross, and what they choose.

mod layers;
mod networks;
mod regions;

use millstream_predict::Line;
use millstream_predict::published::{Granularity, GranularityModel};

use crate::paper::ReproduceError;
use crate::report::{LeftOut, Reproduction};

/// Frequency of equations 8 to 13.
const HERTZ: f64 = 1.497e9;
/// Equations 8 to 13: granularity, milliseconds per multiply-accumulate, milliseconds.
const LINES: [(u32, f64, f64); 6] = [
    (1, 1.661e-6, 8.734),
    (2, 1.059e-6, 5.682),
    (4, 7.915e-7, 3.707),
    (8, 7.171e-7, 4.557),
    (16, 7.001e-7, 4.997),
    (32, 9.775e-7, 2.7961),
];

const LEFT_OUT: [LeftOut; 5] = [
    LeftOut {
        what: "Table 2, times of rows 10 to 12; table 3, times of rows 4 to 6",
        reason: "with the clock free to change, at frequencies that are not printed; their speedups are compared",
    },
    LeftOut {
        what: "Table 3, rows 1 to 3 and 7 to 9",
        reason: "another phone, for which the paper fits other lines and prints none",
    },
    LeftOut {
        what: "Table 4",
        reason: "other programs as measured; ours would be row 12 of table 2 again, at a frequency that is not printed",
    },
    LeftOut { what: "Figures 6 to 8", reason: "measured times of single layers, drawn without numbers" },
    LeftOut { what: "Figures 10 and 11", reason: "SqueezeNet's layers as measured, drawn without numbers" },
];

pub(crate) fn model() -> GranularityModel {
    let line = |(granularity, slope, intercept): (u32, f64, f64)| {
        (Granularity(granularity), Line::new(slope * 1e-3, intercept * 1e-3))
    };
    GranularityModel::new(HERTZ, LINES.map(line))
}

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    let model = model();
    let mut sections = vec![regions::section(&model), layers::section(&model)?, regions::frequencies(&model)];
    sections.extend(networks::tables(&model)?);
    Ok(Reproduction {
        paper: "Motamedi et al., Machine Intelligence on Resource-Constrained IoT Devices (TECS 2017)".to_owned(),
        sections,
        figures: vec![regions::figure(&model)?],
        slowdowns: Vec::new(),
        left_out: LEFT_OUT.to_vec(),
    })
}
