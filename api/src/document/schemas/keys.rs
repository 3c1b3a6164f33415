//! Developer keys.

use serde_json::{Value, json};

use super::{list_of, object, one_of, text, time, time_or_null};
use crate::Scope;

/// The schemas of `shapes/key.rs`.
pub(super) fn schemas() -> Value {
    let scope = one_of("What a key may do.", Scope::ALL.iter().map(|scope| scope.as_str()));
    json!({ "Scope": scope, "Key": key("A key; its text is not kept.", &["key"]), "NewlyMadeKey": key("A key that was just made.", &[]) })
}

fn key(words: &str, but: &[&str]) -> Value {
    let mut properties = json!({
        "id": text("Its id."),
        "name": text("What its owner calls it."),
        "key_prefix": text("A hint by which its owner knows it again."),
        "scopes": list_of("Scope"),
        "created_at": time("When it was made."),
        "last_used_at": time_or_null("When it was last used, to the minute."),
        "expires_at": time_or_null("When it stops working."),
        "revoked_at": time_or_null("When it was revoked."),
    });
    if but.is_empty() {
        properties["key"] = text("The key itself, shown this once.");
    }
    object(words, properties, but)
}
