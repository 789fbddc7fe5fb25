//! Several boards with links between them.

mod hosts;
mod planning;

pub use hosts::Hosts;
pub use planning::{SystemPlan, SystemRival, plan_system};
