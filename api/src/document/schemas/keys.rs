//! Developer keys.

use serde_json::{Value, json};

use super::{list_of, object, one_of, text, time, time_or_null};
use crate::Scope;

/// The schemas of `shapes/key.rs`.
pub(super) fn schemas() -> Value {
    let scope = one_of("What a key may do.", Scope::ALL.iter().map(|scope| scope.as_str()));
    json!({ "Scope": scope, "Key": key("A key; only its hash is stored."), "NewlyMadeKey": newly_made() })
}

/// A repeat under an `Idempotency-Key` does not show the key again.
fn newly_made() -> Value {
    let mut shape = key("A new key.");
    shape["properties"]["key"] = text("The key itself, shown this once.");
    shape
}

fn key(words: &str) -> Value {
    let properties = json!({
        "id": text("Its id."),
        "name": text("What its owner calls it."),
        "key_prefix": text("A hint to recognize the key."),
        "scopes": list_of("Scope"),
        "created_at": time("When it was made."),
        "last_used_at": time_or_null("When it was last used, to the minute."),
        "expires_at": time_or_null("When it stops working."),
        "revoked_at": time_or_null("When it was revoked."),
    });
    object(words, properties, &[])
}
