//! Writing deliveries: which endpoints get which events, settled in the transaction that makes them true.

use std::collections::BTreeSet;

use db::{Error, array, query_as, query_scalar};
use records::{ConversationId, EventKind, Timestamp, UserId};
use sqlx::PgConnection;
use trace::TraceContext;
use uuid::Uuid;

/// Something that happened, to a conversation, or to an object of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub event: EventKind,
    /// The action item or memory that was created.
    pub subject: Option<String>,
}

/// The events of one revision, or of an object that a user created.
pub struct Events<'a> {
    /// Whose endpoints are meant.
    pub user: &'a UserId,
    /// The conversation and its revision; `None`: a person made it, and it belongs to no conversation.
    pub of: Option<(&'a ConversationId, i64)>,
    pub events: Vec<Event>,
    /// The trace that a delivery goes on with.
    pub trace: Option<TraceContext>,
}

/// Announces objects that a user created, one event each. Returns how many deliveries were written.
pub async fn announce_created(
    connection: &mut PgConnection,
    user: &UserId,
    event: EventKind,
    subjects: &[&str],
    now: Timestamp,
) -> Result<u64, Error> {
    let created = |id: &&str| Event { event, subject: Some((*id).to_owned()) };
    let events = subjects.iter().map(created).collect();
    // In the request's own task.
    let entries = [Events { user, of: None, events, trace: TraceContext::current() }];
    Ok(announce(connection, &entries, now).await?.into_iter().sum())
}

/// Writes a delivery per event and subscribed, enabled endpoint, and returns how many for each entry. The
/// `webhook-id` is derived, so that one event of one revision has one id per endpoint, however often it is written.
/// An endpoint that is deleted meanwhile fails nothing.
pub async fn announce(
    connection: &mut PgConnection,
    entries: &[Events<'_>],
    now: Timestamp,
) -> Result<Vec<u64>, Error> {
    let subscribed = subscribed(connection, entries).await?;
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        for Subscribed { endpoint_id: endpoint, events, .. } in
            subscribed.iter().filter(|one| one.user_id == entry.user.as_str())
        {
            let wanted =
                entry.events.iter().filter(|one| events.iter().any(|event| event == one.event.as_str()));
            let row = |event| Row { index, entry, endpoint, event, id: delivery_id(entry, endpoint, event) };
            rows.extend(wanted.map(row));
        }
    }
    let mut counts = vec![0; entries.len()];
    if rows.is_empty() {
        return Ok(counts);
    }
    let written: Vec<String> = query_scalar!(
        "deliveries/write.sql",
        now,
        array(&rows, |row| row.entry.user.as_str()),
        array(&rows, |row| row.endpoint),
        array(&rows, |row| row.id.as_str()),
        array(&rows, |row| row.event.event.as_str()),
        array(&rows, |row| Some(row.entry.of?.0.as_str())),
        array(&rows, |row| Some(row.entry.of?.1)),
        array(&rows, |row| row.event.subject.as_deref()),
        array(&rows, |row| Some(row.entry.trace?.to_string()))
    )
    .fetch_all(connection)
    .await?;
    let written: BTreeSet<String> = written.into_iter().collect();
    for row in &rows {
        counts[row.index] += u64::from(written.contains(&row.id));
    }
    Ok(counts)
}

/// A delivery to be written, of the entry at `index`.
struct Row<'a> {
    index: usize,
    entry: &'a Events<'a>,
    endpoint: &'a str,
    event: &'a Event,
    id: String,
}

/// An endpoint, and what it subscribed to.
#[derive(sqlx::FromRow)]
struct Subscribed {
    user_id: String,
    endpoint_id: String,
    events: Vec<String>,
}

/// The endpoints that subscribed to any of the events.
async fn subscribed(connection: &mut PgConnection, entries: &[Events<'_>]) -> Result<Vec<Subscribed>, Error> {
    let telling = || entries.iter().filter(|entry| !entry.events.is_empty());
    let people: BTreeSet<&str> = telling().map(|entry| entry.user.as_str()).collect();
    let events: BTreeSet<&str> =
        telling().flat_map(|entry| &entry.events).map(|one| one.event.as_str()).collect();
    if people.is_empty() {
        return Ok(Vec::new());
    }
    Ok(query_as!(
        "deliveries/subscribed.sql",
        people.into_iter().collect::<Vec<_>>(),
        events.into_iter().collect::<Vec<_>>()
    )
    .fetch_all(connection)
    .await?)
}

fn delivery_id(entry: &Events<'_>, endpoint: &str, event: &Event) -> String {
    let user = entry.user;
    let (conversation, revision) =
        entry.of.map_or(("", 0), |(conversation, revision)| (conversation.as_str(), revision));
    let subject = event.subject.as_deref().unwrap_or("");
    let name = format!("{user}\n{endpoint}\n{conversation}\n{revision}\n{}\n{subject}", event.event.as_str());
    format!("msg_{}", Uuid::new_v5(&DELIVERIES, name.as_bytes()).simple())
}

/// The namespace of delivery ids; part of the durable contract.
const DELIVERIES: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f64_656c_6976_6572_7900);
