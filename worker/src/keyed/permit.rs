//! Keys in memory: one ticket per job, with the newest keys that came for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use job::JobId;
use secrecy::SecretString;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long keys are held at most (DECISIONS §4, "BYOK keys").
pub(super) const KEYS_LIVE: Duration = Duration::from_secs(3_600);

/// The keys of one job.
pub(super) struct Ticket {
    keys: Mutex<Keys>,
    renewed: Notify,
}

/// Keys as they are read for one run.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) key: Arc<SecretString>,
    /// When they are forgotten.
    pub(super) until: Instant,
    /// Counts the keys that came for this ticket.
    edition: u64,
}

impl Ticket {
    fn new(key: SecretString) -> Self {
        let keys = Keys { key: Arc::new(key), until: Instant::now() + KEYS_LIVE, edition: 0 };
        Self { keys: Mutex::new(keys), renewed: Notify::new() }
    }

    /// The newest keys.
    pub(super) fn keys(&self) -> Keys {
        self.lock().clone()
    }

    /// Waits until newer keys than `keys` have come.
    pub(super) async fn renewed_since(&self, keys: &Keys) {
        loop {
            let renewed = self.renewed.notified();
            if self.lock().edition != keys.edition {
                return;
            }
            renewed.await;
        }
    }

    fn renew(&self, key: SecretString) {
        let mut keys = self.lock();
        let edition = keys.edition + 1;
        *keys = Keys { key: Arc::new(key), until: Instant::now() + KEYS_LIVE, edition };
        drop(keys);
        self.renewed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tickets of one process, by job.
#[derive(Default)]
pub(super) struct Tickets(Mutex<HashMap<JobId, Arc<Ticket>>>);

impl Tickets {
    /// A ticket for a job that was admitted with these keys a moment ago.
    pub(super) fn issue(&self, job: &JobId, key: SecretString) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket::new(key));
        self.lock().insert(job.clone(), Arc::clone(&ticket));
        ticket
    }

    /// A ticket for a job whose keys are not here yet; else `None`, and the waiting run has the newer keys.
    pub(super) fn issue_or_renew(&self, job: &JobId, key: SecretString) -> Option<Arc<Ticket>> {
        let mut tickets = self.lock();
        if let Some(held) = tickets.get(job) {
            held.renew(key);
            return None;
        }
        let ticket = Arc::new(Ticket::new(key));
        tickets.insert(job.clone(), Arc::clone(&ticket));
        Some(ticket)
    }

    /// Gives `ticket` back, unless newer keys than `keys` came for it: `false`, and the holder goes on with those.
    pub(super) fn give_back(&self, job: &JobId, entry: &Arc<Ticket>, keys: &Keys) -> bool {
        let mut tickets = self.lock();
        if entry.lock().edition != keys.edition {
            return false;
        }
        // A ticket that was issued anew is its new holder's.
        if tickets.get(job).is_some_and(|held| Arc::ptr_eq(held, entry)) {
            tickets.remove(job);
        }
        true
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Ticket>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn newer_keys_reach_the_holder_and_keep_the_ticket_from_being_given_back() {
        let (tickets, job) = (Tickets::default(), JobId::derive("u", "c", 1));
        let ticket = tickets.issue_or_renew(&job, key("old")).unwrap();
        let old = ticket.keys();
        assert!(ticket.renewed_since(&old).now_or_never().is_none());
        assert!(tickets.issue_or_renew(&job, key("new")).is_none(), "one holder per job");
        assert!(ticket.renewed_since(&old).now_or_never().is_some());
        assert!(!tickets.give_back(&job, &ticket, &old));
        let new = ticket.keys();
        assert_eq!(new.key.expose_secret(), "new");
        assert!(tickets.give_back(&job, &ticket, &new));
        assert!(tickets.issue_or_renew(&job, key("later")).is_some());
    }

    #[tokio::test]
    async fn a_ticket_that_was_issued_anew_is_not_given_back_by_its_old_holder() {
        let (tickets, job) = (Tickets::default(), JobId::derive("u", "c", 1));
        let old = tickets.issue(&job, key("old"));
        let _new = tickets.issue(&job, key("new"));
        assert!(tickets.give_back(&job, &old, &old.keys()));
        assert!(tickets.issue_or_renew(&job, key("newest")).is_none(), "the new holder still has it");
    }
}
