//! Whether what is found is what a certificate says.

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::ScheduleDocument;

use crate::stage_rates::StageRates;
use crate::{Certificate, CertifyError};

pub(crate) fn nanoseconds(what: &'static str, certified: u64, found: u64) -> Result<(), CertifyError> {
    match certified == found {
        true => Ok(()),
        false => Err(CertifyError::Number { what, certified: certified as f64, found: found as f64 }),
    }
}
