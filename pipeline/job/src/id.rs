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

    /// Which of `shards` (a power of two) holds the job: the first bits of its digits. What is no id of ours is in none, and is
    /// looked for in the first.
    pub fn shard(&self, shards: u16) -> u16 {
        let digits = self.0.strip_prefix("fj_").and_then(|digits| digits.get(..8));
        let bits = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        share(bits.unwrap_or_default(), shards)
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

/// Which of `shards` (a power of two) holds the data of `user`: the first bits of SHA-256(user), as in the ids of the user's
/// jobs.
pub fn shard_of_user(user: &str, shards: u16) -> u16 {
    let digest = Sha256::digest(user.as_bytes());
    let bits = digest.iter().take(4).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    share(bits, shards)
}

/// The first bits of `bits`, as a number below `shards`.
fn share(bits: u32, shards: u16) -> u16 {
    let share = (u64::from(bits) * u64::from(shards)) >> 32;
    u16::try_from(share).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_shard_is_its_users_shard_and_every_shard_is_used() {
        for shards in [1, 2, 8, 1_024] {
            let mut found = std::collections::HashSet::new();
            for user in 0..20_000 {
                let user = format!("user-{user}");
                let shard = shard_of_user(&user, shards);
                assert_eq!(JobId::derive(&user, "c", 1).shard(shards), shard);
                found.insert(shard);
            }
            assert_eq!((found.len(), found.iter().max()), (usize::from(shards), Some(&(shards - 1))));
        }
    }

    #[test]
    fn user_shard_never_changes() {
        let first = JobId::derive("ann", "c", 1).as_str()[3..5].to_owned();
        let first = u16::from_str_radix(&first, 16).unwrap_or_default();
        assert_eq!(shard_of_user("ann", 256), first);
        assert_eq!(shard_of_user("ann", 8), first >> 5);
    }

    #[test]
    fn malformed_job_id_belongs_to_the_first_shard() {
        for text in ["", "fj_", "fj_xyz", "é", "fj_ééééé"] {
            assert_eq!(JobId::from_text(text).shard(8), 0);
        }
    }
}
