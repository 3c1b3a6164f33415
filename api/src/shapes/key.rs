//! Developer keys.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use store::Key as Record;

use super::{Time, with, words::Scope};
use crate::shapes::Shape;

/// A key; only its hash is stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Key {
    /// Its id.
    id: String,
    /// What its owner calls it.
    name: String,
    /// A hint to recognize the key.
    key_prefix: String,
    /// What it may do.
    #[schemars(with = "Vec<Scope>")]
    scopes: Vec<String>,
    /// When it was made.
    created_at: Time,
    /// When it was last used, to the minute.
    last_used_at: Option<Time>,
    /// When it stops working.
    expires_at: Option<Time>,
    /// When it was revoked.
    revoked_at: Option<Time>,
}

impl Shape for Key {
    fn example() -> Value {
        json!({
            "id": "01993b21-3f6d-7c32-8d75-0d2e7f809123",
            "name": "laptop",
            "key_prefix": "lsk_1a2B…9xYz",
            "scopes": ["conversations:read", "conversations:write"],
            "created_at": "2026-11-20T12:00:00Z",
            "last_used_at": "2026-11-21T09:00:00Z",
            "expires_at": null,
            "revoked_at": null,
        })
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

/// A key without its text (DECISIONS §1, "developer key").
pub fn key(key: &Record) -> Key {
    Key {
        id: key.id.clone(),
        name: key.name.clone(),
        key_prefix: key.prefix.clone(),
        scopes: key.scopes.clone(),
        created_at: key.created_at.into(),
        last_used_at: key.last_used_at.map(Time::from),
        expires_at: key.expires_at.map(Time::from),
        revoked_at: key.revoked_at.map(Time::from),
    }
}

/// The same with its text.
pub(crate) fn created_key(created: &Record, text: &str) -> CreatedKey {
    CreatedKey { created: key(created), key: Some(text.to_owned()) }
}
