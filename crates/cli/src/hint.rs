//! Which command helps where the libraries only say what is missing.

use millstream::BuiltInBoard;
use millstream::onnx::OnnxError;
use millstream_backend::BackendError;
use millstream_board::DocumentError;
use millstream_frames::FramesError;
use millstream_predict::PredictError;
use millstream_schedule::ScheduleError;

use crate::program;

/// What to do about an error; `None` if its own words say everything.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let own = cause.downcast_ref::<millstream::Error>().map(of_error);
        let frames = cause.downcast_ref::<FramesError>().map(of_frames);
        let predict = cause.downcast_ref::<PredictError>().map(of_prediction);
        let document = cause.downcast_ref::<DocumentError>().map(of_document);
        let schedule = cause.downcast_ref::<ScheduleError>().map(of_schedule);
        own.or(frames).or(predict).or(document).or(schedule).flatten()
    })
}

fn of_error(error: &millstream::Error) -> Option<String> {
    match error {
        millstream::Error::File { source, .. } => in_file(source),
        millstream::Error::NoProfile { model, board, .. } => Some(match built_in(board) {
            Some(costs) => format!("`--cost {costs}` are its built-in models"),
            None => format!("`cargo xtask schedule --model {model}` makes one"),
        }),
        millstream::Error::NotHere { board, .. } => Some(match built_in(board) {
            Some(costs) => {
                format!("a board that is elsewhere is planned for by costs: `--cost {costs}` are its built-in models")
            }
            None => "`cargo xtask board --json` describes this machine".to_owned(),
        }),
        millstream::Error::NotBuiltIn { what: "system", .. } => {
            Some("give the path of a system file; `cargo xtask schedule --help` says what may stand there".to_owned())
        }
        millstream::Error::NotBuiltIn { .. } => Some("`cargo xtask boards` lists what is built in".to_owned()),
        millstream::Error::NoEngine { .. } => Some("`cargo xtask simulate` needs no engine".to_owned()),
        millstream::Error::Frames(error) => of_frames(error),
        millstream::Error::Predict(error) => of_prediction(error),
        millstream::Error::Document(error) => of_document(error),
        millstream::Error::Schedule(error) => of_schedule(error),
        millstream::Error::Backend(BackendError::Unavailable { .. }) if program::is_in_repository() => {
            Some("run it as `cargo xtask run`, which fetches what is missing".to_owned())
        }
        _ => None,
    }
}

/// What to do about an error in a file.
fn in_file(error: &millstream::Error) -> Option<String> {
    match error {
        // Of schedules: no other file names one that is a network.
        millstream::Error::Onnx(OnnxError::Io { .. }) => {
            let what = "it names the network so, from the folder that it was made in; `--model FILE` says where it is";
            Some(what.to_owned())
        }
        other => of_error(other),
    }
}

/// The name of the built-in board that is called so in its file.
fn built_in(board: &str) -> Option<&'static str> {
    let is_own = |own: &BuiltInBoard| own.board().is_ok_and(|own| own.name() == board);
    BuiltInBoard::all().find(is_own).map(|own| own.name())
}

fn of_frames(error: &FramesError) -> Option<String> {
    match error {
        FramesError::Missing { value, .. } | FramesError::Unknown { value, .. } => {
            Some(format!("`--input {value}=FILE` gives frames"))
        }
        FramesError::WhichInput { path, .. } => Some(format!("`--input NAME={}` does", path.display())),
        FramesError::Refused { .. } => Some("`--input FILE` gives frames".to_owned()),
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_board::CoreId;

    use super::*;

    /// Whoever plans for a built-in board has its costs at hand.
    #[test]
    fn costs_of_built_in_boards_are_named() {
        let board = BuiltInBoard::all().find(|own| own.name() == "rk3588").unwrap().board().unwrap();
        let missing = |board: &str| millstream::Error::NoProfile {
            network: "n".to_owned(),
            model: "n.onnx".to_owned(),
            board: board.to_owned(),
        };
        assert_eq!(hint(&missing(board.name()).into()).unwrap(), "`--cost rk3588` are its built-in models");
        assert_eq!(hint(&missing("mine").into()).unwrap(), "`cargo xtask schedule --model n.onnx` makes one");
        let elsewhere =
            millstream::Error::NotHere { core: CoreId(4), board: board.name().to_owned(), allowed: vec![CoreId(0)] };
        assert!(hint(&elsewhere.into()).unwrap().contains("`--cost rk3588`"));
    }

    /// The library names no flags, since Python and C have none; the command does.
    #[test]
    fn frames_that_are_missing_are_given_by_a_flag() {
        let expected = "f32 [1, 2]".to_owned();
        let missing = || FramesError::Missing { value: "x".to_owned(), expected: expected.clone() };
        let unknown = FramesError::Unknown { value: "x".to_owned(), what: "shape" };
        for error in [missing(), unknown] {
            assert!(!error.to_string().contains("--"), "{error}");
            assert!(hint(&error.into()).unwrap().contains("--input x=FILE"));
        }
        let of_library = millstream::Error::Frames(missing());
        assert!(hint(&of_library.into()).unwrap().contains("--input x=FILE"));
        let which = FramesError::WhichInput { path: "a.png".into(), inputs: "'x', 'y'".to_owned() };
        assert!(!which.to_string().contains("--") && hint(&which.into()).unwrap().contains("--input NAME=a.png"));
    }
}
