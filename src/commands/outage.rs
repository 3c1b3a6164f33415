//! A database that does not answer while a command watches: restarts and failovers are what operators watch.

use std::time::Duration;

use tokio::time::Instant;

use crate::commands::stderr::note;

/// How long an outage may last before the watch ends with its error.
const PATIENCE: Duration = Duration::from_secs(120);

/// Rest between two tries of what must be answered.
const REST: Duration = Duration::from_millis(500);

/// Whether the database answers, and since when it does not.
#[derive(Debug, Default)]
pub(super) struct Outage {
    has_answered: bool,
    since: Option<Instant>,
}

impl Outage {
    /// Of a database that has answered this command before.
    pub(super) fn after_an_answer() -> Self {
        Self { has_answered: true, since: None }
    }

    /// The value that was read; `None` while the database does not answer, which is printed once, as is its return.
    ///
    /// # Errors
    /// What does not pass by itself, an outage that lasts too long, and a database that has never answered: then it is
    /// the address that is wrong.
    pub(super) fn retry<T>(&mut self, looked: Result<T, db::Error>) -> Result<Option<T>, db::Error> {
        match looked {
            Ok(seen) => {
                self.has_answered = true;
                if let Some(since) = self.since.take() {
                    note!("the database answers again, after {} s", since.elapsed().as_secs());
                }
                Ok(Some(seen))
            }
            Err(error) if !self.has_answered || !error.is_passing() => Err(error),
            Err(error) => {
                if self.since.is_none() {
                    note!("{error}: waiting for it");
                }
                let since = *self.since.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE { Err(error) } else { Ok(None) }
            }
        }
    }
}

/// What `verb` answers, repeated over an outage of a database that has answered this command before.
pub(super) async fn with_retries<T>(
    mut verb: impl AsyncFnMut() -> Result<T, db::Error>,
) -> Result<T, db::Error> {
    let mut outage = Outage::after_an_answer();
    loop {
        if let Some(answer) = outage.retry(verb().await)? {
            return Ok(answer);
        }
        tokio::time::sleep(REST).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> Result<(), db::Error> {
        Err(db::Error::Contended { doing: "looking" })
    }

    #[tokio::test(start_paused = true)]
    async fn outage_is_waited_for_after_a_first_answer() {
        let mut outage = Outage::default();
        assert!(outage.retry(away()).is_err(), "it never answered");
        assert!(outage.retry(Ok(())).is_ok_and(|seen| seen.is_some()));
        assert!(outage.retry(away()).is_ok_and(|seen| seen.is_none()));
        tokio::time::advance(PATIENCE).await;
        assert!(outage.retry(away()).is_ok_and(|seen| seen.is_none()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(outage.retry(away()).is_err(), "it stays away");
    }

    #[tokio::test(start_paused = true)]
    async fn operation_is_retried_through_an_outage_of_limited_length() {
        let (began, mut tries) = (Instant::now(), 0);
        let answered = with_retries(async || {
            tries += 1;
            if tries < 3 { away() } else { Ok(()) }
        });
        assert!(answered.await.is_ok());
        assert_eq!((tries, began.elapsed()), (3, 2 * REST));
        let began = Instant::now();
        assert!(with_retries(async || away()).await.is_err(), "it stays away");
        assert_eq!(began.elapsed(), PATIENCE + REST);
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_errors_are_not_an_outage() {
        let mut outage = Outage::default();
        assert!(outage.retry(Ok(())).is_ok());
        let wrong = db::Error::ImpossibleRow { table: "jobs", id: "7".to_owned(), column: "status" };
        assert!(outage.retry::<()>(Err(wrong)).is_err());
    }
}
