//! Why a certificate is refused.

use millstream_board::DocumentError;
use millstream_schedule::{MissedConstraint, ScheduleError};
use thiserror::Error;

/// Why a certificate is refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertifyError {
    /// It is not a certificate.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It is of something else.
    #[error("the certificate is of another schedule: its {what} is {certified}, that of the schedule is {of_schedule}")]
    OtherSchedule {
        /// What differs.
        what: &'static str,
        /// What the certificate has.
        certified: String,
        /// What the schedule has.
        of_schedule: String,
    },
    /// A number is not what comes out when it is worked out again.
    #[error("{what} is {certified} in the certificate; by this board and these costs it is {found}")]
    Number {
        /// Which number.
        what: &'static str,
        /// What the certificate says.
        certified: f64,
        /// What it is.
        found: f64,
    },
    /// The dual prices of the bound on all schedules are not valid.
    #[error("the shares of the throughput's proof do not add up to the whole board: {detail}")]
    Shares {
        /// What is wrong.
        detail: String,
    },
    /// What is said to be reached is not what is reached.
    #[error("what pipelines on single processors reach is not as the certificate says: {detail}")]
    Reached {
        /// Where it differs.
        detail: String,
    },
    /// What is said of the searched space is not so.
    #[error("what the certificate says of all that was searched does not hold: {detail}")]
    Searched {
        /// What is wrong.
        detail: String,
    },
    /// What is said of pipelines over several hosts is not so.
    #[error(
        "what the certificate says of pipelines over several hosts does not hold: {detail}; give the system file that the schedule was planned for, or plan again and make a new certificate"
    )]
    Hosts {
        /// What is wrong.
        detail: String,
    },
    /// A schedule promises what it does not take.
    #[error(
        "the schedule promises that {what} is {promised}, although it was not measured; by this board or system and its costs it is {found}; give what it was planned for, or plan again"
    )]
    Promise {
        /// Which number, with its unit.
        what: &'static str,
        /// What the schedule says.
        promised: f64,
        /// What comes out: where processors wait for memory, or stages or replicas for the same link, and nothing was
        /// simulated, at least that.
        found: f64,
    },
    /// A schedule promises to keep to a limit, and another number that does not.
    #[error("the schedule's own prediction violates the limit it was planned for: {missed}")]
    Constraint {
        /// What is missed, and by how much.
        missed: MissedConstraint,
    },
    /// A schedule that was planned for a limit on its power does not say what it draws.
    #[error("the schedule was planned for at most {limit_watts} W and does not say what it draws; plan it again")]
    UnsaidPower {
        /// The limit.
        limit_watts: f64,
    },
    /// A proof of something that the schedule promises is not there.
    #[error(
        "the schedule promises {what}, and the certificate has no proof of it; make a certificate of this schedule anew"
    )]
    Missing {
        /// What has no proof.
        what: &'static str,
    },
    /// The schedule can't be evaluated by the costs.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}
