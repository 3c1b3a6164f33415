//! Keys in memory: one permit per job, with the newest keys that came for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use job::JobId;
use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long keys are held at most (docs/byok.md).
pub(super) const KEYS_LIVE: Duration = Duration::from_secs(3_600);

/// The keys of one job: the newest that came for it.
pub(super) struct Permit(watch::Sender<Keys>);

/// Keys as they are read for one run.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) key: Arc<SecretString>,
    /// When they are forgotten.
    pub(super) until: Instant,
    /// Counts the keys that came for this permit.
    edition: u64,
}

impl Keys {
    fn new(key: SecretString, edition: u64) -> Self {
        Self { key: Arc::new(key), until: Instant::now() + KEYS_LIVE, edition }
    }
}

impl Permit {
    fn new(key: SecretString) -> Self {
        Self(watch::Sender::new(Keys::new(key, 0)))
    }

    pub(super) fn keys(&self) -> Keys {
        self.0.borrow().clone()
    }

    /// Waits until newer keys than `keys` have come.
    pub(super) async fn renewed_since(&self, keys: &Keys) {
        // The permit that is waited for keeps the channel open.
        let _ = self.0.subscribe().wait_for(|newest| newest.edition != keys.edition).await;
    }

    fn renew(&self, key: SecretString) {
        self.0.send_modify(|keys| *keys = Keys::new(key, keys.edition + 1));
    }
}

/// The permits of one process, by job.
#[derive(Default)]
pub(super) struct Permits(Mutex<HashMap<JobId, Arc<Permit>>>);

impl Permits {
    /// A permit for a job that was admitted with these keys a moment ago.
    pub(super) fn issue(&self, job: &JobId, key: SecretString) -> Arc<Permit> {
        let permit = Arc::new(Permit::new(key));
        self.0.lock().insert(job.clone(), Arc::clone(&permit));
        permit
    }

    /// A permit for a job whose keys are not here yet; else `None`, and the waiting run has the newer keys.
    pub(super) fn issue_or_renew(&self, job: &JobId, key: SecretString) -> Option<Arc<Permit>> {
        let mut permits = self.0.lock();
        if let Some(held) = permits.get(job) {
            held.renew(key);
            return None;
        }
        let permit = Arc::new(Permit::new(key));
        permits.insert(job.clone(), Arc::clone(&permit));
        Some(permit)
    }

    /// Gives `permit` back, unless newer keys than `keys` came for it: `false`, and the holder goes on with those.
    pub(super) fn give_back(&self, job: &JobId, entry: &Arc<Permit>, keys: &Keys) -> bool {
        let mut permits = self.0.lock();
        if entry.0.borrow().edition != keys.edition {
            return false;
        }
        // A permit that was issued anew is its new holder's.
        if permits.get(job).is_some_and(|held| Arc::ptr_eq(held, entry)) {
            permits.remove(job);
        }
        true
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use futures::FutureExt;
    use secrecy::ExposeSecret;

    use super::*;

    fn key(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    #[tokio::test]
    async fn newer_keys_reach_the_holder_and_keep_its_permit() {
        let (permits, job) = (Permits::default(), JobId::derive("u", "c", 1));
        let permit = permits.issue_or_renew(&job, key("old")).unwrap();
        let old = permit.keys();
        assert!(permit.renewed_since(&old).now_or_never().is_none());
        assert!(permits.issue_or_renew(&job, key("new")).is_none(), "one holder per job");
        assert!(permit.renewed_since(&old).now_or_never().is_some());
        assert!(!permits.give_back(&job, &permit, &old));
        let new = permit.keys();
        assert_eq!(new.key.expose_secret(), "new");
        assert!(permits.give_back(&job, &permit, &new));
        assert!(permits.issue_or_renew(&job, key("later")).is_some());
    }

    #[tokio::test]
    async fn permit_issued_again_is_not_released_by_its_old_holder() {
        let (permits, job) = (Permits::default(), JobId::derive("u", "c", 1));
        let old = permits.issue(&job, key("old"));
        let _new = permits.issue(&job, key("new"));
        assert!(permits.give_back(&job, &old, &old.keys()));
        assert!(permits.issue_or_renew(&job, key("newest")).is_none(), "the new holder still has it");
    }
}
