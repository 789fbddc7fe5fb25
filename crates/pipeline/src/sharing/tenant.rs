//! Networks that share a board, and how they share it.

use millstream_cost::Nanoseconds;
use millstream_schedule::Schedule;

use crate::plan::Plan;
use crate::problem::Problem;

/// A network that shares a board with others.
#[derive(Debug, Clone, Copy)]
pub struct Tenant<'a> {
    /// What it is called in messages.
    pub name: &'a str,
    /// Its stage times on the whole board; all tenants' problems are of the same board.
    pub problem: &'a Problem,
    /// How many of its frames there are for each frame of a network with weight 1: a ratio without a unit, above 0.
    pub weight: f64,
    /// The longest time of a frame through its pipeline; `None` for any.
    pub deadline: Option<Nanoseconds>,
}

/// How networks share a board.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// A plan for each network.
    pub plans: Vec<Plan>,
    /// The plans as schedules.
    pub schedules: Vec<Schedule>,
    /// Whether the networks take turns on the same processors (time sharing); if not, no two use the same core or
    /// accelerator.
    pub takes_turns: bool,
    /// How often a second all of them can pass as many frames as their weights say, in rounds per second.
    pub rounds_per_second: f64,
}

/// Rates of simulations may be off by this part of them.
const AS_GOOD: f64 = 1e-3;

impl Sharing {
    /// Whether it passes more rounds than another way to share, by more than rates of simulations may be off by.
    pub fn passes_more_than(&self, other: &Self) -> bool {
        self.rounds_per_second > other.rounds_per_second * (1.0 + AS_GOOD)
    }

    /// How often a second the rounds of frames would pass if one network after the other had the whole board.
    pub fn rounds_in_turn(tenants: &[Tenant<'_>], plans: &[Plan]) -> f64 {
        let seconds = tenants.iter().zip(plans).map(|(tenant, plan)| tenant.weight * plan.period.seconds());
        1.0 / seconds.sum::<f64>().max(1e-12)
    }
}
