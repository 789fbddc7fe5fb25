//! Whether what is found is what a certificate says.

use crate::CertifyError;

pub(crate) fn nanoseconds(what: &'static str, certified: u64, found: u64) -> Result<(), CertifyError> {
    match certified == found {
        true => Ok(()),
        false => Err(CertifyError::Number { what, certified: certified as f64, found: found as f64 }),
    }
}
