//! How moments are written.

use chrono::{SecondsFormat, Timelike};
use records::Timestamp;
use serde::{Serialize, Serializer};

/// RFC 3339 in UTC with `Z`; microseconds only when they are not zero (DECISIONS §1, "times").
pub fn moment(at: Timestamp) -> String {
    match at.nanosecond() / 1_000 {
        0 => at.to_rfc3339_opts(SecondsFormat::Secs, true),
        _ => at.to_rfc3339_opts(SecondsFormat::Micros, true),
    }
}

/// A field that is written as [`moment`] says.
pub(super) fn written<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&moment(*at))
}

/// The same, or null.
pub(super) fn written_if_some<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    at.map(moment).serialize(serializer)
}
