//! List scheduling, and mappers of the literature that need no solver.

pub(crate) mod cpop;
// The mapper that the page on adding one shows.
#[cfg(test)]
#[expect(unreachable_pub, reason = "it is public where the page adds it")]
mod fastest_first;
pub(crate) mod heft;
pub(crate) mod layer_switched;
pub(crate) mod lists;
pub(crate) mod single;
