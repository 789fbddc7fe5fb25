//! The points of the suite.

use crate::subject::Subject;
use crate::{
    concurrency, destination, frames, lost_device, misfits, networks, observed, parts, refusals, tiles, values,
};

/// One point of the suite: something that every backend must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Operators of every family give values known beforehand.
    Values,
    /// Parts by channels join to the whole, and misplaced parts are refused.
    Parts,
    /// Tiles of rows join to the whole, if it makes any.
    Tiles,
    /// Results are written where the caller wants them.
    RunInto,
    /// Frames do not depend on those before them, and results stay as they were made.
    Frames,
    /// Prepared segments do not disturb each other, in one thread and in several.
    Concurrency,
    /// Tensors that do not fit are refused, and the segment stays usable.
    Misfits,
    /// What is not supported is known beforehand, and preparing agrees.
    Refusals,
    /// Once its device is lost, everything is an error of that kind.
    LostDevice,
    /// Every network of the zoo gives the same as a whole, in two segments and in the reference.
    Networks,
    /// Times of operators cover the segment and add up.
    Traces,
    /// Times of transfers are there where there is something to transfer.
    Transfers,
}

impl Point {
    /// All points.
    pub const ALL: [Self; 12] = [
        Self::Values,
        Self::Parts,
        Self::Tiles,
        Self::RunInto,
        Self::Frames,
        Self::Concurrency,
        Self::Misfits,
        Self::Refusals,
        Self::LostDevice,
        Self::Networks,
        Self::Traces,
        Self::Transfers,
    ];

    /// Tests a backend.
    ///
    /// # Errors
    /// What the backend does wrong.
    pub fn check(self, subject: &Subject) -> Result<(), String> {
        match self {
            Self::Values => values::check(subject),
            Self::Parts => parts::check(subject),
            Self::Tiles => tiles::check(subject),
            Self::RunInto => destination::check(subject),
            Self::Frames => frames::check(subject),
            Self::Concurrency => concurrency::check(subject),
            Self::Misfits => misfits::check(subject),
            Self::Refusals => refusals::check(subject),
            Self::LostDevice => lost_device::check(subject),
            Self::Networks => networks::check(subject),
            Self::Traces => observed::check_traces(subject),
            Self::Transfers => observed::check_transfers(subject),
        }
    }
}

/// Makes a test of every point of the suite. The expression gives the [`Subject`], or `None` where there is nothing to
/// test.
#[macro_export]
macro_rules! conformance {
    ($subject:expr) => {
        $crate::conformance! { $subject,
            values: Values, parts: Parts, tiles: Tiles, run_into: RunInto, frames: Frames, concurrency: Concurrency, misfits: Misfits,
            refusals: Refusals, lost_device: LostDevice, networks: Networks, traces: Traces, transfers: Transfers,
        }
    };
    ($subject:expr, $($test:ident: $point:ident,)*) => {
        $(#[test]
        fn $test() -> ::std::result::Result<(), ::std::string::String> {
            let subject: ::std::option::Option<$crate::Subject> = ::std::convert::Into::into($subject);
            subject.map_or(Ok(()), |subject| $crate::Point::$point.check(&subject))
        })*

        #[test]
        fn no_point_is_missing() {
            assert_eq!([$($crate::Point::$point),*], $crate::Point::ALL);
        }
    };
}
