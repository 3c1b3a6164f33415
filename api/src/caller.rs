//! Who calls, a person or an app: the bearer key of a request, looked up anew every time, so that a revocation holds at once.

use std::num::NonZeroU32;

use axum::{extract::FromRequestParts, http::request::Parts};
use records::{Timestamp, UserId};

use crate::{
    Error,
    error::Code,
    keys::{Scope, bearer, hash_of, hash_of_presented, hash_of_presented_app_key},
    state::{Account, AppState, RateLimitHeaders},
};

/// The person behind a request, with what the key may do.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) user: UserId,
    pub(crate) key_id: String,
    /// When that key stops working.
    pub(crate) expires_at: Option<Timestamp>,
    /// The memory that this request holds.
    pub(crate) account: Account,
    scopes: Vec<Scope>,
}

impl Caller {
    /// Goes on only if the key holds `scope`.
    ///
    /// # Errors
    /// [`Error::Forbidden`], which names the scope.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), Error> {
        match self.scopes.iter().any(|held| scope.is_granted_by(*held)) {
            true => Ok(()),
            false => Err(Error::Forbidden(scope)),
        }
    }

    /// The caller of a live socket whose key came in its first message, with the look-up hash of the key.
    ///
    /// # Errors
    /// [`Code::NotAuthenticated`], and as any request's.
    pub(crate) async fn of_token(token: &str, state: &AppState) -> Result<(Self, [u8; 32]), Error> {
        let hash = hash_of_presented(token.trim()).ok_or(Error::Refused(Code::NotAuthenticated))?;
        Ok((Self::of_hash(&hash, state, None, Account::new(&state.budget)).await?, hash))
    }

    async fn of_hash(
        hash: &[u8; 32],
        state: &AppState,
        rate_limit: Option<&RateLimitHeaders>,
        account: Account,
    ) -> Result<Self, Error> {
        let asked = state.directory.ask(&state.ledger, state.ledger.store().key_owner(hash)).await?;
        let owner = asked.ok_or(Error::Refused(Code::NotAuthenticated))?;
        let counted = state.rate.admit(&owner.user_id);
        if let (Some(left), Some(rate_limit)) = (counted.left, rate_limit) {
            rate_limit.note(left);
        }
        counted.admitted?;
        account.open(&owner.user_id);
        // A scope that this version does not know (yet, or any more) grants nothing.
        let scopes = owner.scopes.iter().filter_map(|name| Scope::from_name(name)).collect();
        Ok(Self { user: owner.user_id, key_id: owner.key_id, expires_at: owner.expires_at, account, scopes })
    }
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Error> {
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let hash = hash_of(&parts.headers).ok_or(Error::Refused(Code::NotAuthenticated))?;
        let account =
            parts.extensions.get::<Account>().cloned().unwrap_or_else(|| Account::new(&state.budget));
        Self::of_hash(&hash, state, parts.extensions.get::<RateLimitHeaders>(), account).await
    }
}

/// The app behind a request.
#[derive(Clone, Debug)]
pub(crate) struct AppCaller {
    pub(crate) app_id: String,
}

impl FromRequestParts<AppState> for AppCaller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Error> {
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let hash = bearer(&parts.headers)
            .and_then(hash_of_presented_app_key)
            .ok_or(Error::Refused(Code::NotAuthenticated))?;
        let asked = state.directory.ask(&state.ledger, state.ledger.store().app_key_owner(&hash)).await?;
        let key = asked.ok_or(Error::Refused(Code::NotAuthenticated))?;
        if let Some(per_minute) = NonZeroU32::new(state.settings.app_rate_per_minute)
            && let Some(seconds) = state.ledger.store().admit_app_request(&key, per_minute).await?
        {
            return Err(Error::Later(Code::TooManyRequests, (seconds.ceil() as u64).max(1)));
        }
        // The request's memory is on the account of the app's owner.
        if let Some(account) = parts.extensions.get::<Account>() {
            account.open(&key.owner);
        }
        Ok(Self { app_id: key.app_id })
    }
}
