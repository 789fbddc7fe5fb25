//! What files say of where they come from.

use millstream_board::Provenance;

/// The provenance of a document that is made now, by this version.
pub fn provenance() -> Provenance {
    let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Provenance { tool_version: env!("CARGO_PKG_VERSION").to_owned(), created }
}
