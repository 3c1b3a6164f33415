//! Secrets at rest: AES-256-GCM under `LISTEN_SECRETS_KEY`, where it is set.
//!
//! A sealed secret is `aes1.<key>.<base64>`, with the first 8 hex digits of the key's SHA-256, so that a rotation knows which key
//! sealed it. It is bound to its row and column: a ciphertext that is copied to another row does not open. What was stored before a
//! key was set is read as it is, and sealed by the next `listen secrets rotate`.

use std::{fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::error::Error;

const FORM: &str = "aes1.";
/// Bytes of a key.
const KEY_LENGTH: usize = 32;
/// How many keys may be set: the newest, and those that secrets are still sealed by.
const MOST_KEYS: usize = 8;

/// `LISTEN_SECRETS_KEY` is not one to eight keys of 32 bytes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "LISTEN_SECRETS_KEY must be 32 bytes in base64 (`openssl rand -base64 32`); several are separated by commas, the newest first"
)]
pub struct BadSecretsKey;

/// The keys under which secrets are sealed; without any, secrets are stored as they are. Cheap to clone.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The newest first: it seals, all of them open.
    keys: Arc<[Key]>,
}

struct Key {
    id: String,
    key: LessSafeKey,
}

/// Where a secret is stored: a sealed one opens nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a> {
    pub table: &'static str,
    pub column: &'static str,
    pub user: &'a str,
    pub id: &'a str,
}

impl<'a> Context<'a> {
    /// An endpoint's secret. The one that was replaced is bound to the same context, because it moves between the two columns.
    pub const fn endpoint(user: &'a str, id: &'a str) -> Self {
        Self { table: "webhook_endpoints", column: "secret", user, id }
    }

    /// A browser's secret.
    pub const fn subscription(user: &'a str, id: &'a str) -> Self {
        Self { table: "push_subscriptions", column: "auth", user, id }
    }

    /// The secret of a user's audio webhook.
    pub const fn audio(user: &'a str) -> Self {
        Self { table: "audio_webhooks", column: "secret", user, id: "" }
    }

    /// An app's signing secret.
    pub const fn app(owner: &'a str, id: &'a str) -> Self {
        Self { table: "apps", column: "secret", user: owner, id }
    }

    /// The token with which an app's MCP server is called.
    pub const fn mcp_token(owner: &'a str, id: &'a str) -> Self {
        Self { table: "apps", column: "mcp_token", user: owner, id }
    }

    /// Lengths first, so that no two places share their bytes.
    fn bytes(&self) -> Vec<u8> {
        let Self { table, column, user, id } = self;
        format!("listen\n{table}\n{column}\n{}:{user}{}:{id}", user.len(), id.len()).into_bytes()
    }
}

impl Secrets {
    /// Reads one key, or several separated by commas, the newest first.
    pub fn new(keys: &SecretString) -> Result<Self, BadSecretsKey> {
        let read = |text: &str| {
            let bytes = STANDARD.decode(text.trim()).map_err(|_| BadSecretsKey)?;
            if bytes.len() != KEY_LENGTH {
                return Err(BadSecretsKey);
            }
            let id = Sha256::digest(&bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| BadSecretsKey)?;
            Ok(Key { id, key: LessSafeKey::new(key) })
        };
        let keys: Vec<Key> = keys.expose_secret().split(',').map(read).collect::<Result<_, _>>()?;
        match keys.len() <= MOST_KEYS {
            true => Ok(Self { keys: keys.into() }),
            false => Err(BadSecretsKey),
        }
    }

    /// Whether secrets are sealed.
    pub fn is_set(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The text to be stored.
    pub fn seal(&self, context: Context<'_>, secret: &SecretString) -> Result<String, Error> {
        let Some(Key { id, key }) = self.keys.first() else { return Ok(secret.expose_secret().to_owned()) };
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Error::Unsealed { table: context.table })?;
        let mut sealed = secret.expose_secret().as_bytes().to_vec();
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(context.bytes()),
            &mut sealed,
        )
        .map_err(|_| Error::Unsealed { table: context.table })?;
        let bytes = [nonce.as_slice(), &sealed].concat();
        Ok(format!("{FORM}{id}.{}", STANDARD.encode(bytes)))
    }

    /// The secret behind a stored text.
    ///
    /// # Errors
    /// [`Error::Unsealed`]: its key is not set, or it is not this row's.
    pub fn open(&self, context: Context<'_>, stored: &str) -> Result<SecretString, Error> {
        let Some(sealed) = stored.strip_prefix(FORM) else { return Ok(SecretString::from(stored)) };
        self.decrypt(context, sealed).map(SecretString::from).ok_or(Error::Unsealed { table: context.table })
    }

    fn decrypt(&self, context: Context<'_>, sealed: &str) -> Option<String> {
        let (id, text) = sealed.split_once('.')?;
        let bytes = STANDARD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        // Eight digits of a hash are no identity: every key of that id is tried.
        self.keys.iter().filter(|key| key.id == id).find_map(|Key { key, .. }| {
            let mut sealed = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let opened = key.open_in_place(nonce, Aad::from(context.bytes()), &mut sealed).ok()?;
            String::from_utf8(opened.to_vec()).ok()
        })
    }

    /// How texts begin that each key sealed, the newest first.
    pub fn forms(&self) -> Vec<String> {
        self.keys.iter().map(|key| format!("{FORM}{}.", key.id)).collect()
    }

    /// How texts begin that the newest key sealed; empty without a key.
    pub fn newest_form(&self) -> String {
        self.forms().into_iter().next().unwrap_or_default()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("keys", &self.keys.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use proptest::prelude::*;

    use super::*;

    fn secrets(keys: &[[u8; 32]]) -> Secrets {
        let keys: Vec<String> = keys.iter().map(|key| STANDARD.encode(key)).collect();
        Secrets::new(&SecretString::from(keys.join(","))).unwrap()
    }

    #[test]
    fn sealed_secret_opens_in_its_own_row_only() {
        let secrets = secrets(&[[1; 32]]);
        let secret = SecretString::from("whsec_abc");
        let sealed = secrets.seal(Context::endpoint("ann", "e1"), &secret).unwrap();
        assert!(sealed.starts_with(&secrets.newest_form()) && !sealed.contains("whsec"), "{sealed}");
        assert_eq!(
            secrets.open(Context::endpoint("ann", "e1"), &sealed).unwrap().expose_secret(),
            "whsec_abc"
        );
        for elsewhere in [
            Context::endpoint("ann", "e2"),
            Context::endpoint("ann:", "e1"),
            Context::app("ann", "e1"),
            Context::endpoint("anne", "1"),
        ] {
            assert!(secrets.open(elsewhere, &sealed).is_err(), "{elsewhere:?}");
        }
        assert_ne!(
            sealed,
            secrets.seal(Context::endpoint("ann", "e1"), &secret).unwrap(),
            "a nonce of its own"
        );
    }

    #[test]
    fn older_key_opens_and_newest_key_seals() {
        let context = Context::app("ann", "a");
        let secret = SecretString::from("s");
        let old = secrets(&[[1; 32]]).seal(context, &secret).unwrap();
        let both = secrets(&[[2; 32], [1; 32]]);
        assert_eq!(both.open(context, &old).unwrap().expose_secret(), "s");
        assert!(both.seal(context, &secret).unwrap().starts_with(&secrets(&[[2; 32]]).newest_form()));
        assert!(secrets(&[[2; 32]]).open(context, &old).is_err());
        assert!(Secrets::default().open(context, &old).is_err());
    }

    #[test]
    fn plaintext_secret_stored_before_a_key_is_readable() {
        let context = Context::app("ann", "a");
        assert_eq!(secrets(&[[1; 32]]).open(context, "whsec_x").unwrap().expose_secret(), "whsec_x");
        assert_eq!(Secrets::default().seal(context, &SecretString::from("whsec_x")).unwrap(), "whsec_x");
    }

    #[test]
    fn invalid_secret_key_is_refused_and_never_shown() {
        let short = STANDARD.encode([1; 31]);
        for text in ["", "abc", &short, &format!("{},", STANDARD.encode([1; 32]))] {
            assert_eq!(Secrets::new(&SecretString::from(text)).err(), Some(BadSecretsKey), "{text}");
        }
        assert_eq!(format!("{:?}", secrets(&[[1; 32]])), "Secrets { keys: 1 }");
    }

    proptest! {
        #[test]
        fn altered_secret_does_not_open(key: [u8; 32], at in 0usize..80, with in "[A-Za-z0-9]") {
            let (secrets, context) = (secrets(&[key]), Context::app("ann", "a"));
            let sealed = secrets.seal(context, &SecretString::from("a secret of some length")).unwrap();
            prop_assume!(at >= 14 && at < sealed.trim_end_matches('=').len() - 1 && sealed[at..=at] != with);
            let mut changed = sealed;
            changed.replace_range(at..=at, &with);
            prop_assert!(secrets.open(context, &changed).is_err());
        }
    }
}
