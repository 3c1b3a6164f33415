//! Signatures of the Standard Webhooks specification, symmetric scheme `v1`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

const PREFIX: &str = "whsec_";

/// The secret is not `whsec_` and the base64 of 24 to 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a webhook secret")]
pub struct BadSecret;

/// A new secret for one endpoint, from 32 bytes of chance.
pub fn new_secret(random: [u8; 32]) -> SecretString {
    SecretString::from(format!("{PREFIX}{}", STANDARD.encode(random)))
}

/// The headers that sign one attempt: its `webhook-id`, without a dot; its `webhook-timestamp` in Unix seconds; and a
/// signature for each of `secrets`: while one is being rotated, a receiver may hold either.
pub fn signed_headers<'s>(
    secrets: impl IntoIterator<Item = &'s SecretString>,
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> Result<Vec<(String, String)>, BadSecret> {
    let signatures = secrets.into_iter().map(|secret| sign(secret, id, timestamp, body));
    let headers = [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", signatures.collect::<Result<Vec<_>, _>>()?.join(" ")),
    ];
    Ok(headers.map(|(name, value)| (name.to_owned(), value)).into())
}

/// `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`.
fn sign(secret: &SecretString, id: &str, timestamp: i64, body: &[u8]) -> Result<String, BadSecret> {
    let key = key_of(secret)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| BadSecret)?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

fn key_of(secret: &SecretString) -> Result<Vec<u8>, BadSecret> {
    let encoded = secret.expose_secret().strip_prefix(PREFIX).ok_or(BadSecret)?;
    let key = STANDARD.decode(encoded).map_err(|_| BadSecret)?;
    if (24..=64).contains(&key.len()) { Ok(key) } else { Err(BadSecret) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use proptest::prelude::*;
    use standardwebhooks::Webhook;

    use super::*;

    #[test]
    fn signature_matches_the_specifications_example() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn signature_needs_a_valid_secret() {
        for text in
            ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!", "whsec_c2hvcnQ=", "whsk_AAAA"]
        {
            assert_eq!(sign(&SecretString::from(text), "id", 0, b""), Err(BadSecret), "{text}");
        }
    }

    proptest! {
        #[test]
        fn signature_verifies_with_the_reference_implementation(
            random: [u8; 32], id in "[a-zA-Z0-9_-]{1,40}", timestamp in 0i64..4_000_000_000, body in "\\PC{0,200}",
        ) {
            let secret = new_secret(random);
            let theirs = Webhook::new(secret.expose_secret()).unwrap().sign(&id, timestamp, body.as_bytes()).unwrap();
            prop_assert_eq!(sign(&secret, &id, timestamp, body.as_bytes()).unwrap(), theirs);
        }

        #[test]
        fn any_secret_signs_or_is_refused_and_is_never_shown(
            secret in "(whsec_)?(.{0,90}|[A-Za-z0-9+/]{28,96}={0,2})", id in ".{0,60}", timestamp: i64, body: Vec<u8>,
        ) {
            match sign(&SecretString::from(secret.as_str()), &id, timestamp, &body) {
                Ok(signed) => prop_assert!(signed.len() == 3 + 44 && signed.starts_with("v1,")),
                Err(error) => prop_assert_eq!(error.to_string(), "not a webhook secret"),
            }
        }

        #[test]
        fn signature_is_bound_to_id_time_body_and_secret(
            random: [u8; 32], other: [u8; 32], timestamp in 0i64..4_000_000_000, body: Vec<u8>, at: prop::sample::Index,
        ) {
            let secret = new_secret(random);
            let signed = sign(&secret, "msg_a", timestamp, &body).unwrap();
            prop_assert_ne!(&signed, &sign(&secret, "msg_b", timestamp, &body).unwrap());
            prop_assert_ne!(&signed, &sign(&secret, "msg_a", timestamp + 1, &body).unwrap());
            if random != other {
                prop_assert_ne!(&signed, &sign(&new_secret(other), "msg_a", timestamp, &body).unwrap());
            }
            if !body.is_empty() {
                let mut tampered = body.clone();
                tampered[at.index(body.len())] ^= 1;
                prop_assert_ne!(&signed, &sign(&secret, "msg_a", timestamp, &tampered).unwrap());
            }
        }

        #[test]
        fn signature_covers_binary_bodies(random: [u8; 32], body: Vec<u8>) {
            let one = sign(&new_secret(random), "id", 1, &body).unwrap();
            let mut other = body;
            other.push(0);
            prop_assert_ne!(one, sign(&new_secret(random), "id", 1, &other).unwrap());
        }
    }
}
