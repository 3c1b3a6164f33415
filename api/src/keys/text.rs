//! The text of a developer key: `lsk_`, 32 base62 digits, and 6 base62 digits of the CRC-32 of what stands before
//! (DECISIONS §1). Where users are spread over several shards, two base-36 digits of the user's shard stand behind the prefix: a
//! key leads to its user without a look-up in all of them. The checksum lets scanners and the state tell a typing error from a key without asking the
//! database; it protects nothing. The prefix may never change: secret scanners know it.

use db::Shard;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use super::base62::{digits, is_base62};

const PREFIX: &str = "lsk_";
/// Of keys of apps.
const APP_PREFIX: &str = "lak_";
const RANDOM_DIGITS: usize = 32;
const SHARD_DIGITS: usize = 2;
/// Base 36: 1,296 of two digits, for at most 1,024 shards.
const SHARD_BASE: u32 = 36;
const CHECKSUM_DIGITS: usize = 6;

/// A key that was just made, a developer's or an app's. Its plain text is shown once and never stored.
#[derive(Debug)]
pub struct NewKeyText {
    /// The key itself.
    pub plaintext: SecretString,
    /// A hint by which its owner knows it again, such as `lsk_1a2B…9xYz`.
    pub hint: String,
    /// SHA-256 of the text: what is stored, and looked up.
    pub sha256: [u8; 32],
}

/// Makes a key of a user of `shard` out of 32 unguessable bytes. Every base62 digit comes from the bytes as one large number, so 190 of
/// their 256 bits end up in the key.
pub fn generate(random: [u8; 32], shard: Shard) -> NewKeyText {
    with_prefix(PREFIX, random, shard)
}

/// The same for a key of an app: `lak_…`.
pub fn generate_app_key(random: [u8; 32], shard: Shard) -> NewKeyText {
    with_prefix(APP_PREFIX, random, shard)
}

fn with_prefix(prefix: &str, random: [u8; 32], shard: Shard) -> NewKeyText {
    let (high, low) = random.split_at(16);
    let half = |bytes: &[u8]| bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let place = shard_digits(shard);
    let body = format!("{prefix}{place}{}{}", digits::<16>(half(high)), digits::<16>(half(low)));
    let text = format!("{body}{}", checksum(&body));
    let shown = |part: Option<&str>| part.unwrap_or_default().to_owned();
    let (first, last) = (text.get(..prefix.len() + 4), text.get(text.len().saturating_sub(4)..));
    let hint = format!("{}…{}", shown(first), shown(last));
    let sha256 = digest(&text);
    NewKeyText { plaintext: SecretString::from(text), hint, sha256 }
}

/// The look-up hash of a presented key; `None` when it cannot be one of ours.
pub(crate) fn hash_of_presented(text: &str) -> Option<[u8; 32]> {
    hash_with_prefix(PREFIX, text)
}

/// The same for a key of an app.
pub(crate) fn hash_of_presented_app_key(text: &str) -> Option<[u8; 32]> {
    hash_with_prefix(APP_PREFIX, text)
}

/// What a presented key says of its user's shard; `None` of one that was made where there was one shard, or is no key.
pub(crate) fn shard_in(text: &str) -> Option<u16> {
    let rest = text.strip_prefix(PREFIX).or_else(|| text.strip_prefix(APP_PREFIX))?;
    if rest.len() != SHARD_DIGITS + RANDOM_DIGITS + CHECKSUM_DIGITS {
        return None;
    }
    u16::from_str_radix(rest.get(..SHARD_DIGITS)?, SHARD_BASE).ok()
}

fn shard_digits(shard: Shard) -> String {
    let digit = |number: u32| char::from_digit(number % SHARD_BASE, SHARD_BASE);
    let number = u32::from(shard.number);
    match shard.is_only() {
        true => String::new(),
        false => [digit(number / SHARD_BASE), digit(number)].into_iter().flatten().collect(),
    }
}

fn hash_with_prefix(prefix: &str, text: &str) -> Option<[u8; 32]> {
    let rest = text.strip_prefix(prefix)?;
    let length = RANDOM_DIGITS + CHECKSUM_DIGITS;
    if ![length, SHARD_DIGITS + length].contains(&rest.len()) || !is_base62(rest) {
        return None;
    }
    let (body, check) = text.split_at(text.len() - CHECKSUM_DIGITS);
    (checksum(body) == check).then(|| digest(text))
}

fn checksum(body: &str) -> String {
    digits::<CHECKSUM_DIGITS>(u128::from(crc32fast::hash(body.as_bytes())))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn key_checksum_matches_a_known_value() {
        let made = generate([0; 32], Shard::default());
        let text = made.plaintext.expose_secret();
        // CRC-32 (IEEE) of "lsk_" and 32 zeros, computed with zlib.
        assert_eq!(text, concat!("lsk_", "00000000000000000000000000000000", "31vNzW"));
        assert_eq!(made.hint, format!("lsk_0000…{}", &text[38..]));
    }

    proptest! {
        #[test]
        fn generated_keys_parse(random: [u8; 32]) {
            let made = generate(random, Shard::default());
            let text = made.plaintext.expose_secret();
            prop_assert_eq!(text.len(), 42);
            prop_assert_eq!(hash_of_presented(text), Some(made.sha256));
        }

        #[test]
        fn key_with_one_wrong_digit_is_rejected(random: [u8; 32], position in 4_usize..42, digit in "[0-9A-Za-z]") {
            let made = generate(random, Shard::default());
            let mut text = made.plaintext.expose_secret().to_owned();
            prop_assume!(text[position..=position] != digit);
            text.replace_range(position..=position, &digit);
            prop_assert_eq!(hash_of_presented(&text), None);
        }
    }

    #[test]
    fn key_names_its_shard_only_with_several_shards() {
        for number in [0, 35, 36, 1_023] {
            let made = generate([9; 32], Shard { number, of: 1_024 });
            let text = made.plaintext.expose_secret();
            assert_eq!((shard_in(text), hash_of_presented(text)), (Some(number), Some(made.sha256)));
        }
        assert_eq!(shard_in(generate([9; 32], Shard::default()).plaintext.expose_secret()), None);
        assert_eq!(shard_in(&format!("lsk_é{}", "0".repeat(38))), None);
    }

    #[test]
    fn developer_keys_and_app_keys_are_not_interchangeable() {
        let (own, apps) = (generate([1; 32], Shard::default()), generate_app_key([1; 32], Shard::default()));
        assert!(apps.plaintext.expose_secret().starts_with("lak_"));
        assert_eq!(hash_of_presented_app_key(apps.plaintext.expose_secret()), Some(apps.sha256));
        assert_eq!(hash_of_presented(apps.plaintext.expose_secret()), None);
        assert_eq!(hash_of_presented_app_key(own.plaintext.expose_secret()), None);
    }

    #[test]
    fn malformed_keys_are_rejected() {
        for text in ["", "lsk_", "lak_0000", "lsk_é", &"0".repeat(42), &format!("lsk_{}", "é".repeat(19))] {
            assert_eq!(hash_of_presented(text), None, "{text}");
        }
    }
}
