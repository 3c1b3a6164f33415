//! Writing deliveries: who is told of what, settled in the transaction that makes it true.

use records::{ConversationId, Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    EventKind,
    error::{Doing, Error},
};

/// Something that happened, to a conversation or to a thing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) event: EventKind,
    /// The action item or memory that was created.
    pub(crate) subject: Option<String>,
}

/// Writes a delivery per event and enabled endpoint that asked for it, and answers how many. The `webhook-id` is
/// derived, so that one event of one revision has one id per endpoint, however often it is written. An
/// endpoint that is deleted meanwhile fails nothing.
pub(crate) async fn announce(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    revision: i64,
    abouts: &[About],
    now: Timestamp,
) -> Result<u64, Error> {
    if abouts.is_empty() {
        return Ok(0);
    }
    let wanted: Vec<&str> = abouts.iter().map(|about| about.event.as_str()).collect();
    let endpoints: Vec<(String, Vec<String>)> = sqlx::query_as(
        "select endpoint_id, events from webhook_endpoints where user_id = $1 and enabled and events && $2",
    )
    .bind(user.as_str())
    .bind(&wanted)
    .fetch_all(&mut *connection)
    .await
    .doing("reading endpoints")?;
    let (mut to, mut ids, mut events, mut subjects) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (endpoint, asked) in &endpoints {
        for about in abouts.iter().filter(|about| asked.iter().any(|event| event == about.event.as_str())) {
            to.push(endpoint.as_str());
            ids.push(delivery_id(user, endpoint, conversation, revision, about));
            events.push(about.event.as_str());
            subjects.push(about.subject.as_deref());
        }
    }
    if to.is_empty() {
        return Ok(0);
    }
    let written = sqlx::query(
        "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, conversation_id, revision, \
             subject_id, status, next_at, occurred_at, created_at) \
         select $1, t.endpoint_id, t.delivery_id, t.event, $2, $3, t.subject_id, 'pending', $4, $4, $4 \
         from unnest($5::text[], $6::text[], $7::text[], $8::text[]) t (endpoint_id, delivery_id, event, subject_id) \
         join webhook_endpoints e on e.user_id = $1 and e.endpoint_id = t.endpoint_id and e.enabled \
         for key share of e \
         on conflict do nothing",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .bind(revision)
    .bind(now)
    .bind(&to)
    .bind(&ids)
    .bind(&events)
    .bind(&subjects)
    .execute(connection)
    .await
    .doing("writing deliveries")?;
    Ok(written.rows_affected())
}

fn delivery_id(
    user: &UserId,
    endpoint: &str,
    conversation: &ConversationId,
    revision: i64,
    about: &About,
) -> String {
    let subject = about.subject.as_deref().unwrap_or("");
    let name = format!("{user}\n{endpoint}\n{conversation}\n{revision}\n{}\n{subject}", about.event.as_str());
    format!("msg_{}", Uuid::new_v5(&DELIVERIES, name.as_bytes()).simple())
}

/// The namespace of delivery ids; part of the durable contract.
const DELIVERIES: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f64_656c_6976_6572_7900);
