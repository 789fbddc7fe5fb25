//! Splitting operators by output channels between processors.
//!
//! Output channels of a convolution do not depend on each other, so some can be made by one processor and the rest by
//! others at the same time. [`published_split`] divides them in proportion to the processors' speeds, as the
//! co-scheduling paper does; by predicted times, [`exact_split`] finds the division that is done first for two
//! processors and [`exact_shares`] for any number, also where costs rise in steps. [`divide()`] does so for the
//! operators of a stage wherever that lets the stage finish earlier; [`co_schedule`] divides all convolutions of a
//! network as the paper does.
//!
//! ```
//! use millstream_cosched::{exact_split, published_split};
//!
//! // An accelerator that makes 8 channels at a time in 1 ms, and a CPU that makes one in 0.29 ms.
//! let accelerator = |channels: u64| channels.div_ceil(8) as f64 * 1e-3;
//! let cpu = |channels: u64| channels as f64 * 0.29e-3;
//! let by_speed = published_split(24, accelerator(24), cpu(24));
//! assert_eq!((by_speed.accelerator, by_speed.cpu), (17, 7));
//! let best = exact_split(24, accelerator, cpu);
//! assert_eq!((best.accelerator, best.cpu), (16, 8), "two full waves instead of a third one for a single channel");
//! assert!(best.seconds(accelerator, cpu) < by_speed.seconds(accelerator, cpu));
//! ```
//!
//! Invariants: every channel goes to exactly one processor; nothing here runs or measures anything.

mod attention;
mod candidates;
mod co_scheduling;
mod divide;
mod pair;
mod shares;
mod tiles;
mod trial;

pub use co_scheduling::{CoScheduled, co_schedule};
pub use divide::{Executed, divide, divide_where_close};
pub use pair::{Split, exact_split, published_split};
pub use shares::{Shares, exact_shares};
pub use tiles::exact_tiles;
