//! Developer keys.

use store::Key as Record;

use super::{Time, words::Scope};

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

shown_once! {
    /// A new key. A repeat under an `Idempotency-Key` does not show its text again.
    created_key(Key) -> CreatedKey {
        /// The key itself, shown this once.
        key = "lsk_0000000000000000000000000000000031vNzW"
    }
}
