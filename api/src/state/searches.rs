//! How many searches of one user run at once in this process: each takes three sessions with the database, for which requests of
//! other users wait.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use records::UserId;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{Error, error::Code};

/// Searches of one user that run at once.
const AT_ONCE: usize = 2;
/// How long the next search of the user waits for its turn. It has no database session meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// Users without a search are forgotten once there are more than this many.
const KEPT: usize = 1_000;

/// The turns of all users.
#[derive(Default)]
pub(crate) struct Searches(Mutex<HashMap<UserId, Weak<Semaphore>>>);

impl Searches {
    /// Waits for the turn of a search; the search runs while the permit is held.
    ///
    /// # Errors
    /// [`Code::TooManySearches`] when other searches of the user take too long.
    pub(crate) async fn turn(&self, user: &UserId) -> Result<OwnedSemaphorePermit, Error> {
        match timeout(PATIENCE, self.places(user).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Refused(Code::TooManySearches)),
        }
    }

    fn places(&self, user: &UserId) -> Arc<Semaphore> {
        let mut users = self.0.lock();
        if let Some(places) = users.get(user).and_then(Weak::upgrade) {
            return places;
        }
        if users.len() > KEPT {
            users.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(AT_ONCE));
        users.insert(user.clone(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn third_search_of_a_user_waits_for_its_turn_and_others_do_not() {
        let (searches, ann, bob) = (Searches::default(), UserId::new("ann"), UserId::new("bob"));
        let first = searches.turn(&ann).await.unwrap();
        let _second = searches.turn(&ann).await.unwrap();
        assert!(matches!(searches.turn(&ann).await, Err(Error::Refused(Code::TooManySearches))));
        assert!(searches.turn(&bob).await.is_ok());
        let ended = async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        };
        let (third, ()) = tokio::join!(searches.turn(&ann), ended);
        assert!(third.is_ok(), "it waited for the first to end");
    }

    #[tokio::test]
    async fn users_without_a_search_are_forgotten() {
        let searches = Searches::default();
        let ann = UserId::new("ann");
        let _running = searches.turn(&ann).await.unwrap();
        for number in 0..3 * KEPT {
            drop(searches.turn(&UserId::new(number.to_string())).await.unwrap());
        }
        let users = searches.0.lock();
        assert!(users.len() <= KEPT + 1 && users.contains_key(&ann), "{}", users.len());
    }
}
