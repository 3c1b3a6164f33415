//! Verifies deliveries: only a caller with an identity token of the configured service account may deliver.

use std::sync::Arc;

use crate::{
    Metrics,
    keys::{Found, Keys},
    refusal::Refusal,
    token::{Claims, Token},
};

/// How far two clocks may differ, in seconds.
const LEEWAY: f64 = 10.0;
/// How far ahead a token may have been issued, in seconds.
const AHEAD: f64 = 60.0;

/// The wall clock, in seconds since 1970: tokens name times of the world, not of the database.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Whose tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Who issues them.
    pub issuers: Vec<String>,
    /// For whom they are issued.
    pub audience: String,
    /// The email address of the service account.
    pub invoker: String,
    /// Its number, which is never given to another account; not checked where none is set.
    pub invoker_sub: Option<String>,
}

/// Checks identity tokens. Cheap to clone.
#[derive(Clone)]
pub struct Verifier {
    configured: Option<Arc<(Expected, Keys)>>,
    clock: Clock,
    metrics: Metrics,
}

impl Verifier {
    /// Accepts tokens of `expected`, signed with `keys`; without them, none.
    pub fn new(configured: Option<(Expected, Keys)>, clock: Clock, metrics: Metrics) -> Self {
        Self { configured: configured.map(Arc::new), clock, metrics }
    }

    /// Whether `token` is an identity token of the configured service account. The reason of a refusal is counted; the token
    /// never is.
    ///
    /// # Errors
    /// Why the caller is refused.
    pub async fn check(&self, token: Option<&str>) -> Result<(), Refusal> {
        let checked = self.try_check(token).await;
        if let Err(refusal) = checked {
            self.metrics.refused(refusal.as_str());
            tracing::debug!(reason = refusal.as_str(), "a delivery was refused");
        }
        checked
    }

    async fn try_check(&self, token: Option<&str>) -> Result<(), Refusal> {
        let (expected, keys) = self.configured.as_deref().ok_or(Refusal::NotConfigured)?;
        let token = Token::parse(token.ok_or(Refusal::Missing)?)?;
        let key = match keys.find(&token.key_id).await {
            Found::Key(key) => key,
            Found::Unknown => return Err(Refusal::UnknownKey),
            Found::NoKeys => return Err(Refusal::NoKeys),
        };
        expected.check(&token.verified_by(&key)?, (self.clock)())
    }
}

impl Expected {
    fn check(&self, claims: &Claims, now: f64) -> Result<(), Refusal> {
        if !self.issuers.contains(&claims.iss) {
            return Err(Refusal::Issuer);
        }
        if !claims.aud.is(&self.audience) {
            return Err(Refusal::Audience);
        }
        if claims.exp.0 + LEEWAY <= now {
            return Err(Refusal::Expired);
        }
        let too_early = claims.nbf.is_some_and(|nbf| nbf.0 > now + LEEWAY);
        if too_early || claims.iat.0 > now + AHEAD {
            return Err(Refusal::NotYetValid);
        }
        if claims.email_verified != Some(serde_json::Value::Bool(true)) {
            return Err(Refusal::Unverified);
        }
        let is_invoker = claims.email.as_deref() == Some(&self.invoker);
        let has_number = self.invoker_sub.as_ref().is_none_or(|number| claims.sub.as_ref() == Some(number));
        if is_invoker && has_number { Ok(()) } else { Err(Refusal::Identity) }
    }
}

#[cfg(test)]
mod tests;
