//! The claim of pushes: due rows, some of each user's, in one transaction that waits for no lock.

use std::collections::HashMap;

use chrono::TimeDelta;
use db::{
    Error,
    secrets::{Context, Secrets},
};
use records::{ActionItemId, Timestamp, UserId};
use sqlx::PgConnection;

use super::{ClaimedPush, PushPolicy, Pushed};
use crate::{
    Claims, Outbox, SubscriptionKind,
    tries::{GIVEN_UP_UNSENT, UNSENDABLE, sendable},
};

/// How many times one claim looks past people who have enough under way.
const ROUNDS: usize = 8;
/// What a claim reads for each push that it may take, so that one person's backlog seldom fills a page.
const PAGE_FACTOR: i64 = 4;

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
    action_item_id: Option<String>,
    description: Option<String>,
    due_at: Option<Timestamp>,
    message_id: Option<String>,
    app_id: Option<String>,
    app_name: Option<String>,
    target: Option<String>,
    text: Option<String>,
}

impl TakenRow {
    fn pushed(&mut self) -> Option<Pushed> {
        match (self.action_item_id.take(), self.message_id.take()) {
            (Some(item), None) => Some(Pushed::Reminder {
                action_item_id: ActionItemId::new(item),
                description: self.description.take()?,
                due_at: self.due_at?,
            }),
            (None, Some(message_id)) => Some(Pushed::Message {
                message_id,
                app_id: self.app_id.take(),
                app_name: self.app_name.take()?,
                target: self.target.take()?,
                text: self.text.take()?,
            }),
            _ => None,
        }
    }
}

impl Outbox {
    /// Claims at most `limit` due pushes, some of each user's. Of an item that is done, or has another date by now,
    /// nothing is claimed: its push is cancelled. A sender that died is due again at its `until`.
    ///
    /// Each round locks a page of due rows and takes what their people may still have under way. Who has enough is left
    /// out of the next round, and who had enough before out of all: nothing is written of what has to wait, however much
    /// it is and however often a process looks, and it hides no other user's.
    pub async fn claim_pushes(&self, limit: i64, policy: &PushPolicy) -> Result<Claims<ClaimedPush>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        // Rows whose sender died in their last try: a push that kills its sender must end.
        let given_up = sqlx::query(include_str!("../../sql/pushes/give_up_dead.sql"))
            .bind(now)
            .bind(i32::try_from(policy.schedule.len()).unwrap_or(i32::MAX))
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        let until = now + TimeDelta::from_std(policy.sending).unwrap_or(TimeDelta::zero());
        let (mut taken, mut busy) = (Vec::new(), under_way(&mut transaction, now).await?);
        for _ in 0..ROUNDS {
            let wanted = usize::try_from(limit).unwrap_or(0).saturating_sub(taken.len());
            if wanted == 0 {
                break;
            }
            // Rows that are due, or whose sender died, of people who have not enough; oldest first. Locked rows are skipped.
            let due: Vec<DueRow> = sqlx::query_as(include_str!("../../sql/pushes/lock_due.sql"))
                .bind(now)
                .bind(i64::try_from(wanted).unwrap_or(i64::MAX).saturating_mul(PAGE_FACTOR))
                .bind(full(&busy, policy.per_person))
                .fetch_all(&mut *transaction)
                .await?;
            if due.is_empty() {
                break;
            }
            let (open, closed): (Vec<_>, Vec<_>) = due.into_iter().partition(|row| row.is_open);
            cancel(&mut transaction, &closed, now).await?;
            // Once more: a session that held rows of these users a moment ago has taken them by now.
            busy = under_way(&mut transaction, now).await?;
            let dealt = deal(open, &mut busy, wanted, policy.per_person);
            taken.extend(take(&mut transaction, &dealt, until).await?);
        }
        let key =
            |row: &TakenRow| [row.user_id.clone(), row.subscription_id.clone(), row.delivery_id.clone()];
        let (claimed, [users, subscriptions, deliveries]) =
            sendable(taken, key, |row| push(self.db.secrets(), row, now));
        if !deliveries.is_empty() {
            sqlx::query(include_str!("../../sql/pushes/put_back.sql"))
                .bind(users)
                .bind(subscriptions)
                .bind(deliveries)
                .bind(now + UNSENDABLE)
                .bind(now - GIVEN_UP_UNSENT)
                .bind(now)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(Claims { claimed, given_up })
    }
}

/// Tries under way, by person. As many as all processes have slots: few.
async fn under_way(connection: &mut PgConnection, now: Timestamp) -> Result<HashMap<String, usize>, Error> {
    let counts: Vec<(String, i64)> = sqlx::query_as(include_str!("../../sql/pushes/under_way.sql"))
        .bind(now)
        .fetch_all(connection)
        .await?;
    Ok(counts.into_iter().map(|(user, count)| (user, usize::try_from(count).unwrap_or(usize::MAX))).collect())
}

/// People who have enough under way.
fn full(busy: &HashMap<String, usize>, per_person: usize) -> Vec<&str> {
    busy.iter().filter(|(_, under_way)| **under_way >= per_person).map(|(user, _)| user.as_str()).collect()
}

/// Those to take now, in their order: at most `wanted`, and so many of each person that `per_person` are under way.
fn deal(
    due: Vec<DueRow>,
    busy: &mut HashMap<String, usize>,
    wanted: usize,
    per_person: usize,
) -> Vec<DueRow> {
    let has_room = |row: &DueRow| {
        let under_way = busy.entry(row.user_id.clone()).or_default();
        let has_room = *under_way < per_person;
        *under_way += usize::from(has_room);
        has_room
    };
    due.into_iter().filter(has_room).take(wanted).collect()
}

/// Cancels locked rows of items that are done, or have another date by now.
async fn cancel(connection: &mut PgConnection, rows: &[DueRow], now: Timestamp) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let [users, subscriptions, deliveries] = columns(rows);
    sqlx::query(include_str!("../../sql/pushes/cancel.sql"))
        .bind(users)
        .bind(subscriptions)
        .bind(deliveries)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(())
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
    Ok(sqlx::query_as(include_str!("../../sql/pushes/take.sql"))
        .bind(users)
        .bind(subscriptions)
        .bind(deliveries)
        .bind(until)
        .fetch_all(connection)
        .await?)
}

/// Columns for `unnest`.
fn columns(rows: &[DueRow]) -> [Vec<&str>; 3] {
    let of = |field: fn(&DueRow) -> &str| rows.iter().map(field).collect();
    [of(|row| &row.user_id), of(|row| &row.subscription_id), of(|row| &row.delivery_id)]
}

/// How a subscription is reached, as its row says. `None`: a kind that this version does not know, or a secret that no key opens.
fn subscription_kind(
    secrets: &Secrets,
    context: Context<'_>,
    kind: &str,
    p256dh: Option<String>,
    auth: Option<String>,
) -> Option<SubscriptionKind> {
    match (kind, p256dh, auth) {
        ("webpush", Some(p256dh), Some(auth)) => match secrets.open(context, &auth) {
            Ok(auth) => Some(SubscriptionKind::WebPush { p256dh, auth }),
            Err(error) => {
                tracing::error!(subscription = context.id, %error, "a push cannot be sent: no key of LISTEN_SECRETS_KEY opens its subscription's secret; it waits five minutes");
                None
            }
        },
        ("webhook", ..) => Some(SubscriptionKind::Webhook),
        _ => {
            tracing::error!(subscription = context.id, "a subscription's kind is unknown to this version");
            None
        }
    }
}

/// `None`: it cannot be sent by this process. That is the operator's to mend, or another version's to send: it is put back, and no try is
/// counted.
fn push(secrets: &Secrets, mut row: TakenRow, now: Timestamp) -> Option<ClaimedPush> {
    let Some(pushed) = row.pushed() else {
        tracing::error!(delivery_id = row.delivery_id, "what a push is about is unknown to this version");
        return None;
    };
    let context = Context::subscription(&row.user_id, &row.subscription_id);
    let kind = subscription_kind(secrets, context, &row.kind, row.p256dh, row.auth)?;
    Some(ClaimedPush {
        user_id: UserId::new(row.user_id),
        subscription_id: row.subscription_id,
        delivery_id: row.delivery_id,
        epoch: row.epoch,
        try_number: row.tries,
        kind,
        url: row.url,
        pushed,
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
    fn push_claims_skip_a_user_with_enough_in_flight() {
        let rows = (0..3).map(|n| due("many", n)).chain([due("one", 3), due("two", 4)]).collect();
        let mut busy = HashMap::from([("many".into(), 1)]);
        assert_eq!(ids(&deal(rows, &mut busy, 9, 2)), ["0", "3", "4"]);
        assert_eq!(full(&busy, 2), ["many"]);
    }

    #[test]
    fn push_claims_respect_the_limit() {
        let rows = (0..3).map(|n| due("one", n)).collect();
        let mut busy = HashMap::new();
        assert_eq!(ids(&deal(rows, &mut busy, 2, 4)), ["0", "1"]);
        assert_eq!(busy["one"], 2, "nothing else counts as under way");
    }
}
