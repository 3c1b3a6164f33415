//! Leaves a server that users named alone for a while after it failed several times in a row, in this process. It disables
//! nothing.

use std::collections::HashMap;

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Failures in a row after which it opens.
const FAILURES: u32 = 5;
/// How long it stays open; then one call is let through at a time.
const OPEN: Duration = Duration::from_secs(30);
/// Servers that are kept. Beyond it those are forgotten that are called anyway: users may take a server away that failed.
const KEPT: usize = 10_000;

/// The breakers of all servers that fail, by a name that the caller gives; of one that answers nothing is kept.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failing: Mutex<HashMap<String, Failing>>,
}

#[derive(Debug)]
struct Failing {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// Whether the server may be called now. Of those that ask when it has been open for its time, the first may: the others wait
    /// for how that call ends, or for as long again.
    pub(crate) fn admits(&self, server: &str) -> bool {
        let mut failing = self.failing.lock();
        let Some(open_until) = failing.get_mut(server).and_then(|one| one.open_until.as_mut()) else {
            return true;
        };
        let now = Instant::now();
        let admits = now >= *open_until;
        if admits {
            *open_until = now + OPEN;
        }
        admits
    }

    /// Notes how a call ended.
    pub(crate) fn note(&self, server: &str, failed: bool) {
        let mut failing = self.failing.lock();
        if !failed {
            failing.remove(server);
            return;
        }
        if failing.len() >= KEPT && !failing.contains_key(server) {
            let now = Instant::now();
            failing.retain(|_, one| one.open_until.is_some_and(|until| now < until));
        }
        let one = failing.entry(server.to_owned()).or_insert(Failing { failures: 0, open_until: None });
        one.failures = one.failures.saturating_add(1);
        if one.failures >= FAILURES {
            one.open_until = Some(Instant::now() + OPEN);
        }
    }

    /// Forgets a server that will not be called again.
    pub(crate) fn forget(&self, server: &str) {
        self.failing.lock().remove(server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn breaker_opens_for_30_seconds_after_five_failures() {
        let breaker = Breaker::default();
        for _ in 0..4 {
            breaker.note("a", true);
        }
        breaker.note("a", false);
        for _ in 0..4 {
            breaker.note("a", true);
        }
        assert!(breaker.admits("a"), "not five in a row");
        breaker.note("a", true);
        assert!(!breaker.admits("a"));
        assert!(breaker.admits("b"), "another server");
        tokio::time::advance(OPEN).await;
        assert_eq!([breaker.admits("a"), breaker.admits("a")], [true, false], "one tries");
        breaker.note("a", true);
        assert!(!breaker.admits("a"), "and fails");
        tokio::time::advance(OPEN).await;
        assert!(breaker.admits("a"));
        breaker.note("a", false);
        assert_eq!([breaker.admits("a"), breaker.admits("a")], [true, true], "and answers");
        assert!(breaker.failing.lock().is_empty());
    }

    #[test]
    fn breaker_forgets_servers_that_failed_and_went_away() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.note("a", true);
        }
        for number in 0..2 * KEPT {
            breaker.note(&number.to_string(), true);
        }
        assert!(breaker.failing.lock().len() <= KEPT);
        assert!(!breaker.admits("a"), "an open one is kept");
    }
}
