//! The claim of pushes: due rows, dealt out fairly among subscriptions, in one transaction that waits for no lock.

use std::collections::HashMap;

use chrono::TimeDelta;
use db::{
    Error, query, query_as,
    secrets::{Context, Secrets},
    sql,
};
use records::{ActionItemId, Timestamp, UserId};
use sqlx::PgConnection;

use super::{ClaimedPush, PushPolicy, Pushed};
use crate::{
    Claims, Outbox, SenderLoad, SubscriptionKind,
    fair::{DueRow, Passed, ROUNDS, deal},
    receivers::{Statements, UnderWay},
};

const STATEMENTS: Statements = Statements {
    oldest: sql!("pushes/due.sql"),
    by_receiver: sql!("pushes/waiting_subscriptions.sql"),
    give_up_dead: sql!("pushes/give_up_dead.sql"),
    put_back: sql!("pushes/put_back.sql"),
};

/// A locked row, and whether its item is still to be done by that date.
#[derive(sqlx::FromRow)]
struct LockedRow {
    #[sqlx(flatten)]
    row: DueRow,
    is_open: bool,
}

/// A taken row with what its subscription and its item say.
#[derive(sqlx::FromRow)]
struct TakenRow {
    #[sqlx(flatten)]
    key: DueRow,
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
    /// Claims at most `limit` due pushes, at most `per_subscription` under way per subscription. Of an item that is done, or has
    /// another date by now, nothing is claimed: its push is cancelled. A sender that died is due again at its `until`. `load` is what
    /// the process has under way: each user comes to a share of it.
    ///
    /// Each round reads a page of due rows, locks those that no other session holds, and takes what their subscriptions and users may
    /// still have under way. Subscriptions and users at their limit are left out of the next round, and those that were there before
    /// the claim out of all rounds: the rows that wait are not written, and they fill no page. Users who had their turn are left out
    /// until nothing else is due. Where the oldest pushes are all of those that are left out, a round goes from subscription to
    /// subscription instead.
    pub async fn claim_pushes(
        &self,
        limit: i64,
        policy: &PushPolicy,
        mut load: Option<SenderLoad>,
    ) -> Result<Claims<ClaimedPush>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let given_up = STATEMENTS.give_up_dead(&mut transaction, &policy.schedule, now).await?;
        let until = now + TimeDelta::from_std(policy.sending).unwrap_or(TimeDelta::zero());
        let (mut taken, mut passed) = (Vec::new(), Passed::of(load.as_ref()));
        for busy in &under_way(&mut transaction, now).await? {
            if busy.tries >= policy.per_subscription {
                passed.add((&busy.user_id, &busy.receiver_id));
            }
        }
        for _ in 0..ROUNDS {
            let wanted = limit - i64::try_from(taken.len()).unwrap_or(limit);
            if wanted <= 0 {
                break;
            }
            let due =
                self.turns.subscriptions.due(&mut transaction, &STATEMENTS, wanted, &mut passed, now).await?;
            if due.is_empty() {
                break;
            }
            let (open, closed) = lock(&mut transaction, &due, now).await?;
            // What another session holds, it is claiming: its subscription is looked past.
            for row in due.iter().filter(|row| !open.contains(row) && !closed.contains(row)) {
                passed.add(row.receiver());
            }
            cancel(&mut transaction, &closed, now).await?;
            // Once more: a session that held rows of these subscriptions a moment ago has taken them by now.
            let under_way = under_way(&mut transaction, now).await?;
            let capacity = capacity(&open, &under_way, policy);
            let dealt = deal(&open, capacity, wanted, &mut load, &mut passed);
            taken.extend(take(&mut transaction, &dealt, until).await?);
        }
        let read = taken.into_iter().map(|row| push(self.db.secrets(), row, now));
        let (claimed, _) = STATEMENTS.sendable(&mut transaction, read, now).await?;
        transaction.commit().await?;
        Ok(Claims { claimed, given_up })
    }
}

/// Locks what no other session holds of `due`: those to be sent, and those whose item is done, or has another date by now.
async fn lock(
    connection: &mut PgConnection,
    due: &[DueRow],
    now: Timestamp,
) -> Result<(Vec<DueRow>, Vec<DueRow>), Error> {
    let [users, subscriptions, deliveries] = DueRow::columns(due.iter());
    let locked: Vec<LockedRow> =
        query_as!("pushes/lock_due.sql", now, users, subscriptions, deliveries).fetch_all(connection).await?;
    let (open, closed): (Vec<_>, Vec<_>) = locked.into_iter().partition(|locked| locked.is_open);
    let rows = |locked: Vec<LockedRow>| locked.into_iter().map(|locked| locked.row).collect();
    Ok((rows(open), rows(closed)))
}

/// Tries under way, by user and subscription. As many as all processes have slots: few.
async fn under_way(connection: &mut PgConnection, now: Timestamp) -> Result<Vec<UnderWay>, sqlx::Error> {
    query_as!("pushes/under_way.sql", now).fetch_all(connection).await
}

/// How many tries may begin at the subscriptions of `due`.
fn capacity<'a>(
    due: &'a [DueRow],
    under_way: &'a [UnderWay],
    policy: &PushPolicy,
) -> HashMap<(&'a str, &'a str), i64> {
    let mut capacity: HashMap<_, _> =
        due.iter().map(|row| (row.receiver(), policy.per_subscription)).collect();
    for busy in under_way {
        if let Some(capacity) = capacity.get_mut(&(busy.user_id.as_str(), busy.receiver_id.as_str())) {
            *capacity -= busy.tries;
        }
    }
    capacity
}

/// Cancels locked rows of items that are done, or have another date by now.
async fn cancel(connection: &mut PgConnection, rows: &[DueRow], now: Timestamp) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let [users, subscriptions, deliveries] = DueRow::columns(rows.iter());
    query!("pushes/cancel.sql", users, subscriptions, deliveries, now).execute(connection).await?;
    Ok(())
}

async fn take(
    connection: &mut PgConnection,
    rows: &[&DueRow],
    until: Timestamp,
) -> Result<Vec<TakenRow>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let [users, subscriptions, deliveries] = DueRow::columns(rows.iter().copied());
    Ok(query_as!("pushes/take.sql", users, subscriptions, deliveries, until).fetch_all(connection).await?)
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

/// Its key: it cannot be sent by this process. That is the operator's to mend, or another version's to send: it is put back, and no try is
/// counted.
fn push(secrets: &Secrets, mut row: TakenRow, now: Timestamp) -> Result<ClaimedPush, DueRow> {
    let Some(pushed) = row.pushed() else {
        tracing::error!(delivery_id = row.key.delivery_id, "what a push is about is unknown to this version");
        return Err(row.key);
    };
    let context = Context::subscription(&row.key.user_id, &row.key.receiver_id);
    let Some(kind) = subscription_kind(secrets, context, &row.kind, row.p256dh, row.auth) else {
        return Err(row.key);
    };
    Ok(ClaimedPush {
        user_id: UserId::new(row.key.user_id),
        subscription_id: row.key.receiver_id,
        delivery_id: row.key.delivery_id,
        epoch: row.epoch,
        try_number: row.tries,
        kind,
        url: row.url,
        pushed,
        now,
    })
}
