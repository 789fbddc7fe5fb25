//! Values of `--objective`, for parsing and for completion in shells.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use millstream::Objective;

/// Reads the name of an objective, and lets shells complete it.
pub(super) fn objective() -> impl TypedValueParser<Value = Objective> {
    PossibleValuesParser::new(Objective::ALL.map(Objective::name)).try_map(|name| name.parse::<Objective>())
}
