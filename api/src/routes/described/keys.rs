//! Developer keys.

use serde_json::json;

use super::examples;
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::keys,
};

const TAG: &str = "Keys";

/// Making, listing and revoking keys.
pub(super) fn operations() -> Vec<Operation> {
    vec![own(), list(), create(), revoke()]
}

fn own() -> Operation {
    Operation::new("get", "/v1/dev/key", "get_own_key", TAG, "The key that asks")
        .says("Any key may call it.")
        .answers(Answer::one("Key", "The key.", examples::key()))
}

fn list() -> Operation {
    Operation::new("get", "/v1/dev/keys", "list_keys", TAG, "List")
        .says("All keys of the user, newest first.")
        .needs(Scope::KeysRead)
        .answers(Answer::all("Key", examples::key()))
}

fn create() -> Operation {
    let fields = Described::new(
        Drawing::of(keys::read),
        &[
            ("name", "What its owner calls it.", ""),
            (
                "scopes",
                "What it may do, at most what the key that asks may (403). Without it: the `:read` of conversations, action items, memories and goals.",
                "",
            ),
            (
                "expires_at",
                "When it stops working, not after the key that asks (422). Without it: when that key does.",
                "",
            ),
        ],
    );
    let made = examples::with(examples::key(), "key", "lsk_0000000000000000000000000000000031vNzW");
    Operation::new("post", "/v1/dev/keys", "create_key", TAG, "Create")
        .says("The key's text is in this answer alone; only its hash is kept.")
        .needs(Scope::KeysWrite)
        .creates()
        .body(
            "NewKey",
            fields,
            json!({ "name": "laptop", "scopes": ["conversations:read", "conversations:write"] }),
        )
        .answers(Answer::one("NewlyMadeKey", "The key works from now on.", made).leads_to(
            "revoke_key",
            "key_id",
            "/id",
        ))
        .conflict("There are 100 live keys already")
}

fn revoke() -> Operation {
    Operation::new("delete", "/v1/dev/keys/{key_id}", "revoke_key", TAG, "Revoke")
        .says("At once.")
        .needs(Scope::KeysWrite)
        .answers(Answer::bare(204, "Revoked."))
        .not_found("Key")
}
