//! The claim of pushes: due rows, some of each person's, in one transaction that waits for nobody.

use std::collections::HashMap;

use chrono::TimeDelta;
use records::{ActionItemId, Timestamp, UserId};
use secrecy::SecretString;
use sqlx::PgConnection;

use super::{ClaimedPush, PushPolicy};
use crate::{
    Claims, Ledger, SubscriptionKind,
    error::{Doing, Error},
};

const DOING: &str = "claiming pushes";
/// What a claim reads for each push that it may take, so that one person's backlog seldom fills a page.
const PAGE_FACTOR: i64 = 4;
/// A push whose person has enough under way comes back this much later, out of everybody's way.
const ASIDE: TimeDelta = TimeDelta::seconds(2);

/// A locked row, and whether its item is still to be done by that date.
#[derive(sqlx::FromRow)]
struct DueRow {
    user_id: String,
    subscription_id: String,
    delivery_id: String,
    is_open: bool,
}

/// A taken row with what its subscription and its item say.
#[derive(sqlx::FromRow)]
struct TakenRow {
    user_id: String,
    subscription_id: String,
    delivery_id: String,
    epoch: i64,
    tries: i32,
    kind: String,
    url: String,
    p256dh: Option<String>,
    auth: Option<String>,
    action_item_id: String,
    description: String,
    due_at: Timestamp,
}

impl Ledger {
    pub(super) async fn claim_due_pushes(
        &self,
        limit: i64,
        policy: &PushPolicy,
    ) -> Result<Claims<ClaimedPush>, Error> {
        let (mut transaction, now) = self.begin(DOING).await?;
        let given_up = give_up_dead(&mut transaction, policy, now).await?;
        let due = lock_due(&mut transaction, now, limit.saturating_mul(PAGE_FACTOR)).await?;
        let (open, closed): (Vec<_>, Vec<_>) = due.into_iter().partition(|row| row.is_open);
        put(&mut transaction, &closed, CANCEL, now).await?;
        let busy = under_way(&mut transaction, &open, now).await?;
        let (taken, aside) = deal(open, busy, usize::try_from(limit).unwrap_or(0), policy.per_person);
        put(&mut transaction, &aside, PUT_ASIDE, now + ASIDE).await?;
        let until = now + TimeDelta::from_std(policy.sending).unwrap_or(TimeDelta::zero());
        let claimed = take(&mut transaction, &taken, until).await?;
        transaction.commit().await.doing(DOING)?;
        let claimed = claimed.into_iter().filter_map(|row| push(row, now)).collect();
        Ok(Claims { claimed, given_up })
    }
}

/// Rows whose sender died in their last try are given up: a push that kills its sender must end. Answers how many those
/// were.
async fn give_up_dead(
    connection: &mut PgConnection,
    policy: &PushPolicy,
    now: Timestamp,
) -> Result<u64, Error> {
    sqlx::query(
        "with dead as (select user_id, subscription_id, delivery_id from push_deliveries \
             where status = 'sending' and sending_until <= $1 and tries > $2 limit 100 for update skip locked) \
         update push_deliveries p set status = 'exhausted', finished_at = $1, sending_until = null, last_error = 'lost' \
         from dead d where p.user_id = d.user_id and p.subscription_id = d.subscription_id \
             and p.delivery_id = d.delivery_id",
    )
    .bind(now)
    .bind(i32::try_from(policy.schedule.len()).unwrap_or(i32::MAX))
    .execute(connection)
    .await
    .doing(DOING)
    .map(|given_up| given_up.rows_affected())
}

/// Rows that are due, or whose sender died, oldest first; rows that others hold are passed by.
async fn lock_due(connection: &mut PgConnection, now: Timestamp, limit: i64) -> Result<Vec<DueRow>, Error> {
    sqlx::query_as(
        "select p.user_id, p.subscription_id, p.delivery_id, \
             (not a.completed and a.due_at is not distinct from p.due_at) as is_open \
         from ((select user_id, subscription_id, delivery_id, next_at as at from push_deliveries \
                 where status = 'pending' and next_at <= $1 order by next_at limit $2) \
             union all \
             (select user_id, subscription_id, delivery_id, sending_until from push_deliveries \
                 where status = 'sending' and sending_until <= $1 order by sending_until limit $2)) due \
         join push_deliveries p using (user_id, subscription_id, delivery_id) \
         join action_items a on a.user_id = p.user_id and a.action_item_id = p.action_item_id \
         where (p.status = 'pending' and p.next_at <= $1) or (p.status = 'sending' and p.sending_until <= $1) \
         order by due.at, p.delivery_id limit $2 for update of p skip locked",
    )
    .bind(now)
    .bind(limit)
    .fetch_all(connection)
    .await
    .doing(DOING)
}

/// Tries under way of the people on this page.
async fn under_way(
    connection: &mut PgConnection,
    due: &[DueRow],
    now: Timestamp,
) -> Result<HashMap<String, usize>, Error> {
    let users: Vec<&str> = due.iter().map(|row| row.user_id.as_str()).collect();
    let counts: Vec<(String, i64)> = sqlx::query_as(
        "select user_id, count(*) from push_deliveries \
         where status = 'sending' and sending_until > $2 and user_id = any($1) group by user_id",
    )
    .bind(users)
    .bind(now)
    .fetch_all(connection)
    .await
    .doing(DOING)?;
    Ok(counts.into_iter().map(|(user, count)| (user, usize::try_from(count).unwrap_or(usize::MAX))).collect())
}

/// Those to take now, at most `limit` and `per_person` of each person, and those to be put aside because their person
/// has enough under way. What is beyond the limit stays as it is.
fn deal(
    due: Vec<DueRow>,
    mut busy: HashMap<String, usize>,
    limit: usize,
    per_person: usize,
) -> (Vec<DueRow>, Vec<DueRow>) {
    let (mut taken, mut aside) = (Vec::new(), Vec::new());
    for row in due {
        let under_way = busy.entry(row.user_id.clone()).or_default();
        if *under_way >= per_person {
            aside.push(row);
        } else if taken.len() < limit {
            *under_way += 1;
            taken.push(row);
        }
    }
    (taken, aside)
}

const CANCEL: &str = "update push_deliveries p set status = 'cancelled', next_at = null, sending_until = null, \
         finished_at = $4 \
     from unnest($1::text[], $2::text[], $3::text[]) t (user_id, subscription_id, delivery_id) \
     where p.user_id = t.user_id and p.subscription_id = t.subscription_id and p.delivery_id = t.delivery_id";
const PUT_ASIDE: &str = "update push_deliveries p set status = 'pending', next_at = $4, sending_until = null \
     from unnest($1::text[], $2::text[], $3::text[]) t (user_id, subscription_id, delivery_id) \
     where p.user_id = t.user_id and p.subscription_id = t.subscription_id and p.delivery_id = t.delivery_id";

/// Runs one of the statements above over locked rows.
async fn put(
    connection: &mut PgConnection,
    rows: &[DueRow],
    statement: &'static str,
    at: Timestamp,
) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let [users, subscriptions, deliveries] = columns(rows);
    sqlx::query(statement)
        .bind(users)
        .bind(subscriptions)
        .bind(deliveries)
        .bind(at)
        .execute(connection)
        .await
        .doing(DOING)
        .map(drop)
}

async fn take(
    connection: &mut PgConnection,
    rows: &[DueRow],
    until: Timestamp,
) -> Result<Vec<TakenRow>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let [users, subscriptions, deliveries] = columns(rows);
    sqlx::query_as(
        "update push_deliveries p set status = 'sending', epoch = p.epoch + 1, tries = p.tries + 1, \
             sending_until = $4, next_at = null \
         from unnest($1::text[], $2::text[], $3::text[]) t (user_id, subscription_id, delivery_id) \
         join push_subscriptions s using (user_id, subscription_id), action_items a \
         where p.user_id = t.user_id and p.subscription_id = t.subscription_id and p.delivery_id = t.delivery_id \
             and a.user_id = p.user_id and a.action_item_id = p.action_item_id \
         returning p.user_id, p.subscription_id, p.delivery_id, p.epoch, p.tries, s.kind, s.url, s.p256dh, s.auth, \
             p.action_item_id, a.description, p.due_at",
    )
    .bind(users)
    .bind(subscriptions)
    .bind(deliveries)
    .bind(until)
    .fetch_all(connection)
    .await
    .doing(DOING)
}

/// Columns for `unnest`.
fn columns(rows: &[DueRow]) -> [Vec<&str>; 3] {
    let of = |field: fn(&DueRow) -> &str| rows.iter().map(field).collect();
    [of(|row| &row.user_id), of(|row| &row.subscription_id), of(|row| &row.delivery_id)]
}

/// A row whose kind this version does not know stays under way until its tries are used up: it stops nobody.
fn push(row: TakenRow, now: Timestamp) -> Option<ClaimedPush> {
    let kind = match (row.kind.as_str(), row.p256dh, row.auth) {
        ("webpush", Some(p256dh), Some(auth)) => {
            SubscriptionKind::WebPush { p256dh, auth: SecretString::from(auth) }
        }
        ("webhook", ..) => SubscriptionKind::Webhook,
        _ => {
            tracing::error!(
                subscription = row.subscription_id,
                "a subscription's kind is unknown to this version"
            );
            return None;
        }
    };
    Some(ClaimedPush {
        user_id: UserId::new(row.user_id),
        subscription_id: row.subscription_id,
        delivery_id: row.delivery_id,
        epoch: row.epoch,
        try_number: row.tries,
        kind,
        url: row.url,
        action_item_id: ActionItemId::new(row.action_item_id),
        description: row.description,
        due_at: row.due_at,
        now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(user: &str, delivery: usize) -> DueRow {
        DueRow {
            user_id: user.into(),
            subscription_id: "s".into(),
            delivery_id: delivery.to_string(),
            is_open: true,
        }
    }

    fn ids(rows: &[DueRow]) -> Vec<&str> {
        rows.iter().map(|row| row.delivery_id.as_str()).collect()
    }

    #[test]
    fn a_person_with_enough_under_way_is_put_aside_and_the_rest_is_taken_in_order() {
        let rows = (0..3).map(|n| due("many", n)).chain([due("one", 3), due("two", 4)]).collect();
        let (taken, aside) = deal(rows, HashMap::from([("many".into(), 1)]), 9, 2);
        assert_eq!((ids(&taken), ids(&aside)), (vec!["0", "3", "4"], vec!["1", "2"]));
    }

    #[test]
    fn what_is_beyond_the_limit_is_left_alone() {
        let rows = (0..3).map(|n| due("one", n)).collect();
        let (taken, aside) = deal(rows, HashMap::new(), 2, 4);
        assert_eq!((ids(&taken), ids(&aside)), (vec!["0", "1"], vec![]));
    }
}
