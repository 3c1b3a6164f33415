//! Developer keys.

use serde_json::{Value, json};
use store::Key;

use super::moment;

/// A key without its text (DECISIONS §1, "developer key").
pub fn key(key: &Key) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "key_prefix": key.prefix,
        "scopes": key.scopes,
        "created_at": moment(key.created_at),
        "last_used_at": key.last_used_at.map(moment),
        "expires_at": key.expires_at.map(moment),
        "revoked_at": key.revoked_at.map(moment),
    })
}
