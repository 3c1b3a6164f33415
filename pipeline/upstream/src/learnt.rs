//! What was learnt of a server, for a while: a server is replaced by another one, and a single odd answer teaches what is not so.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long it holds. Then the server is asked as at first, which costs a refusal or two an hour where nothing has changed.
const HOLDS: Duration = Duration::from_secs(3_600);

/// What a server is taken to be: the first guess, until something else was learnt.
#[derive(Debug)]
pub struct Learnt<T> {
    first: T,
    last: Mutex<Option<(T, Instant)>>,
}

impl<T: Copy + PartialEq> Learnt<T> {
    /// Nothing was learnt yet: `first` holds.
    pub fn new(first: T) -> Self {
        Self { first, last: Mutex::new(None) }
    }

    /// What holds now.
    pub fn known(&self) -> T {
        match *self.last.lock() {
            Some((learnt, at)) if at.elapsed() < HOLDS => learnt,
            _ => self.first,
        }
    }

    /// From now on `learnt` holds, for an hour; whether that is news. A call that worked in the known way notes nothing, or the hour
    /// would begin anew with each call and never end.
    pub fn note(&self, learnt: T) -> bool {
        let before = self.last.lock().replace((learnt, Instant::now()));
        before.map_or(self.first, |(before, _)| before) != learnt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_learnt_holds_for_an_hour() {
        let learnt = Learnt::new("new");
        assert_eq!(learnt.known(), "new");
        assert!(learnt.note("old"));
        tokio::time::advance(HOLDS / 2).await;
        assert_eq!(learnt.known(), "old");
        tokio::time::advance(HOLDS / 2).await;
        assert_eq!(learnt.known(), "new", "it is tried again");
        assert!(!learnt.note("old"), "and nothing has changed");
        assert_eq!(learnt.known(), "old");
        assert!(learnt.note("new"));
    }
}
