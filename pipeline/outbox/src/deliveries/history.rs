//! What a delivery's row remembers of its tries, written in the update that stores the try's end.
//!
//! The column `history` is a `jsonb` array of [`DeliveryTry`]s, oldest first, and null before the first one: `try`, `at`
//! (RFC 3339), and where there is one, `status`, `error` and `ms`.

use records::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::types::{Json, JsonValue};

/// Tries that a row keeps; the oldest goes when one more comes. A round has eleven.
pub const TRIES_KEPT: i32 = 12;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryTry {
    /// Its number in the round of tries: a redelivery begins with 1 again.
    #[serde(rename = "try")]
    pub number: i32,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// Why it failed: a bounded error class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds from its claim to its end.
    #[serde(default, rename = "ms", skip_serializing_if = "Option::is_none")]
    pub millis: Option<i64>,
}

/// The column as it is read: entries of any version of the program.
#[derive(Clone, Debug, Default, sqlx::Type)]
#[sqlx(transparent)]
pub(super) struct History(Option<Json<Vec<JsonValue>>>);

/// The tries, oldest first; one that this version cannot read is left out.
impl From<History> for Vec<DeliveryTry> {
    fn from(history: History) -> Self {
        let entries = history.0.as_ref().map_or(&[][..], |Json(entries)| entries);
        entries.iter().filter_map(|entry| DeliveryTry::deserialize(entry).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use serde_json::json;

    use super::*;

    #[test]
    fn delivery_try_history_round_trips() {
        let at = Timestamp::UNIX_EPOCH;
        for (status, error, millis) in
            [(Some(200), None, Some(7)), (Some(503), Some("status"), Some(0)), (None, Some("timeout"), None)]
        {
            let tried = DeliveryTry { number: 2, at, status, error: error.map(str::to_owned), millis };
            let entry = serde_json::to_value(&tried).unwrap();
            let unreadable = json!({ "try": 2 });
            let history = History(Some(Json(vec![entry, unreadable, json!(null)])));
            assert_eq!(Vec::from(history), [tried]);
        }
        assert_eq!(Vec::from(History(None)), Vec::<DeliveryTry>::new());
    }
}
