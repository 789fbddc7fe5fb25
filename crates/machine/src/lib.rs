//! The computer at hand: which cores it has and this process may use, where threads run, how fast and how busy cores
//! are, whether heat slows them down, and what its power sensors show.
//!
//! [`detect()`] describes it as a [`Board`](millstream_board::Board); [`detect_at`] reads any recorded sysfs tree.
//!
//! ```
//! let board = millstream_machine::detect()?;
//! let core = board.clusters()[0].cores[0].id;
//! let worker = std::thread::spawn(move || millstream_machine::pin_current_thread(core));
//! assert!(worker.join().is_ok(), "where the system refuses, the answer is `false`");
//! # Ok::<(), millstream_machine::MachineError>(())
//! ```
//!
//! Invariants: what a board *is* stands in `millstream-board`; everything that looks at this computer or changes how
//! its threads are scheduled is here. Missing system information (no sysfs, no sensors) is not an error.

mod affinity;
mod clock_limit;
mod core_watch;
mod cpu_list;
mod detect;
mod error;
mod heat;
mod huge_pages;
mod memory;
mod others;
mod quota;
mod resident;
mod sensors;
mod system_file;
mod threads;

pub use affinity::{become_real_time, pin_current_thread, prefer_short_slices, usable_cores};
pub use clock_limit::{clock_limit, clock_limit_file};
pub use core_watch::{CoreLoad, CoreWatch};
pub use cpu_list::parse_cpu_list;
pub use detect::{detect, detect_at};
pub use error::MachineError;
pub use heat::HeatWatch;
pub use huge_pages::MemoryMark;
pub use memory::{allocated_bytes, release_freed_memory, share_heaps};
pub use others::OthersWatch;
pub use quota::CpuQuota;
pub use sensors::PowerSensors;
pub use threads::{Threads, confine_current_thread, cores_of_current_thread, spread_current_thread};
