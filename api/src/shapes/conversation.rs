//! A conversation as the developer interface shows it. It is written straight from the record: a page of them is the
//! answer that is asked for most, and a tree of values in between cost more than everything else about it.

use std::{borrow::Cow, collections::HashMap};

use records::Segment as Said;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use store::ConversationView;

use super::{
    Time,
    words::{Category, ConversationStatus, Visibility},
};
use crate::shapes::Shape;

/// The id of examples.
pub(super) const ID: &str = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";

/// The spec's fields, and the additive `status`, `discarded`, `starred`, `visibility`, `updated_at` and, for users with enabled
/// apps, `apps_results` (DECISIONS §1).
/// `transcript_segments` is there only when asked for; of a conversation created from text it is `[]`.
pub(crate) fn conversation(view: &ConversationView, with_transcript: bool) -> Conversation<'_> {
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
    photos: &'a [store::Photo],
) -> Conversation<'a> {
    shape(view, with_transcript, Some(photos.iter().map(Photo::of).collect()))
}

fn shape<'a>(
    view: &'a ConversationView,
    with_transcript: bool,
    photos: Option<Vec<Photo<'a>>>,
) -> Conversation<'a> {
    let record = &view.conversation;
    let segments = || {
        let names = Names::of(view);
        view.segments.iter().flatten().map(|said| Segment::of(said, &names)).collect()
    };
    Conversation {
        id: record.id.as_str(),
        created_at: record.created_at.into(),
        started_at: record.started_at.into(),
        finished_at: record.finished_at.into(),
        language: &record.language,
        source: record.source.as_str(),
        structured: Structured::of(view),
        transcript_segments: with_transcript.then(segments),
        photos,
        folder_id: record.folder_id.as_ref().map(|id| id.as_str()),
        folder_name: view.folder_name.as_deref(),
        geolocation: record.geolocation.as_ref().map(Geolocation::of),
        apps_results: view.apps_results.iter().map(AppResult::of).collect(),
        status: record.status.as_str(),
        discarded: record.discarded,
        starred: record.starred,
        visibility: record.visibility.as_str(),
        updated_at: record.updated_at.into(),
    }
}

/// A conversation as the developer interface shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Conversation<'a> {
    /// Its id, opaque.
    id: &'a str,
    /// When the record was created.
    created_at: Time,
    /// When the conversation started.
    started_at: Time,
    /// When it ended.
    finished_at: Time,
    /// A language code, such as `en`.
    language: &'a str,
    /// Where it came from: one of the sources that a create takes.
    source: &'a str,
    /// What was understood.
    structured: Structured<'a>,
    /// Only with `include_transcript=true`; empty for one that was created from text.
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript_segments: Option<Vec<Segment<'a>>>,
    /// Only with `include_photos=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    photos: Option<Vec<Photo<'a>>>,
    /// The folder it is filed in; absent without a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder_id: Option<&'a str>,
    /// That folder's name.
    folder_name: Option<&'a str>,
    /// Where it took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    geolocation: Option<Geolocation<'a>>,
    /// Results of the user's apps (`apps` of `PATCH /v1/users/me`); absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    apps_results: Vec<AppResult<'a>>,
    /// The status.
    #[schemars(with = "ConversationStatus")]
    status: &'static str,
    /// Hidden from the list: judged not worth keeping, set by its owner, or failed.
    discarded: bool,
    /// Marked by its owner.
    starred: bool,
    /// Who may see it; always `private` so far.
    #[schemars(with = "Visibility")]
    visibility: &'static str,
    /// When it last changed.
    updated_at: Time,
}

/// A picture that a live session sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Photo<'a> {
    /// The id that the client gave it.
    id: &'a str,
    /// JPEG or PNG, base64.
    base64: &'a str,
    /// What is on it; absent until a model has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// When it arrived.
    created_at: Time,
    /// Not worth keeping.
    discarded: bool,
}

impl Shape for Conversation<'static> {
    fn example() -> Value {
        json!({
            "id": ID,
            "created_at": "2026-11-21T09:00:00Z",
            "started_at": "2026-11-21T08:30:00Z",
            "finished_at": "2026-11-21T08:35:00Z",
            "language": "en",
            "source": "phone",
            "structured": {
                "title": "Release and Launch",
                "overview": "About the release plan for the mobile app.",
                "emoji": "💼",
                "category": "work",
                "action_items": [{
                    "description": "Update the pricing page", "completed": false,
                    "created_at": "2026-11-21T09:00:01Z", "updated_at": "2026-11-21T09:00:01Z",
                    "due_at": "2026-11-30T22:59:00Z", "completed_at": null,
                }],
                "events": [{
                    "title": "Launch meeting", "description": "", "start": "2026-12-08T13:00:00Z",
                    "duration": 30, "created": false,
                }],
            },
            "folder_id": "work",
            "folder_name": "Work",
            "geolocation": { "latitude": 52.52, "longitude": 13.405, "address": "Berlin" },
            "status": "completed",
            "discarded": false,
            "starred": false,
            "visibility": "private",
            "updated_at": "2026-11-21T09:00:01.204113Z",
        })
    }
}

impl<'a> Photo<'a> {
    fn of(photo: &'a store::Photo) -> Self {
        Self {
            id: &photo.id,
            base64: &photo.base64,
            description: photo.description.as_deref(),
            created_at: photo.created_at.into(),
            discarded: photo.discarded,
        }
    }
}

/// What was understood.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Structured<'a> {
    /// A title; empty until it is processed.
    title: &'a str,
    /// A summary.
    overview: &'a str,
    /// A fitting emoji.
    emoji: &'a str,
    /// The category.
    #[schemars(with = "Category")]
    category: &'static str,
    /// What is to be done.
    action_items: Vec<ConversationActionItem<'a>>,
    /// What is to take place.
    events: Vec<CalendarEvent<'a>>,
}

impl<'a> Structured<'a> {
    fn of(view: &'a ConversationView) -> Self {
        let made = &view.conversation.structured;
        Self {
            title: &made.title,
            overview: &made.overview,
            emoji: &made.emoji,
            category: made.category.as_str(),
            action_items: view.action_items.iter().map(ConversationActionItem::of).collect(),
            events: made.events.iter().map(CalendarEvent::of).collect(),
        }
    }
}

/// An action item as a conversation shows it; items stand in the order in which they were said.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConversationActionItem<'a> {
    /// Its id, as `GET /v1/dev/user/action-items` gives it.
    id: &'a str,
    /// The task.
    description: &'a str,
    /// Whether it is done.
    completed: bool,
    /// When it was made.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// When it is due.
    due_at: Option<Time>,
    /// When it was done.
    completed_at: Option<Time>,
}

impl<'a> ConversationActionItem<'a> {
    fn of(item: &'a records::ActionItem) -> Self {
        Self {
            id: item.id.as_str(),
            description: &item.description,
            completed: item.completed,
            created_at: item.created_at.into(),
            updated_at: item.updated_at.into(),
            due_at: item.due_at.map(Time::from),
            completed_at: item.completed_at.map(Time::from),
        }
    }
}

/// An event.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CalendarEvent<'a> {
    /// The title.
    title: &'a str,
    /// A longer description; may be empty.
    description: &'a str,
    /// When it begins.
    start: Time,
    /// Minutes.
    #[schemars(range(min = 0))]
    duration: i32,
    /// Whether it is in a calendar; always false so far.
    created: bool,
}

impl<'a> CalendarEvent<'a> {
    fn of(event: &'a records::Event) -> Self {
        Self {
            title: &event.title,
            description: &event.description,
            start: event.start.into(),
            duration: event.duration,
            created: event.created,
        }
    }
}

/// A segment of speech.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Segment<'a> {
    /// Its id, when it was sent with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// What was said.
    text: &'a str,
    /// The speaker's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker_id: Option<i32>,
    /// The user's name, a known person's name, or `Speaker N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker_name: Option<Cow<'a, str>>,
    /// Seconds from the beginning.
    start: f64,
    /// Seconds from the beginning.
    end: f64,
}

impl<'a> Segment<'a> {
    fn of(said: &'a Said, names: &Names<'a>) -> Self {
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
    fn of_speaker(&self, said: &Said) -> Option<Cow<'a, str>> {
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

/// Where it took place.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Geolocation<'a> {
    /// Degrees, −90 to 90.
    latitude: f64,
    /// Degrees, −180 to 180.
    longitude: f64,
    /// The address in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    /// An id of that kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    google_place_id: Option<&'a str>,
    /// Such as `premise` or `approximate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    location_type: Option<&'a str>,
}

impl<'a> Geolocation<'a> {
    fn of(position: &'a records::Geolocation) -> Self {
        Self {
            latitude: position.latitude,
            longitude: position.longitude,
            address: position.address.as_deref(),
            google_place_id: position.google_place_id.as_deref(),
            location_type: position.location_type.as_deref(),
        }
    }
}

/// What an app made of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AppResult<'a> {
    /// Which app: `minutes`, `decisions` or `questions`.
    app_id: Option<&'a str>,
    /// Its text.
    content: &'a str,
}

impl<'a> AppResult<'a> {
    fn of((app_id, content): &'a (Option<String>, String)) -> Self {
        Self { app_id: app_id.as_deref(), content }
    }
}
