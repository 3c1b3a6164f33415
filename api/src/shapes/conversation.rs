//! A conversation as the developer interface shows it. It is written straight from the record: a page of them is the
//! answer that is asked for most, and a tree of values in between cost more than everything else about it.

use std::{borrow::Cow, collections::HashMap};

use records::{ActionItem, Event, Geolocation, Segment, Timestamp};
use serde::Serialize;
use store::{ConversationView, Photo};

use super::time::{written, written_if_some};

/// The spec's fields, and the additive `status`, `discarded`, `starred`, `visibility`, `updated_at` and, for users with enabled
/// apps, `apps_results` (DECISIONS §1).
/// `transcript_segments` is there only when asked for; of a conversation created from text it is `[]`.
pub fn conversation(view: &ConversationView, with_transcript: bool) -> impl Serialize + use<'_> {
    shape(view, with_transcript, None)
}

/// What was said, with the names of its speakers: a name is empty where it is not known.
pub(crate) fn said(view: &ConversationView) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let names = Names::of(view);
    let segments = view.segments.iter().flatten();
    segments.map(move |said| (names.of_speaker(said).unwrap_or_default(), said.text.as_str()))
}

/// The same with its pictures.
pub(crate) fn conversation_with_photos<'a>(
    view: &'a ConversationView,
    with_transcript: bool,
    photos: &'a [Photo],
) -> impl Serialize + use<'a> {
    shape(view, with_transcript, Some(photos.iter().map(PhotoShape::of).collect()))
}

fn shape<'a>(
    view: &'a ConversationView,
    with_transcript: bool,
    photos: Option<Vec<PhotoShape<'a>>>,
) -> ConversationShape<'a> {
    let record = &view.conversation;
    let segments = || {
        let names = Names::of(view);
        view.segments.iter().flatten().map(|said| SegmentShape::of(said, &names)).collect()
    };
    ConversationShape {
        id: record.id.as_str(),
        created_at: record.created_at,
        started_at: record.started_at,
        finished_at: record.finished_at,
        language: &record.language,
        source: record.source.as_str(),
        structured: StructuredShape::of(view),
        transcript_segments: with_transcript.then(segments),
        photos,
        folder_id: record.folder_id.as_ref().map(|id| id.as_str()),
        folder_name: view.folder_name.as_deref(),
        geolocation: record.geolocation.as_ref().map(GeolocationShape::of),
        apps_results: view.apps_results.iter().map(AppResultShape::of).collect(),
        status: record.status.as_str(),
        discarded: record.discarded,
        starred: record.starred,
        visibility: record.visibility.as_str(),
        updated_at: record.updated_at,
    }
}

#[derive(Serialize)]
struct ConversationShape<'a> {
    id: &'a str,
    #[serde(serialize_with = "written")]
    created_at: Timestamp,
    #[serde(serialize_with = "written")]
    started_at: Timestamp,
    #[serde(serialize_with = "written")]
    finished_at: Timestamp,
    language: &'a str,
    source: &'a str,
    structured: StructuredShape<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript_segments: Option<Vec<SegmentShape<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    photos: Option<Vec<PhotoShape<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder_id: Option<&'a str>,
    folder_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    geolocation: Option<GeolocationShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    apps_results: Vec<AppResultShape<'a>>,
    status: &'static str,
    discarded: bool,
    starred: bool,
    visibility: &'static str,
    #[serde(serialize_with = "written")]
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct PhotoShape<'a> {
    id: &'a str,
    base64: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(serialize_with = "written")]
    created_at: Timestamp,
    discarded: bool,
}

impl<'a> PhotoShape<'a> {
    fn of(photo: &'a Photo) -> Self {
        Self {
            id: &photo.id,
            base64: &photo.base64,
            description: photo.description.as_deref(),
            created_at: photo.created_at,
            discarded: photo.discarded,
        }
    }
}

#[derive(Serialize)]
struct StructuredShape<'a> {
    title: &'a str,
    overview: &'a str,
    emoji: &'a str,
    category: &'static str,
    action_items: Vec<HeardItem<'a>>,
    events: Vec<EventShape<'a>>,
}

impl<'a> StructuredShape<'a> {
    fn of(view: &'a ConversationView) -> Self {
        let made = &view.conversation.structured;
        Self {
            title: &made.title,
            overview: &made.overview,
            emoji: &made.emoji,
            category: made.category.as_str(),
            action_items: view.action_items.iter().map(HeardItem::of).collect(),
            events: made.events.iter().map(EventShape::of).collect(),
        }
    }
}

/// The spec's six fields and, additive, its id.
#[derive(Serialize)]
struct HeardItem<'a> {
    id: &'a str,
    description: &'a str,
    completed: bool,
    #[serde(serialize_with = "written")]
    created_at: Timestamp,
    #[serde(serialize_with = "written")]
    updated_at: Timestamp,
    #[serde(serialize_with = "written_if_some")]
    due_at: Option<Timestamp>,
    #[serde(serialize_with = "written_if_some")]
    completed_at: Option<Timestamp>,
}

impl<'a> HeardItem<'a> {
    fn of(item: &'a ActionItem) -> Self {
        Self {
            id: item.id.as_str(),
            description: &item.description,
            completed: item.completed,
            created_at: item.created_at,
            updated_at: item.updated_at,
            due_at: item.due_at,
            completed_at: item.completed_at,
        }
    }
}

#[derive(Serialize)]
struct EventShape<'a> {
    title: &'a str,
    description: &'a str,
    #[serde(serialize_with = "written")]
    start: Timestamp,
    duration: i32,
    created: bool,
}

impl<'a> EventShape<'a> {
    fn of(event: &'a Event) -> Self {
        Self {
            title: &event.title,
            description: &event.description,
            start: event.start,
            duration: event.duration,
            created: event.created,
        }
    }
}

#[derive(Serialize)]
struct SegmentShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker_name: Option<Cow<'a, str>>,
    start: f64,
    end: f64,
}

impl<'a> SegmentShape<'a> {
    fn of(said: &'a Segment, names: &Names<'a>) -> Self {
        Self {
            id: said.id.as_deref(),
            text: &said.text,
            speaker_id: said.speaker_id,
            speaker_name: names.of_speaker(said),
            start: said.start,
            end: said.end,
        }
    }
}

/// What speakers are called.
struct Names<'a> {
    user: &'a str,
    /// By id.
    people: HashMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    fn of(view: &'a ConversationView) -> Self {
        Self {
            user: view.user_name.as_deref().unwrap_or("User"),
            people: view.people.iter().map(|(id, name)| (id.as_str(), name.as_str())).collect(),
        }
    }

    /// The user's own name or "User"; else a known person's name; else "Speaker N" (DECISIONS §3, "speaker").
    fn of_speaker(&self, said: &Segment) -> Option<Cow<'a, str>> {
        if said.is_user {
            return Some(self.user.into());
        }
        let person = said.person_id.as_deref().and_then(|id| self.people.get(id).copied());
        match person {
            Some(name) => Some(name.into()),
            None => said.speaker_id.map(|number| format!("Speaker {number}").into()),
        }
    }
}

#[derive(Serialize)]
struct GeolocationShape<'a> {
    latitude: f64,
    longitude: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    google_place_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location_type: Option<&'a str>,
}

impl<'a> GeolocationShape<'a> {
    fn of(position: &'a Geolocation) -> Self {
        Self {
            latitude: position.latitude,
            longitude: position.longitude,
            address: position.address.as_deref(),
            google_place_id: position.google_place_id.as_deref(),
            location_type: position.location_type.as_deref(),
        }
    }
}

/// DECISIONS §1, "apps_results item".
#[derive(Serialize)]
struct AppResultShape<'a> {
    app_id: Option<&'a str>,
    content: &'a str,
}

impl<'a> AppResultShape<'a> {
    fn of((app_id, content): &'a (Option<String>, String)) -> Self {
        Self { app_id: app_id.as_deref(), content }
    }
}
