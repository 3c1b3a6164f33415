//! How moments are written.

use chrono::{SecondsFormat, Timelike};
use records::Timestamp;

/// RFC 3339 in UTC with `Z`; microseconds only when they are not zero (DECISIONS §1, "times").
pub fn moment(at: Timestamp) -> String {
    match at.nanosecond() / 1_000 {
        0 => at.to_rfc3339_opts(SecondsFormat::Secs, true),
        _ => at.to_rfc3339_opts(SecondsFormat::Micros, true),
    }
}
