//! Whether what is found is what a certificate says.

use crate::error::CertifyError;

pub(crate) fn nanoseconds(what: &'static str, certified: u64, found: u64) -> Result<(), CertifyError> {
    if certified == found {
        Ok(())
    } else {
        Err(CertifyError::Number { what, certified: certified as f64, found: found as f64 })
    }
}
