//! A circuit breaker for the server of one shard. Without it every request would wait some seconds for a server that does not answer.
//! For a short while after a request failed so, others are refused at once; then one of them is let through as a probe.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::{Code, Error};

/// How long requests are refused at once after the server did not answer one.
const OPEN: Duration = Duration::from_secs(2);
/// When the server answered another request so short a while ago, a failure means that too few sessions were free, and the circuit
/// stays closed.
const ANSWERED: Duration = Duration::from_secs(3);
/// A probe that has not ended after this long was dropped, and another one may begin.
const LOST: Duration = Duration::from_secs(20);

/// What is known of one shard's server.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    answered: Option<Instant>,
    /// When the server last did not answer; none while the circuit is closed.
    failed: Option<Instant>,
    /// When the probe that is under way began.
    probing: Option<Instant>,
}

impl Breaker {
    /// Asks the shard, unless the circuit is open.
    ///
    /// # Errors
    /// Those of `asked`; [`Code::Unavailable`] at once while the circuit is open.
    pub(super) async fn ask<T>(&self, asked: impl Future<Output = Result<T, db::Error>>) -> Result<T, Error> {
        if !self.admits(Instant::now()) {
            return Err(Error::Refused(Code::Unavailable));
        }
        let answer = asked.await;
        let is_away = answer.as_ref().err().and_then(db::Error::trouble).is_some_and(is_of_the_server);
        self.note(is_away, Instant::now());
        Ok(answer?)
    }

    fn admits(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        let Some(failed) = state.failed else { return true };
        let is_open = now.duration_since(failed) < OPEN;
        let is_probing = state.probing.is_some_and(|begun| now.duration_since(begun) < LOST);
        if is_open || is_probing {
            return false;
        }
        state.probing = Some(now);
        true
    }

    fn note(&self, is_away: bool, now: Instant) {
        let mut state = self.0.lock();
        let answered_lately = state.answered.is_some_and(|at| now.duration_since(at) < ANSWERED);
        match is_away {
            false => *state = State { answered: Some(now), ..State::default() },
            true if answered_lately => {}
            true => *state = State { failed: Some(now), ..State::default() },
        }
    }
}

/// Whether no session of the server could be had.
fn is_of_the_server(trouble: db::Trouble) -> bool {
    use db::Trouble::{Connections, Sessions, Unreachable};
    matches!(trouble, Unreachable | Sessions | Connections)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use std::{
        cell::Cell,
        future::{pending, ready},
    };

    use tokio::time::{advance, timeout};

    use super::*;

    fn away() -> Result<(), db::Error> {
        Err(sqlx::Error::PoolTimedOut.into())
    }

    /// Whether the shard was asked, and whether it answered.
    async fn ask(breaker: &Breaker, answer: Result<(), db::Error>) -> (bool, bool) {
        let asked = Cell::new(false);
        let look = async {
            asked.set(true);
            answer
        };
        let answered = breaker.ask(look).await.is_ok();
        (asked.get(), answered)
    }

    #[tokio::test(start_paused = true)]
    async fn breaker_refuses_requests_to_a_down_shard_except_one_probe() {
        let breaker = Breaker::default();
        assert_eq!(ask(&breaker, away()).await, (true, false));
        assert_eq!(ask(&breaker, Ok(())).await, (false, false), "it was away a moment ago");
        advance(OPEN).await;
        // One looks, and the others do not wait for it.
        let looks = breaker.ask(pending::<Result<(), db::Error>>());
        assert!(timeout(Duration::from_secs(1), looks).await.is_err());
        assert_eq!(ask(&breaker, Ok(())).await, (false, false));
        advance(LOST).await;
        assert_eq!(ask(&breaker, Ok(())).await, (true, true), "that look was lost");
        assert_eq!(ask(&breaker, Ok(())).await, (true, true));
    }

    #[tokio::test(start_paused = true)]
    async fn breaker_stays_closed_while_other_requests_succeed() {
        let breaker = Breaker::default();
        assert_eq!(ask(&breaker, Ok(())).await, (true, true));
        assert_eq!(ask(&breaker, away()).await, (true, false), "a session was waited for in vain");
        assert_eq!(ask(&breaker, Ok(())).await, (true, true));
        advance(ANSWERED).await;
        assert_eq!(ask(&breaker, away()).await, (true, false));
        assert_eq!(ask(&breaker, Ok(())).await, (false, false));
        let contended = breaker.ask(ready(Err::<(), _>(db::Error::Contended { doing: "looking" })));
        advance(OPEN).await;
        assert!(contended.await.is_err());
        assert_eq!(ask(&breaker, Ok(())).await, (true, true), "what answers that it is busy is there");
    }
}
