use millstream_board::DocumentError;
use millstream_schedule::ScheduleError;
use thiserror::Error;

/// Why a certificate is refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertifyError {
    /// It is not a certificate.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It is of something else.
    #[error("the certificate is of another schedule: its {what} is {certified}, that of the schedule is {own}")]
    OtherSchedule {
        /// What differs.
        what: &'static str,
        /// What the certificate has.
        certified: String,
        /// What the schedule has.
        own: String,
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
    /// The dual solution is none.
    #[error("the shares of the throughput's proof are no division of the board: {detail}")]
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
    /// The schedule can't be evaluated by the costs.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}
