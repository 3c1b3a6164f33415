//! An identity token: a JWS in its compact form, signed with RS256 and nothing else (RFC 7515, RFC 7519).
//!
//! Written on `ring` directly: a library for all of JOSE decides by the token's own header which algorithm it checks, and this route
//! accepts exactly one.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde::Deserialize;
use serde_json::Value;

use crate::refusal::Refusal;

/// A longer token is refused unread.
const LONGEST: usize = 8 * 1_024;

/// A public key of a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RsaKey {
    pub(crate) n: Vec<u8>,
    pub(crate) e: Vec<u8>,
}

/// A token that was taken apart; nothing of it is believed yet.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    /// Which key signed it.
    pub(crate) key_id: String,
    signed: &'a str,
    signature: Vec<u8>,
    claims: &'a str,
}

/// What a token claims. Only what is checked is read.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    pub(crate) aud: Audience,
    pub(crate) exp: Moment,
    pub(crate) iat: Moment,
    pub(crate) nbf: Option<Moment>,
    pub(crate) sub: Option<String>,
    pub(crate) email: Option<String>,
    /// Anything but `true` is "not verified".
    pub(crate) email_verified: Option<Value>,
}

/// One audience, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    pub(crate) fn is(&self, expected: &str) -> bool {
        match self {
            Self::One(audience) => audience == expected,
            Self::Several(audiences) => audiences.iter().any(|audience| audience == expected),
        }
    }
}

/// Seconds since 1970; fractions are allowed (RFC 7519, NumericDate).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
pub(crate) struct Moment(pub(crate) f64);

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood: none is.
    crit: Option<Value>,
}

impl<'a> Token<'a> {
    /// Takes a token apart.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Refusal> {
        if text.len() > LONGEST {
            return Err(Refusal::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Refusal::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Refusal::Malformed)?;
        let header: Header = read(header)?;
        if header.alg != "RS256" || header.crit.is_some() {
            return Err(Refusal::Algorithm);
        }
        let key_id = header.kid.filter(|kid| !kid.is_empty()).ok_or(Refusal::UnknownKey)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refusal::Malformed)?;
        Ok(Self { key_id, signed, signature, claims })
    }

    /// What it claims, once its signature is right.
    pub(crate) fn verified_by(&self, key: &RsaKey) -> Result<Claims, Refusal> {
        let key = RsaPublicKeyComponents { n: &key.n, e: &key.e };
        key.verify(&RSA_PKCS1_2048_8192_SHA256, self.signed.as_bytes(), &self.signature)
            .map_err(|_| Refusal::Signature)?;
        read(self.claims)
    }
}

fn read<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, Refusal> {
    let json = URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed)?;
    serde_json::from_slice(&json).map_err(|_| Refusal::Malformed)
}
