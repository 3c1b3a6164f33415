//! Which shard a request belongs to: that of the user whose key it presents, which the key says.

use std::sync::Arc;

use axum::http::HeaderMap;
use ledger::{Ledger, Shards};

use super::breaker::Breaker;
use crate::{
    error::Error,
    keys::{bearer, shard_in},
};

/// The shards, and what is known of their servers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Directory {
    shards: Shards,
    /// By the shards' numbers; none where there is one shard: its users have no others to be served beside.
    breakers: Arc<[Breaker]>,
}

impl Directory {
    pub(crate) fn new(shards: Shards) -> Self {
        let count = if shards.count() > 1 { shards.count() } else { 0 };
        Self { shards, breakers: (0..count).map(|_| Breaker::default()).collect() }
    }

    pub(crate) fn shards(&self) -> &Shards {
        &self.shards
    }

    /// The shard that answers a request. What presents no key of ours is answered without its data, by the first.
    pub(crate) fn of_request(&self, headers: &HeaderMap) -> &Ledger {
        bearer(headers).map_or(self.shards.first(), |token| self.of_token(token))
    }

    /// The shard of a key's user. Every key of an installation with several shards names it; another one is looked up in the first,
    /// which refuses it.
    pub(crate) fn of_token(&self, token: &str) -> &Ledger {
        let number = shard_in(token).unwrap_or_default();
        self.shards.numbered(number).unwrap_or(self.shards.first())
    }

    /// Asks a shard for a key, unless its server is known to be away: with this question every request begins.
    ///
    /// # Errors
    /// Returns those of `asked`, and [`Error::NoAnswer`] at once while the shard is away.
    pub(crate) async fn ask<T>(
        &self,
        ledger: &Ledger,
        asked: impl Future<Output = Result<T, db::Error>>,
    ) -> Result<T, Error> {
        match self.breakers.get(usize::from(ledger.db().shard().number)) {
            Some(breaker) => breaker.ask(asked).await,
            None => Ok(asked.await?),
        }
    }
}
