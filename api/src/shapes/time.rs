//! How moments are written.

use std::borrow::Cow;

use chrono::{SecondsFormat, Timelike};
use records::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// RFC 3339 in UTC with `Z`; microseconds only when they are not zero (DECISIONS §1, "times").
pub fn moment(at: Timestamp) -> String {
    match at.nanosecond() / 1_000 {
        0 => at.to_rfc3339_opts(SecondsFormat::Secs, true),
        _ => at.to_rfc3339_opts(SecondsFormat::Micros, true),
    }
}

/// A time in an answer, written as [`moment`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(Timestamp);

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&moment(self.0))
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
