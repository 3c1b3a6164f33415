//! The shapes of a conversation's jsonb columns: rows of tables, not of the wire.

use records::{Event, Geolocation, Meeting, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Event")]
struct EventShape {
    title: String,
    #[serde(default)]
    description: String,
    start: Timestamp,
    #[serde(default = "half_an_hour")]
    duration: i32,
    #[serde(default)]
    created: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Geolocation")]
struct GeolocationShape {
    latitude: f64,
    longitude: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    google_place_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location_type: Option<String>,
}

#[derive(Deserialize)]
struct AppResultShape {
    app_id: Option<String>,
    content: String,
}

/// Minutes that an event lasts when its length is unknown (DECISIONS §1).
fn half_an_hour() -> i32 {
    30
}

/// The column `events`.
pub fn events_to_json(events: &[Event]) -> Result<Value, serde_json::Error> {
    events.iter().map(|event| EventShape::serialize(event, value::Serializer)).collect()
}

pub(super) fn events_from_json(value: Value) -> Result<Vec<Event>, serde_json::Error> {
    Vec::<Value>::deserialize(value)?.into_iter().map(EventShape::deserialize).collect()
}

/// The column `apps_results`.
pub fn apps_to_json(apps: &[(String, String)]) -> Value {
    apps.iter().map(|(app, content)| json!({ "app_id": app, "content": content })).collect()
}

pub(super) fn apps_from_json(value: Value) -> Result<Vec<(Option<String>, String)>, serde_json::Error> {
    let shapes: Vec<AppResultShape> = serde_json::from_value(value)?;
    Ok(shapes.into_iter().map(|shape| (shape.app_id, shape.content)).collect())
}

/// The column `geolocation`.
pub fn geolocation_to_json(location: &Geolocation) -> Result<Value, serde_json::Error> {
    GeolocationShape::serialize(location, value::Serializer)
}

pub(super) fn geolocation_from_json(value: Value) -> Result<Geolocation, serde_json::Error> {
    GeolocationShape::deserialize(value)
}

/// `calendar_meeting_context` of the column `external_data`, which the API wrote. What cannot be read of it is ignored: no
/// run fails of what was only said beside its talk.
pub fn meeting_from_json(value: &Value) -> Option<Meeting> {
    let said = |text: &Value| text.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let people = value["participants"].as_array().into_iter().flatten();
    let meeting = Meeting {
        participants: people.filter_map(|person| said(&person["name"])).collect(),
        title: said(&value["title"]),
        agenda: said(&value["notes"]),
    };
    Some(meeting).filter(|meeting| *meeting != Meeting::default())
}
