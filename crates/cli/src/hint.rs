//! Which command helps where the libraries only say what is missing.

use std::io::ErrorKind;
use std::path::Path;

use millstream::BuiltInBoard;
use millstream::onnx::OnnxError;
use millstream_backend::BackendError;
use millstream_board::{DocumentError, Engines};
use millstream_certify::CertifyError;
use millstream_frames::FramesError;
use millstream_predict::PredictError;
use millstream_schedule::{ModelReference, ScheduleError};
use millstream_zoo::ZooError;

use crate::arguments::quoted;
use crate::program;

/// What to do about an error; `None` if its own words say everything.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let general = cause.downcast_ref::<millstream::Error>().map(of_error);
        let frames = cause.downcast_ref::<FramesError>().map(of_frames);
        let predict = cause.downcast_ref::<PredictError>().map(of_prediction);
        let document = cause.downcast_ref::<DocumentError>().map(of_document);
        let schedule = cause.downcast_ref::<ScheduleError>().map(of_schedule);
        general.or(frames).or(predict).or(document).or(schedule).flatten()
    })
}

fn of_error(error: &millstream::Error) -> Option<String> {
    match error {
        millstream::Error::File { path, source } => in_file(path, source),
        millstream::Error::Io { action: "read", path, source } if source.kind() == ErrorKind::NotFound => missing(path),
        millstream::Error::NoProfile { network, board, engines } => Some(match built_in(board) {
            Some(costs) => format!("`--cost {costs}` takes its built-in models"),
            None => format!("`cargo xtask schedule{}` makes one", flags_of_profile(network, engines)),
        }),
        millstream::Error::NotHere { board, .. } => Some(match built_in(board) {
            Some(costs) => {
                format!("a board that is elsewhere is planned for by costs: `--cost {costs}` takes its built-in models")
            }
            None => "`cargo xtask board --json` describes this machine".to_owned(),
        }),

        millstream::Error::NotBuiltIn { what: "system", .. } => {
            Some("give the path of a system file; `cargo xtask schedule --help` says what may stand there".to_owned())
        }
        millstream::Error::NotBuiltIn { .. } => Some("`cargo xtask boards` lists what is built in".to_owned()),
        millstream::Error::NoEngine { .. } => Some("`cargo xtask simulate` needs no engine".to_owned()),
        millstream::Error::Onnx(error) | millstream::Error::Zoo(ZooError::Model(error)) => of_network(error),
        millstream::Error::Certificate(CertifyError::Missing { .. }) => {
            Some("`cargo xtask schedule --certificate FILE` writes one beside its schedule".to_owned())
        }
        millstream::Error::Frames(error) => of_frames(error),
        millstream::Error::Predict(error) => of_prediction(error),
        millstream::Error::Document(error) => of_document(error),
        millstream::Error::Schedule(error) => of_schedule(error),
        millstream::Error::Backend(BackendError::Unavailable { backend, detail })
            if program::is_in_repository()
                && is_not_fetched(backend, detail, |name| std::env::var_os(name).is_some()) =>
        {
            Some("run it as `cargo xtask run`, which fetches what is missing".to_owned())
        }
        _ => None,
    }
}

/// Whether a backend's library is one that `cargo xtask` fetches, and says where it is, and nobody said so.
fn is_not_fetched(backend: &str, detail: &str, is_set: impl Fn(&str) -> bool) -> bool {
    match backend {
        "onnxruntime" => !is_set("ORT_DYLIB_PATH"),
        // It may be there without the device that is asked for.
        "openvino" => detail.starts_with("there is no OpenVINO") && !is_set("OPENVINO_INSTALL_DIR"),
        _ => false,
    }
}

/// What to do about an error in a file.
fn in_file(path: &Path, error: &millstream::Error) -> Option<String> {
    match error {
        // Only schedules name the file of a network.
        millstream::Error::Onnx(OnnxError::Io { path: network, .. }) if network != path => {
            let what = "it names the network so, from the folder that it was made in; `--model FILE` says where it is";
            Some(what.to_owned())
        }
        other => of_error(other),
    }
}

/// How to get a file that is not there.
fn missing(path: &Path) -> Option<String> {
    let typed: Vec<String> = std::env::args().collect();
    remedy(kind_of_file(path, &typed)?).map(str::to_owned)
}

/// What kind of file a path should be: the flag that it was typed with, or its name if that is usual.
fn kind_of_file<'a>(path: &'a Path, typed: &'a [String]) -> Option<&'a str> {
    let path = path.to_str()?;
    let of_pair = |pair: &'a [String]| pair[0].strip_prefix("--").filter(|_| pair[1] == path);
    let of_one = |one: &'a String| one.strip_prefix("--")?.split_once('=').filter(|(_, value)| *value == path);
    let flag = typed.windows(2).find_map(of_pair).or_else(|| Some(typed.iter().find_map(of_one)?.0));
    flag.or_else(|| path.strip_suffix(".json"))
}

fn remedy(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "model" => "`--model zoo:NAME` takes a built-in network, such as `zoo:squeezenet`",
        "schedule" => "make a schedule with `cargo xtask schedule`",
        "certificate" => "`cargo xtask schedule --certificate FILE` writes one beside its schedule",
        "profile" => "`cargo xtask profile` makes one",
        "board" => "`cargo xtask board --json` describes this machine, and `cargo xtask boards` lists what is built in",
        "cost" => "`cargo xtask fit` makes one of a profile, and `cargo xtask boards` lists whose are built in",
        _ => return None,
    })
}

/// What a profile is of, as flags: a network at one size, on a board that was named, with engines.
fn flags_of_profile(network: &ModelReference, engines: &Engines) -> String {
    let model = format!(" --model {}", quoted(&network.source));
    let batch = Some(network.batch).filter(|batch| *batch != 1).map(|batch| format!(" --batch {batch}"));
    let dimensions =
        network.dimensions.iter().map(|(name, size)| format!(" --dim {}", quoted(&format!("{name}={size}"))));
    // One flag is for all clusters.
    let mut all = engines.values();
    let same = all.next().filter(|first| all.all(|other| other == *first));
    let engines = same.map(|engines| format!(" --engine {engines}"));
    let typed: Vec<String> = std::env::args().collect();
    let board = flag_value("board", &typed).map(|board| format!(" --board {}", quoted(board)));
    std::iter::once(model).chain(batch).chain(dimensions).chain(engines).chain(board).collect()
}

/// What was typed with a flag.
fn flag_value<'a>(flag: &str, typed: &'a [String]) -> Option<&'a str> {
    let after = |word: &'a str| word.strip_prefix("--")?.strip_prefix(flag);
    typed.iter().enumerate().find_map(|(index, word)| match after(word)? {
        "" => typed.get(index + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

/// Whether this command was typed.
fn is_command(name: &str) -> bool {
    std::env::args().nth(1).is_some_and(|typed| typed == name)
}

/// The name of the built-in board that is called so in its file.
fn built_in(board: &str) -> Option<&'static str> {
    let is_called_so = |known: &BuiltInBoard| known.board().is_ok_and(|known| known.name() == board);
    BuiltInBoard::all().find(is_called_so).map(|known| known.name())
}

fn of_network(error: &OnnxError) -> Option<String> {
    match error {
        OnnxError::Io { path, source } if source.kind() == ErrorKind::NotFound => missing(path),
        OnnxError::OpenDimensions { .. } => Some("use `--dim NAME=SIZE` for each of them".to_owned()),
        OnnxError::WeightsTooLarge { .. } => Some("`--max-weights GIB` allows more".to_owned()),
        _ => None,
    }
}

fn of_frames(error: &FramesError) -> Option<String> {
    match error {
        FramesError::Missing { value, .. } | FramesError::Unknown { value, .. } => {
            Some(format!("`--input {value}=FILE` gives frames"))
        }
        FramesError::WhichInput { path, .. } => Some(format!("`--input NAME={}` says which", path.display())),
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
        ScheduleError::OtherBoard { schedule, .. } => Some(match built_in(schedule) {
            Some(name) => {
                let command = if is_command("certify") { "certify" } else { "simulate" };
                format!(
                    "`cargo xtask {command} --board {name} --cost {name} --schedule FILE` takes that board and its costs"
                )
            }
            None => "give the board file that it was planned with, `--board FILE`, or none if there was none, or the system file \
                of several boards, `--system FILE`; `cargo xtask simulate --board FILE --cost FILE --schedule FILE` takes another board"
                .to_owned(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_board::CoreId;

    use super::*;

    fn network(source: &str) -> ModelReference {
        let (name, source, digest) = ("n".to_owned(), source.to_owned(), String::new());
        ModelReference { name, source, digest, dimensions: Vec::new(), batch: 1 }
    }

    /// Whoever plans for a built-in board has its costs at hand.
    #[test]
    fn costs_of_built_in_boards_are_named() {
        let board = BuiltInBoard::all().find(|board| board.name() == "rk3588").unwrap().board().unwrap();
        let missing = |board: &str| millstream::Error::NoProfile {
            network: Box::new(network("n.onnx")),
            board: board.to_owned(),
            engines: Engines::new(),
        };
        assert_eq!(hint(&missing(board.name()).into()).unwrap(), "`--cost rk3588` takes its built-in models");
        assert_eq!(hint(&missing("mine").into()).unwrap(), "`cargo xtask schedule --model n.onnx` makes one");
        let elsewhere =
            millstream::Error::NotHere { core: CoreId(4), board: board.name().to_owned(), allowed: vec![CoreId(0)] };
        assert!(hint(&elsewhere.into()).unwrap().contains("`--cost rk3588`"));
    }

    /// A profile is of one size of a network, with the board's engines.
    #[test]
    fn what_makes_a_profile_has_the_flags_that_it_is_of() {
        let engines = |own: &[(&str, &str)]| {
            own.iter().map(|(label, names)| ((*label).to_owned(), names.parse().unwrap())).collect::<Engines>()
        };
        let network = ModelReference {
            source: "it's n.onnx".to_owned(),
            batch: 2,
            dimensions: vec![("n".to_owned(), 4), ("image.2".to_owned(), 5)],
            ..network("n.onnx")
        };
        let both = "onnxruntime,openvino";
        assert_eq!(
            flags_of_profile(&network, &engines(&[("B", both), ("s", both)])),
            format!(r" --model 'it'\''s n.onnx' --batch 2 --dim n=4 --dim image.2=5 --engine {both}")
        );
        assert!(!flags_of_profile(&network, &engines(&[("B", both), ("s", "openvino")])).contains("--engine"));

        let value = |typed: &str| {
            let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            flag_value("board", &typed).map(str::to_owned)
        };
        assert_eq!(value("millstream run --boards x --board=b.json").as_deref(), Some("b.json"));
        assert_eq!(value("millstream run --board b.json").as_deref(), Some("b.json"));
        assert_eq!(value("millstream boards --board"), None);
    }

    /// Whoever chose a library, or asks for a provider or a device that is not here, is not told to fetch one.
    #[test]
    fn only_libraries_that_nobody_chose_are_fetched() {
        let missing = "there is no OpenVINO: ...";
        assert!(is_not_fetched("onnxruntime", "", |_| false));
        assert!(is_not_fetched("openvino", missing, |name| name == "ORT_DYLIB_PATH"));
        assert!(!is_not_fetched("openvino", "OpenVINO has no device GPU here", |_| false));
        assert!(!is_not_fetched("onnxruntime", "", |name| name == "ORT_DYLIB_PATH"));
        assert!(!is_not_fetched("qnn (QNNExecutionProvider)", "", |_| false));
    }

    /// A file that is not there is made by a command, which depends on what kind of file it is.
    #[test]
    fn missing_files_have_a_remedy() {
        let kind = |path: &str, typed: &str| {
            let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            kind_of_file(path.as_ref(), &typed).map(str::to_owned)
        };
        assert_eq!(kind("schedule.json", "millstream simulate").as_deref(), Some("schedule"));
        assert_eq!(kind("pi-board.json", "millstream schedule --cost pi-board.json").as_deref(), Some("cost"));
        assert_eq!(kind("a.json", "millstream schedule --board=a.json --cost b").as_deref(), Some("board"));
        let kinds = [
            ("schedule", "cargo xtask schedule`"),
            ("certificate", "--certificate FILE"),
            ("profile", "cargo xtask profile`"),
            ("board", "cargo xtask boards`"),
            ("cost", "cargo xtask fit`"),
            ("model", "zoo:squeezenet"),
        ];
        assert!(kinds.into_iter().all(|(kind, expected)| remedy(kind).unwrap().contains(expected)));
        let missing = |path: &str| millstream::Error::Io {
            action: "read",
            path: path.into(),
            source: ErrorKind::NotFound.into(),
        };
        assert_eq!(hint(&missing("certificate.json").into()).as_deref(), remedy("certificate"));
        assert_eq!(hint(&missing("other.json").into()), None);
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
