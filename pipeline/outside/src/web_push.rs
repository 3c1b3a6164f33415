//! Web push: a message that only one browser can read (RFC 8291), for its push service, which must know who sends
//! (RFC 8292, VAPID). What comes out is posted by [`crate::Sender`] like anything else.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use web_push_native::p256::PublicKey;
use web_push_native::p256::ecdsa::{Signature, SigningKey, signature::Signer};
use web_push_native::{Auth, encrypt};

/// How long a signed statement of who sends is good for; the RFC allows a day at most.
const STATEMENT_LASTS: TimeDelta = TimeDelta::hours(12);

/// The setting is not what it must be. The text is safe to show: it repeats nothing of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVapid {
    /// Not the base64url of 32 bytes that are a private key of P-256.
    #[error("the VAPID private key must be the base64url of a P-256 private key (32 bytes)")]
    Key,
    /// Neither a `mailto:` nor an `https:` URL.
    #[error("the VAPID subject must begin with mailto: or https://")]
    Subject,
}

/// Names and values.
type Headers = Vec<(String, String)>;

/// Not a browser's keys: an uncompressed point of P-256 and 16 bytes, both base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the keys of a push subscription")]
pub struct BadKeys;

/// Who sends, to push services. Cheap to clone.
#[derive(Clone)]
pub struct Vapid {
    key: SigningKey,
    public: String,
    subject: String,
}

impl std::fmt::Debug for Vapid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vapid").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Vapid {
    /// Takes a private key (base64url, 32 bytes) and whom push services may write to about what it sends.
    ///
    /// # Errors
    /// When one of them is not what it must be.
    pub fn new(private: &SecretString, subject: &str) -> Result<Self, BadVapid> {
        let bytes = decode(private.expose_secret()).ok_or(BadVapid::Key)?;
        let key = SigningKey::from_slice(&bytes).map_err(|_| BadVapid::Key)?;
        if !subject.starts_with("mailto:") && !subject.starts_with("https://") {
            return Err(BadVapid::Subject);
        }
        let public = URL_SAFE_NO_PAD.encode(key.verifying_key().to_encoded_point(false).as_bytes());
        Ok(Self { key, public, subject: subject.to_owned() })
    }

    /// What a browser subscribes with: the uncompressed point, base64url (`applicationServerKey`).
    pub fn public_key(&self) -> &str {
        &self.public
    }

    /// The value of `Authorization` for the push service behind `endpoint` (RFC 8292, section 2 and 3).
    fn authorization(&self, endpoint: &Url, now: DateTime<Utc>) -> String {
        let claims = serde_json::json!({
            "aud": endpoint.origin().ascii_serialization(),
            "exp": (now + STATEMENT_LASTS).timestamp(),
            "sub": self.subject,
        });
        let header = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"ES256"}"#);
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature: Signature = self.key.sign(signed.as_bytes());
        format!("vapid t={signed}.{}, k={}", URL_SAFE_NO_PAD.encode(signature.to_bytes()), self.public)
    }
}

/// A browser's own keys, as its `PushSubscription` has them.
#[derive(Clone)]
pub struct BrowserKeys {
    public: PublicKey,
    auth: Auth,
}

impl BrowserKeys {
    /// Reads `p256dh` and `auth`.
    ///
    /// # Errors
    /// When nothing can be encrypted for them.
    pub fn new(p256dh: &str, auth: &str) -> Result<Self, BadKeys> {
        let point = decode(p256dh).filter(|bytes| bytes.len() == 65).ok_or(BadKeys)?;
        let public = PublicKey::from_sec1_bytes(&point).map_err(|_| BadKeys)?;
        let auth: [u8; 16] = decode(auth).and_then(|bytes| bytes.try_into().ok()).ok_or(BadKeys)?;
        Ok(Self { public, auth: Auth::from(auth) })
    }
}

/// The headers of one message, as [`crate::Sender::post`] takes them, and its body, which only the browser can read. The push service
/// keeps it for `ttl` seconds for a browser that is not there; it replaces an older message of the same `topic` that still waits, which
/// is at most 32 characters of base64url. The key and the salt of its encryption are fresh, drawn from the system's
/// generator as the RFC demands: the same message is never the same bytes twice.
///
/// # Errors
/// When the message is too long to be encrypted as one record (over 3,993 bytes a push service need not take it).
pub fn web_push(
    vapid: &Vapid,
    keys: &BrowserKeys,
    endpoint: &Url,
    message: &[u8],
    ttl: u32,
    topic: &str,
    now: DateTime<Utc>,
) -> Result<(Headers, Vec<u8>), BadKeys> {
    let body = encrypt(message.to_vec(), &keys.public, &keys.auth).map_err(|_| BadKeys)?;
    let headers = [
        ("authorization", vapid.authorization(endpoint, now)),
        ("content-encoding", "aes128gcm".to_owned()),
        ("content-type", "application/octet-stream".to_owned()),
        ("ttl", ttl.to_string()),
        ("topic", topic.to_owned()),
        ("urgency", "normal".to_owned()),
    ];
    Ok((headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(), body))
}

/// Browsers write base64url without padding; some libraries add it.
fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

#[cfg(test)]
mod tests;
