//! How many jobs of a user may wait: a finalize beyond the user's limit is refused.
//!
//! What is counted of a user's live jobs is of the moment of the count. Far from the limit that is close enough, also for the
//! next admissions of the user: to count thousands of jobs with each would cost more than all else that it does. Near the limit
//! the user's account is locked and the jobs are counted again, as every create does, so that of two at once the second sees
//! the first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use db::{Error, query, query_as};
use parking_lot::Mutex;
use records::{Budget, OverBudget, Timestamp, UserId};
use sqlx::PgConnection;
use store::budgets::JOB_SECONDS;

/// More than all processes admit of one user at the same time, or without counting.
const NEAR: i64 = 1_000;

/// How many jobs of a user a process admits without counting, and for how long.
const UNCOUNTED: usize = 100;
const COUNTED_FOR: Duration = Duration::from_secs(1);

/// How many users are remembered.
const MOST_USERS: usize = 1_000;

/// The users that were far from their limits a moment ago. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct FarFromLimit(Arc<Mutex<HashMap<String, Counted>>>);

struct Counted {
    at: Timestamp,
    /// The limit that it was far from.
    limit: i64,
    /// How many jobs may be admitted before the next count.
    left: usize,
}

impl FarFromLimit {
    /// Whether what is wanted of `user` needs no count.
    fn admits(&self, user: &str, wanted: Wanted, now: Timestamp) -> bool {
        let mut users = self.0.lock();
        let Some(counted) = users.get_mut(user) else { return false };
        let is_enough = counted.left >= wanted.jobs;
        counted.left = counted.left.saturating_sub(wanted.jobs);
        is_enough && counted.limit == wanted.limit && now < counted.at + COUNTED_FOR
    }

    fn note(&self, user: &str, limit: i64, now: Timestamp) {
        let mut users = self.0.lock();
        if users.len() >= MOST_USERS {
            users.retain(|_, counted| now < counted.at + COUNTED_FOR);
        }
        if users.len() < MOST_USERS {
            users.insert(user.to_owned(), Counted { at: now, limit, left: UNCOUNTED });
        }
    }
}

#[derive(Clone, Copy)]
struct Wanted {
    limit: i64,
    jobs: usize,
}

/// How many more jobs each user of a batch may have; nothing is kept of a user who is far from the limit.
pub(super) struct WaitingLimit(HashMap<String, Waiting>);

#[derive(sqlx::FromRow)]
struct Waiting {
    user_id: String,
    /// Jobs that wait or run, counted up to the limit.
    jobs: i64,
    /// The limit.
    most: i64,
}

impl WaitingLimit {
    /// Counts the waiting jobs of the users who are not known to be far from their limits. `requests` are the user of each
    /// request of a batch, with the user's limit; zero is no limit.
    pub(super) async fn of<'a>(
        connection: &mut PgConnection,
        requests: impl Iterator<Item = (&'a UserId, i64)>,
        far: &FarFromLimit,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let mut wanted: BTreeMap<&str, Wanted> = BTreeMap::new();
        for (user, limit) in requests {
            wanted.entry(user.as_str()).or_insert(Wanted { limit, jobs: 0 }).jobs += 1;
        }
        wanted.retain(|user, wanted| wanted.limit > 0 && !far.admits(user, *wanted, now));
        let limits: BTreeMap<&str, i64> =
            wanted.into_iter().map(|(user, wanted)| (user, wanted.limit)).collect();
        let mut waiting = count(connection, &limits).await?;
        let mut near = limits.clone();
        near.retain(|user, limit| waiting.get(*user).is_some_and(|waiting| waiting.jobs + NEAR > *limit));
        if !near.is_empty() {
            // In the order of their ids.
            let users: Vec<&str> = near.keys().copied().collect();
            query!("admission/lock_accounts.sql", users).execute(&mut *connection).await?;
            waiting.extend(count(connection, &near).await?);
        }
        for (user, limit) in limits.iter().filter(|(user, _)| !near.contains_key(*user)) {
            far.note(user, *limit, now);
        }
        Ok(Self(waiting))
    }

    /// Counts one more job of `user`, or refuses it.
    pub(super) fn take(&mut self, user: &UserId) -> Result<(), OverBudget> {
        let Some(waiting) = self.0.get_mut(user.as_str()) else { return Ok(()) };
        if waiting.jobs >= waiting.most {
            let (budget, limit) = (Budget::WaitingJobs, waiting.most);
            return Err(OverBudget { budget, limit, retry_after: Some(JOB_SECONDS) });
        }
        waiting.jobs += 1;
        Ok(())
    }
}

async fn count(
    connection: &mut PgConnection,
    limits: &BTreeMap<&str, i64>,
) -> Result<HashMap<String, Waiting>, Error> {
    if limits.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<Waiting> = query_as!(
        "admission/waiting_jobs.sql",
        limits.keys().copied().collect::<Vec<_>>(),
        limits.values().copied().collect::<Vec<_>>()
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.user_id.clone(), row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_limit_counts_users_far_from_it_rarely() {
        let (far, now) = (FarFromLimit::default(), Timestamp::UNIX_EPOCH);
        let wanted = |limit, jobs| Wanted { limit, jobs };
        assert!(!far.admits("ann", wanted(20_000, 1), now), "she was never counted");
        far.note("ann", 20_000, now);
        assert!(far.admits("ann", wanted(20_000, UNCOUNTED - 1), now));
        assert!(!far.admits("ann", wanted(10, 1), now), "her limit is another one by now");
        assert!(!far.admits("ann", wanted(20_000, 1), now), "so many were admitted meanwhile");
        far.note("ann", 20_000, now);
        assert!(!far.admits("bob", wanted(20_000, 1), now), "he is someone else");
        assert!(!far.admits("ann", wanted(20_000, 1), now + COUNTED_FOR), "it is a second ago");
    }

    #[test]
    fn waiting_limit_remembers_a_bounded_number_of_users() {
        let (far, now) = (FarFromLimit::default(), Timestamp::UNIX_EPOCH);
        (0..2 * MOST_USERS).for_each(|user| far.note(&user.to_string(), 20_000, now));
        let remembered = || far.0.lock().len();
        assert_eq!(remembered(), MOST_USERS);
        far.note("late", 20_000, now + COUNTED_FOR);
        assert_eq!(remembered(), 1, "those of a second ago made room");
    }
}
