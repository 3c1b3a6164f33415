//! A conversation as the developer interface shows it.

use ledger::ConversationView;
use records::{ActionItem, Event, Geolocation, Segment};
use serde_json::{Map, Value, json};

use super::moment;

/// The spec's fields, and the additive `status`, `discarded`, `starred`, `visibility`, `updated_at` (DECISIONS §1).
/// `transcript_segments` is there only when asked for; of a conversation created from text it is `[]`.
pub fn conversation(view: &ConversationView, with_transcript: bool) -> Value {
    let record = &view.conversation;
    let mut shape = object(json!({
        "id": record.id.as_str(),
        "created_at": moment(record.created_at),
        "started_at": moment(record.started_at),
        "finished_at": moment(record.finished_at),
        "language": record.language,
        "source": record.source.as_str(),
        "structured": structured(view),
    }));
    if with_transcript {
        let segments = view.segments.iter().flatten().map(|said| segment(said, view)).collect();
        shape.insert("transcript_segments".to_owned(), segments);
    }
    put_if_some(&mut shape, "folder_id", record.folder_id.as_ref().map(|id| id.as_str()));
    shape.insert("folder_name".to_owned(), view.folder_name.as_deref().into());
    put_if_some(&mut shape, "geolocation", record.geolocation.as_ref().map(geolocation));
    let additive = json!({
        "status": record.status.as_str(),
        "discarded": record.discarded,
        "starred": record.starred,
        "visibility": record.visibility.as_str(),
        "updated_at": moment(record.updated_at),
    });
    shape.extend(object(additive));
    Value::Object(shape)
}

fn structured(view: &ConversationView) -> Value {
    let made = &view.conversation.structured;
    json!({
        "title": made.title,
        "overview": made.overview,
        "emoji": made.emoji,
        "category": made.category.as_str(),
        "action_items": view.action_items.iter().map(heard_item).collect::<Value>(),
        "events": made.events.iter().map(event).collect::<Value>(),
    })
}

/// The spec's six fields, without id.
fn heard_item(item: &ActionItem) -> Value {
    json!({
        "description": item.description,
        "completed": item.completed,
        "created_at": moment(item.created_at),
        "updated_at": moment(item.updated_at),
        "due_at": item.due_at.map(moment),
        "completed_at": item.completed_at.map(moment),
    })
}

fn event(event: &Event) -> Value {
    json!({
        "title": event.title,
        "description": event.description,
        "start": moment(event.start),
        "duration": event.duration,
        "created": event.created,
    })
}

fn segment(said: &Segment, view: &ConversationView) -> Value {
    let mut shape = Map::new();
    put_if_some(&mut shape, "id", said.id.as_deref());
    shape.insert("text".to_owned(), said.text.as_str().into());
    put_if_some(&mut shape, "speaker_id", said.speaker_id);
    put_if_some(&mut shape, "speaker_name", speaker_name(said, view));
    shape.insert("start".to_owned(), said.start.into());
    shape.insert("end".to_owned(), said.end.into());
    Value::Object(shape)
}

/// The user's own name or "User"; else a known person's name; else "Speaker N" (DECISIONS §3, "speaker").
fn speaker_name(said: &Segment, view: &ConversationView) -> Option<String> {
    if said.is_user {
        return Some(view.user_name.clone().unwrap_or_else(|| "User".to_owned()));
    }
    let person = said.person_id.as_deref().and_then(|id| view.people.iter().find(|(known, _)| known == id));
    match person {
        Some((_, name)) => Some(name.clone()),
        None => said.speaker_id.map(|number| format!("Speaker {number}")),
    }
}

fn geolocation(place: &Geolocation) -> Value {
    let mut shape = object(json!({ "latitude": place.latitude, "longitude": place.longitude }));
    put_if_some(&mut shape, "address", place.address.as_deref());
    put_if_some(&mut shape, "google_place_id", place.google_place_id.as_deref());
    put_if_some(&mut shape, "location_type", place.location_type.as_deref());
    Value::Object(shape)
}

fn put_if_some(shape: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        shape.insert(name.to_owned(), value.into());
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
