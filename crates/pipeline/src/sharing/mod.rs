//! Several networks on one board: processors of their own for each, or all processors in turn.

pub(crate) mod processor_division;
pub(crate) mod share;
pub(crate) mod tenant;
