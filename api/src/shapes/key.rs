//! Developer keys.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::Key as Record;

use super::{Time, with, words::Scope};
use crate::shapes::Shape;

shape! {
    /// A key; only its hash is stored.
    // DECISIONS §1, "developer key".
    pub key(key: &Record) -> Key {
        /// Its id.
        id: String = key.id.clone(), "01993b21-3f6d-7c32-8d75-0d2e7f809123";
        /// What its owner calls it.
        name: String = key.name.clone(), "laptop";
        /// A hint to recognize the key.
        key_prefix: String = key.prefix.clone(), "lsk_1a2B…9xYz";
        /// What it may do.
        #[schemars(with = "Vec<Scope>")]
        scopes: Vec<String> = key.scopes.clone(), ["conversations:read", "conversations:write"];
        /// When it was made.
        created_at: Time = key.created_at.into(), "2026-11-20T12:00:00Z";
        /// When it was last used, to the minute.
        last_used_at: Option<Time> = key.last_used_at.map(Time::from), "2026-11-21T09:00:00Z";
        /// When it stops working.
        expires_at: Option<Time> = key.expires_at.map(Time::from), null;
        /// When it was revoked.
        revoked_at: Option<Time> = key.revoked_at.map(Time::from), null;
    }
}

/// A new key. A repeat under an `Idempotency-Key` does not show its text again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    created: Key,
    /// The key itself, shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl Shape for CreatedKey {
    fn example() -> Value {
        with(Key::example(), "key", "lsk_0000000000000000000000000000000031vNzW")
    }
}

/// The same with its text.
pub(crate) fn created_key(created: &Record, text: &str) -> CreatedKey {
    CreatedKey { created: key(created), key: Some(text.to_owned()) }
}
