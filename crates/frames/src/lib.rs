//! Frames for a network, from files or made up, and results: written to files, and compared with what they should be.
//!
//! [`FrameSet`] reads `.npy`, `.npz`, PNG and JPEG files, or folders of them, and fits them to a network's inputs.
//! [`FrameMaker`] makes frames up that the network can take. [`Golden`] compares results with expected ones, and
//! [`write_results`] writes them.
//!
//! ```
//! use millstream_frames::{FrameMaker, Tolerance, compare};
//!
//! let model = millstream_zoo::build("squeezenet")?;
//! let maker = FrameMaker::new(&model);
//! let frames = maker.different_frames(2)?;
//! let tolerance = Tolerance::default();
//! assert_eq!(compare(&frames[0][0], &frames[0][0], tolerance)?.wrong, 0);
//! assert!(compare(&frames[0][0], &frames[1][0], tolerance)?.wrong > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: what cannot be read is an error that names the file; a file of results is there whole or not at all;
//! frames do not depend on a schedule.

mod array;
mod compare;
mod error;
mod fit;
mod golden;
mod image_file;
mod index_limits;
mod jpeg;
mod made_up;
mod results;
mod set;

pub use array::{read_arrays, read_single};
pub use compare::{Difference, Tolerance, WrongElement, compare, largest_difference};
pub use error::FramesError;
pub use golden::{Golden, Mismatch};
pub use image_file::{ChannelOrder, ImageOptions, Resizing};
pub use made_up::{FrameMaker, available_bytes};
pub use results::write_results;
pub use set::{Frame, FrameSet, InputFile, Labels};
