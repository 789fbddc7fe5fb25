//! Searches of the literature, to compare with.

pub(crate) mod design_space;
// The search that the page on adding one shows.
#[cfg(test)]
#[expect(unreachable_pub, reason = "it is public where the page adds it")]
mod one_processor;
pub(crate) mod para_pipe;
pub(crate) mod pipe_it;
