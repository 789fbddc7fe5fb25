//! Which command helps where the libraries only say what is missing.

use millstream_backend::BackendError;
use millstream_board::DocumentError;
use millstream_predict::PredictError;
use millstream_schedule::ScheduleError;

use crate::program;

/// What to do about an error; `None` if its own words say everything.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let own = cause.downcast_ref::<millstream::Error>().map(of_error);
        let predict = cause.downcast_ref::<PredictError>().map(of_prediction);
        let document = cause.downcast_ref::<DocumentError>().map(of_document);
        let schedule = cause.downcast_ref::<ScheduleError>().map(of_schedule);
        own.or(predict).or(document).or(schedule).flatten()
    })
}

fn of_error(error: &millstream::Error) -> Option<String> {
    match error {
        millstream::Error::File { source, .. } => of_error(source),
        millstream::Error::NoProfile { model, .. } => Some(format!("`cargo xtask schedule --model {model}` makes one")),
        millstream::Error::NotHere { .. } => Some("`cargo xtask board --json` describes this machine".to_owned()),
        millstream::Error::NotBuiltIn { what: "system", .. } => {
            Some("give the path of a system file; `cargo xtask schedule --help` says what may stand there".to_owned())
        }
        millstream::Error::NotBuiltIn { .. } => Some("`cargo xtask boards` lists what is built in".to_owned()),
        millstream::Error::NoEngine { .. } => Some("`cargo xtask simulate` needs no engine".to_owned()),
        millstream::Error::Predict(error) => of_prediction(error),
        millstream::Error::Document(error) => of_document(error),
        millstream::Error::Schedule(error) => of_schedule(error),
        millstream::Error::Backend(BackendError::Unavailable { .. }) if program::is_in_repository() => {
            Some("run it as `cargo xtask run`, which fetches what is missing".to_owned())
        }
        _ => None,
    }
}

fn of_prediction(error: &PredictError) -> Option<String> {
    match error {
        PredictError::Document(error) => of_document(error),
        PredictError::TooFewSamples { .. } | PredictError::Degenerate { .. } => {
            Some("profile more with `cargo xtask profile` (a longer --budget, without --no-sweep)".to_owned())
        }
        PredictError::MissingModel { .. } => Some("`cargo xtask profile`, then `cargo xtask fit`".to_owned()),
        _ => None,
    }
}

fn of_document(error: &DocumentError) -> Option<String> {
    let (DocumentError::Malformed { document, .. } | DocumentError::Invalid { document, .. }) = error else {
        return None;
    };
    let command = match *document {
        "profile" => "profile",
        "file of cost models" => "fit",
        "schedule" | "file of schedules for several sizes" | "file of schedules for several networks" => "schedule",
        _ => return None,
    };
    Some(format!("make a new one with `cargo xtask {command}`"))
}

fn of_schedule(error: &ScheduleError) -> Option<String> {
    match error {
        ScheduleError::Document(error) => of_document(error),
        ScheduleError::OtherModel { .. } => Some("`cargo xtask schedule --model FILE`".to_owned()),
        _ => None,
    }
}
