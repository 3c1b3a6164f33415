//! Which app calls: its key, looked up anew every time.

use std::num::NonZeroU32;

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{
    AppState, Code, Error,
    keys::{bearer, hash_of_presented_app_key},
    state::Account,
};

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
