//! Which shard a request belongs to: that of the user whose key it presents.

use std::{collections::HashMap, sync::Arc};

use axum::http::HeaderMap;
use futures::future::join_all;
use ledger::{Ledger, Shards};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::breaker::Breaker;
use crate::{
    completion::run_to_completion,
    error::{Code, Error},
    keys::{bearer, hash_of_presented, hash_of_presented_app_key, shard_in},
};

/// So many keys are remembered that do not say where they belong; beyond it all are forgotten.
const REMEMBERED: usize = 100_000;
/// So many of them are looked for at once: each asks every shard.
const LOOKED_FOR: usize = 8;

/// The shards, what is known of their servers, and where keys belong that do not say it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Directory(Arc<Inner>);

struct Inner {
    shards: Shards,
    /// By the shards' numbers; none where there is one shard: its users have no others to be served beside.
    breakers: Vec<Breaker>,
    /// The numbers of shards, by the look-up hash of a key.
    known: Mutex<HashMap<[u8; 32], u16>>,
    looking: Semaphore,
}

impl Directory {
    pub(crate) fn new(shards: Shards) -> Self {
        let count = if shards.count() > 1 { shards.count() } else { 0 };
        let breakers = (0..count).map(|_| Breaker::default()).collect();
        Self(Arc::new(Inner {
            shards,
            breakers,
            known: Mutex::default(),
            looking: Semaphore::new(LOOKED_FOR),
        }))
    }

    pub(crate) fn shards(&self) -> &Shards {
        &self.0.shards
    }

    /// The shard that answers a request. What presents no key of ours is answered without its data, by the first.
    pub(crate) async fn of_request(&self, headers: &HeaderMap) -> &Ledger {
        match bearer(headers) {
            Some(token) => self.of_token(token).await,
            None => self.0.shards.first(),
        }
    }

    /// The shard of a key's user. Where no shard knows the key, one that did not answer: its request gets 503 and may be
    /// repeated. Where all answered, the first, which refuses the key.
    pub(crate) async fn of_token(&self, token: &str) -> &Ledger {
        let shards = &self.0.shards;
        if shards.count() == 1 {
            return shards.first();
        }
        let (developer, app) = (hash_of_presented(token), hash_of_presented_app_key(token));
        let Some(hash) = developer.or(app) else { return shards.first() };
        if let Some(number) = shard_in(token) {
            return shards.numbered(number).unwrap_or(shards.first());
        }
        let known = self.0.known.lock().get(&hash).copied();
        let number = match known {
            Some(number) => number,
            None => run_to_completion(self.clone().look_for(hash, app.is_some())).await,
        };
        shards.numbered(number).unwrap_or(shards.first())
    }

    /// Asks a shard for a key, unless its server is known not to answer. Every request begins with this.
    ///
    /// # Errors
    /// Those of `asked`; [`Code::Unavailable`] at once while the shard is known not to answer.
    pub(crate) async fn ask<T>(
        &self,
        ledger: &Ledger,
        asked: impl Future<Output = Result<T, db::Error>>,
    ) -> Result<T, Error> {
        match self.0.breakers.get(usize::from(ledger.db().shard().number)) {
            Some(breaker) => breaker.ask(asked).await,
            None => Ok(asked.await?),
        }
    }

    /// Looks the key of a request up again. What presents no key of ours was let in by something else.
    ///
    /// # Errors
    /// [`Code::NotAuthenticated`] for a key that lives no more.
    pub(crate) async fn require_live_key(&self, ledger: &Ledger, headers: &HeaderMap) -> Result<(), Error> {
        let token = bearer(headers).unwrap_or_default();
        let (developer, app) = (hash_of_presented(token), hash_of_presented_app_key(token));
        let Some(hash) = developer.or(app) else { return Ok(()) };
        match self.ask(ledger, knows(ledger, hash, app.is_some())).await? {
            true => Ok(()),
            false => Err(Error::Refused(Code::NotAuthenticated)),
        }
    }

    async fn look_for(self, hash: [u8; 32], is_app: bool) -> u16 {
        let _turn = self.0.looking.acquire().await;
        let asked = self
            .0
            .shards
            .iter()
            .map(|ledger| self.ask(ledger, ledger.db().in_time(knows(ledger, hash, is_app))));
        let mut silent = None;
        for (number, found) in (0..).zip(join_all(asked).await) {
            match found {
                Ok(true) => {
                    let mut known = self.0.known.lock();
                    if known.len() >= REMEMBERED {
                        known.clear();
                    }
                    known.insert(hash, number);
                    return number;
                }
                Ok(false) => {}
                Err(_) => silent = Some(number),
            }
        }
        silent.unwrap_or_default()
    }
}

async fn knows(ledger: &Ledger, hash: [u8; 32], is_app: bool) -> Result<bool, db::Error> {
    match is_app {
        true => Ok(ledger.store().app_key_owner(&hash).await?.is_some()),
        false => Ok(ledger.store().key_owner(&hash).await?.is_some()),
    }
}
