//! Room for one more waiting job of a user: a finalize beyond the limit is refused.
//!
//! What is found of a user's live jobs is of the moment of the look. Far from the limit that is close enough; near it, the
//! user's account is locked before the look, as every create does that admits a job, so that of two at once the second
//! sees the first.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use records::UserId;
use sqlx::PgConnection;

use super::{
    finalize::{Asked, Asker},
    found::Found,
};
use crate::{
    Budget, OverBudget,
    budgets::JOB_SECONDS,
    error::{Doing, Error},
};

/// More than the batches of all processes admit of one user at the same time.
const NEAR: i64 = 1_000;

/// Refuses what is more than the users of a batch may have waiting, in the batch's order. Answers the users who come near their
/// limit.
pub(super) fn refuse_beyond<'a>(batch: &'a [Arc<Asked>], found: &mut [Found]) -> BTreeSet<&'a UserId> {
    let mut admitted: HashMap<&UserId, i64> = HashMap::new();
    let mut seen = HashSet::new();
    let mut near = BTreeSet::new();
    for (asked, found) in batch.iter().zip(found) {
        let Some(ready) = found.ready().filter(|_| asked.asker() == Asker::Owner) else { continue };
        if ready.most_waiting == 0 || !seen.insert(asked.about()) {
            continue;
        }
        let user = asked.about().0;
        let waiting = admitted.entry(user).or_insert(ready.waiting);
        if *waiting >= ready.most_waiting {
            let (budget, limit) = (Budget::WaitingJobs, ready.most_waiting);
            *found = Found::Full(OverBudget { budget, limit, retry_after: Some(JOB_SECONDS) });
            continue;
        }
        *waiting += 1;
        if *waiting + NEAR > ready.most_waiting {
            near.insert(user);
        }
    }
    near
}

/// Locks the accounts of users, in the order of their ids.
pub(super) async fn lock_accounts(
    connection: &mut PgConnection,
    users: &BTreeSet<&UserId>,
) -> Result<(), Error> {
    sqlx::query(
        "insert into user_usage as g (user_id, day, conversations, bytes) \
         select user_id, (now() at time zone 'UTC')::date, 0, 0 from unnest($1::text[]) k (user_id) order by user_id \
         on conflict (user_id) do update set bytes = g.bytes",
    )
    .bind(users.iter().map(|user| user.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .doing("locking users' accounts")
    .map(drop)
}
