//! Several boards with links between them.

mod checked;
mod division;
mod hosts;
mod parts;
mod planning;
mod sent;

pub use checked::CheckedFrames;
pub use division::{OnHosts, SystemDivision};
pub use hosts::Hosts;
pub use parts::{HostPart, LoadedPart};
pub use planning::{SystemPlan, SystemRival, plan_system};
pub use sent::AsReceived;
