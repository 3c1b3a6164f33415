//! The claim: due rows, dealt out fairly among endpoints, in one transaction that waits for no lock.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use chrono::TimeDelta;
use db::{
    Error, query, query_as,
    secrets::{Context, Secrets},
    sql,
};
use records::{ConversationId, EventKind, Timestamp, UserId, WebhookFormat};
use sqlx::PgConnection;

use super::{
    ClaimedDelivery, Claims, DeliveryPolicy,
    gates::{Gate, Passage, capacity, gates, pass_full},
    waiting::{DEAD, DUE, cancel, defer, wake_more},
};
use crate::{
    Outbox, SenderLoad,
    fair::{DueRow, Passed, ROUNDS, deal},
    receivers::{Statements, UNSENDABLE},
};

const STATEMENTS: Statements = Statements {
    oldest: sql!("deliveries/due.sql"),
    by_receiver: sql!("deliveries/waiting_endpoints.sql"),
    give_up_dead: sql!("deliveries/give_up_dead.sql"),
    put_back: sql!("deliveries/put_back.sql"),
};

/// A taken row with what its endpoint says.
#[derive(sqlx::FromRow)]
struct TakenRow {
    #[sqlx(flatten)]
    key: DueRow,
    epoch: i64,
    tries: i32,
    url: String,
    secret: String,
    previous_secret: Option<String>,
    for_app: bool,
    format: String,
    event: String,
    occurred_at: Timestamp,
    conversation_id: Option<String>,
    subject_id: Option<String>,
    body: Option<Vec<u8>>,
    trace_context: Option<String>,
}

impl Outbox {
    /// Claims at most `limit` due deliveries, at most `per_endpoint` under way per endpoint (counted across processes),
    /// passing endpoints by that are disabled or whose breaker is open. A sender that died is due again at its
    /// `until`. `load` is what the process has under way: each user comes to a share of it.
    ///
    /// Each round reads a page of due rows, locks their endpoints (passing locked ones by: another process is
    /// claiming for them), and takes what these, and their users, may still have under way. An endpoint that can take no more is
    /// left out of the next round, and one that could take nothing before out of all, so its backlog hides no other
    /// endpoint's deliveries. Users who had their turn are left out until nothing else is due. Where the oldest deliveries are all of
    /// those that are left out, a round goes from endpoint to endpoint instead.
    pub async fn claim_deliveries(
        &self,
        limit: i64,
        policy: &DeliveryPolicy,
        mut load: Option<SenderLoad>,
    ) -> Result<Claims<ClaimedDelivery>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let given_up = STATEMENTS.give_up_dead(&mut transaction, &policy.schedule, now).await?;
        wake_more(&mut transaction, now).await?;
        let (mut claimed, mut passed) = (Vec::new(), Passed::of(load.as_ref()));
        pass_full(&mut transaction, policy, now, &mut passed).await?;
        for _ in 0..ROUNDS {
            let wanted = limit - i64::try_from(claimed.len()).unwrap_or(limit);
            if wanted <= 0 {
                break;
            }
            let due =
                self.turns.endpoints.due(&mut transaction, &STATEMENTS, wanted, &mut passed, now).await?;
            if due.is_empty() {
                break;
            }
            let gates = gates(&mut transaction, &due, policy, now).await?;
            for gate in &gates {
                clear(&mut transaction, gate, now).await?;
            }
            let dealt = deal(&due, capacity(&gates), wanted, &mut load, &mut passed);
            claimed.extend(take(&mut transaction, &dealt, policy.sending, self.db.secrets(), now).await?);
        }
        transaction.commit().await?;
        Ok(Claims { claimed, given_up })
    }

    /// Keeps the rendered body, under the claim's epoch and within its time: a process that renders while the database does not answer may
    /// come back minutes later, when others may take the delivery, and receivers no longer believe the moment of the claim.
    /// `false`: the claim is lost.
    pub async fn keep_body(&self, claimed: &ClaimedDelivery, body: &[u8]) -> Result<bool, Error> {
        let kept = query!(
            "deliveries/keep_body.sql",
            &claimed.user_id,
            &claimed.endpoint_id,
            &claimed.delivery_id,
            claimed.epoch,
            body
        )
        .execute(self.db.pool())
        .await?;
        Ok(kept.rows_affected() > 0)
    }
}

/// Takes what is due at a closed gate out of everybody's way, so that no claim spins over it: until the gate opens, or for
/// good where the endpoint is gone.
async fn clear(connection: &mut PgConnection, gate: &Gate, now: Timestamp) -> Result<(), sqlx::Error> {
    let (user, endpoint) = (&*gate.user_id, &*gate.endpoint_id);
    let until = match gate.passage {
        Passage::Open(_) => return Ok(()),
        Passage::ClosedUntil(until) => Some(until),
        Passage::Disabled | Passage::Gone => None,
    };
    if gate.passage == Passage::Gone {
        cancel(connection, user, endpoint, Some(now), now).await?;
    } else {
        defer(connection, DUE, (user, endpoint), until, now).await?;
    }
    defer(connection, DEAD, (user, endpoint), until, now).await
}

/// Takes rows that are still due and unlocked.
async fn take(
    connection: &mut PgConnection,
    dealt: &[&DueRow],
    sending: Duration,
    secrets: &Secrets,
    now: Timestamp,
) -> Result<Vec<ClaimedDelivery>, Error> {
    let [users, endpoints, deliveries] = DueRow::columns(dealt.iter().copied());
    let rows: Vec<TakenRow> = query_as!(
        "deliveries/take.sql",
        users,
        endpoints,
        deliveries,
        now,
        now + TimeDelta::from_std(sending).unwrap_or(TimeDelta::zero())
    )
    .fetch_all(&mut *connection)
    .await?;
    let read = rows.into_iter().map(|row| claimed(secrets, row, now));
    let (taken, unsendable) = STATEMENTS.sendable(connection, read, now).await?;
    // What else is due at these endpoints waits with them, so that no claim spins over it.
    for endpoint in unsendable.iter().map(DueRow::receiver).collect::<BTreeSet<_>>() {
        defer(&mut *connection, DUE, endpoint, Some(now + UNSENDABLE), now).await?;
    }
    Ok(taken)
}

/// Its key: an event that this version does not know, or an endpoint's secret that no key opens. That is the operator's to mend, or
/// another version's to send: it is put back, and no try is counted.
fn claimed(secrets: &Secrets, row: TakenRow, now: Timestamp) -> Result<ClaimedDelivery, DueRow> {
    let DueRow { user_id, receiver_id, delivery_id } = &row.key;
    let event = match row.event.as_str() {
        super::TEST_EVENT => None,
        name => match EventKind::from_name(name) {
            Some(event) => Some(event),
            None => {
                tracing::error!(delivery = delivery_id, "a delivery's event is unknown to this version");
                return Err(row.key);
            }
        },
    };
    let Some(format) = WebhookFormat::from_name(&row.format) else {
        tracing::error!(endpoint = receiver_id, "an endpoint's format is unknown to this version");
        return Err(row.key);
    };
    let context = Context::endpoint(user_id, receiver_id);
    let open = |stored: &str| secrets.open(context, stored);
    let (secret, previous_secret) = match (
        open(&row.secret),
        row.previous_secret.as_deref().map(open).transpose(),
    ) {
        (Ok(secret), Ok(previous)) => (secret, previous),
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(endpoint = receiver_id, %error, "a delivery cannot be signed: no key of LISTEN_SECRETS_KEY opens its endpoint's secret; it waits five minutes");
            return Err(row.key);
        }
    };
    Ok(ClaimedDelivery {
        user_id: UserId::new(row.key.user_id),
        endpoint_id: row.key.receiver_id,
        delivery_id: row.key.delivery_id,
        epoch: row.epoch,
        try_number: row.tries,
        url: row.url,
        secret,
        previous_secret,
        for_app: row.for_app,
        format,
        event,
        occurred_at: row.occurred_at,
        conversation_id: row.conversation_id.map(ConversationId::new),
        subject_id: row.subject_id,
        body: row.body.map(Bytes::from),
        now,
        trace: row.trace_context.as_deref().and_then(|text| text.parse().ok()),
    })
}
