//! Identity tokens, as Google issues them to service accounts, signed with keys of the emulator's own.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPair, PublicKeyComponents},
    signature::RSA_PKCS1_SHA256,
};
use serde_json::{Value, json};

const KEYS: [&str; 2] = [include_str!("../keys/one.pem"), include_str!("../keys/two.pem")];

/// Signs tokens, with one of two keys.
pub struct Signer {
    key: KeyPair,
    key_id: String,
}

/// What a token claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// Who issues it.
    pub issuer: String,
    /// For whom.
    pub audience: String,
    /// The service account's email address.
    pub email: String,
    /// Whether that address is verified.
    pub email_verified: bool,
    /// When it is issued, in seconds since 1970.
    pub issued_at: i64,
    /// When it expires.
    pub expires_at: i64,
}

impl Signer {
    /// With the key of that number; numbers go on for ever and the keys alternate.
    ///
    /// # Errors
    /// When the key cannot be read.
    pub fn new(number: usize) -> std::io::Result<Self> {
        let pem = KEYS.get(number % KEYS.len()).copied().unwrap_or_default();
        let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let broken = |_| std::io::Error::other("the test key cannot be read");
        let der = STANDARD.decode(text).map_err(|_| std::io::Error::other("the test key is no PEM"))?;
        Ok(Self { key: KeyPair::from_pkcs8(&der).map_err(broken)?, key_id: format!("key-{number}") })
    }

    /// The name of its key.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// A signed token.
    pub fn sign(&self, claims: &Claims) -> String {
        self.sign_json(&json!({ "alg": "RS256", "kid": self.key_id, "typ": "JWT" }), &claims.json())
    }

    /// Whatever header and claims, signed all the same.
    pub fn sign_json(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        let done = self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature);
        match done {
            Ok(()) => format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)),
            Err(_) => signed,
        }
    }

    /// Its public key as a JWK.
    pub fn jwk(&self) -> Value {
        let public: PublicKeyComponents<Vec<u8>> = self.key.public().into();
        let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.key_id,
            "n": number(&public.n), "e": number(&public.e),
        })
    }
}

impl Claims {
    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "iss": self.issuer, "aud": self.audience, "azp": "100000000000000000001", "sub": "100000000000000000001",
            "email": self.email, "email_verified": self.email_verified, "iat": self.issued_at, "exp": self.expires_at,
        })
    }
}
