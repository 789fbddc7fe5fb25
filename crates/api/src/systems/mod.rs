//! Several boards with links between them.

mod checked;
mod hosts;
mod parts;
mod planning;
mod sent;

pub use checked::CheckedFrames;
pub use hosts::Hosts;
pub use parts::{HostPart, LoadedPart};
pub use planning::{SystemPlan, SystemRival, plan_system};
pub use sent::Received;
