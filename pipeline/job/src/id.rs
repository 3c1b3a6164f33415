//! The deterministic id of a job (DECISIONS §4, "job id").

use std::fmt;

use sha2::{Digest, Sha256};

/// `fj_` + 8 hex digits of SHA-256(user) + 32 hex digits of SHA-256 over the triple.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

impl JobId {
    /// The id of (user, conversation, revision). The same triple always gives the same id; the first
    /// eight digits depend on the user alone, so that jobs can be distributed by user (DESIGN §4).
    pub fn derive(user: &str, conversation: &str, revision: i64) -> Self {
        let shard = hex(&Sha256::digest(user.as_bytes()), 8);
        let mut triple = Sha256::new();
        for part in ["listen-finalization", user, conversation, &revision.to_string()] {
            // Length first, so that no two triples share their bytes.
            triple.update((part.len() as u64).to_be_bytes());
            triple.update(part.as_bytes());
        }
        Self(format!("fj_{shard}{}", hex(&triple.finalize(), 32)))
    }

    /// Takes an id that came from a row or a request; it is only ever looked up.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn hex(bytes: &[u8], digits: usize) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(digits)
        .map(|nibble| HEX[nibble as usize] as char)
        .collect()
}

const HEX: &[u8; 16] = b"0123456789abcdef";
