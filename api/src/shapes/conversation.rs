//! A conversation as the developer interface shows it. It is written straight from the record: a page of them is the
//! answer that is asked for most, and a tree of values in between cost more than everything else about it.

use std::{borrow::Cow, collections::HashMap};

use records::Segment as Said;
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
    shape(view, with_transcript, Some(photos.iter().map(photo).collect()))
}

shape! {
    /// A conversation as the developer interface shows it.
    pub(crate) shape<'a>(
        view: &'a ConversationView,
        with_transcript: bool,
        photos: Option<Vec<Photo<'a>>>
    ) -> Conversation {
        /// Its id, opaque.
        id: &'a str = view.conversation.id.as_str();
        /// When the record was created.
        created_at: Time = view.conversation.created_at.into();
        /// When the conversation started.
        started_at: Time = view.conversation.started_at.into();
        /// When it ended.
        finished_at: Time = view.conversation.finished_at.into();
        /// A language code, such as `en`.
        language: &'a str = &view.conversation.language;
        /// Where it came from: one of the sources that a create takes.
        source: &'a str = view.conversation.source.as_str();
        /// What was understood.
        structured: Structured<'a> = structured(view);
        /// Only with `include_transcript=true`; empty for one that was created from text.
        #[serde(skip_serializing_if = "Option::is_none")]
        transcript_segments: Option<Vec<Segment<'a>>> = with_transcript.then(|| segments(view));
        /// Only with `include_photos=true`.
        #[serde(skip_serializing_if = "Option::is_none")]
        photos: Option<Vec<Photo<'a>>> = photos;
        /// The folder it is filed in; absent without a folder.
        #[serde(skip_serializing_if = "Option::is_none")]
        folder_id: Option<&'a str> = view.conversation.folder_id.as_ref().map(|id| id.as_str());
        /// That folder's name.
        folder_name: Option<&'a str> = view.folder_name.as_deref();
        /// Where it took place.
        #[serde(skip_serializing_if = "Option::is_none")]
        geolocation: Option<Geolocation<'a>> = view.conversation.geolocation.as_ref().map(place);
        /// Results of the user's apps (`apps` of `PATCH /v1/users/me`, and installed ones that write summaries); absent without any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        apps_results: Vec<AppResult<'a>> = view.apps_results.iter().map(result).collect();
        /// The status.
        #[schemars(with = "ConversationStatus")]
        status: &'static str = view.conversation.status.as_str();
        /// Hidden from the list: judged not worth keeping, set by its owner, or failed.
        discarded: bool = view.conversation.discarded;
        /// Marked by its owner.
        starred: bool = view.conversation.starred;
        /// Who may see it; always `private` so far.
        #[schemars(with = "Visibility")]
        visibility: &'static str = view.conversation.visibility.as_str();
        /// When it last changed.
        updated_at: Time = view.conversation.updated_at.into();
    }
}

shape! {
    /// A picture that a live session sent.
    pub(crate) photo<'a>(photo: &'a store::Photo) -> Photo {
        /// The id that the client gave it.
        id: &'a str = &photo.id;
        /// JPEG or PNG, base64.
        base64: &'a str = &photo.base64;
        /// What is on it; absent until a model has said so.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str> = photo.description.as_deref();
        /// When it arrived.
        created_at: Time = photo.created_at.into();
        /// Not worth keeping.
        discarded: bool = photo.discarded;
    }
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
                    "id": "8f1d0f1e-3f0b-5a55-9d0e-6a1b2c3d4e5f",
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

shape! {
    /// What was understood.
    structured<'a>(view: &'a ConversationView) -> Structured {
        /// A title; empty until it is processed.
        title: &'a str = &view.conversation.structured.title;
        /// A summary.
        overview: &'a str = &view.conversation.structured.overview;
        /// A fitting emoji.
        emoji: &'a str = &view.conversation.structured.emoji;
        /// The category.
        #[schemars(with = "Category")]
        category: &'static str = view.conversation.structured.category.as_str();
        /// What is to be done.
        action_items: Vec<ConversationActionItem<'a>> = view.action_items.iter().map(item).collect();
        /// What is to take place.
        events: Vec<CalendarEvent<'a>> = view.conversation.structured.events.iter().map(event).collect();
    }
}

shape! {
    /// An action item as a conversation shows it; items stand in the order in which they were said.
    item<'a>(item: &'a records::ActionItem) -> ConversationActionItem {
        /// Its id, as `GET /v1/dev/user/action-items` gives it.
        id: &'a str = item.id.as_str();
        /// The task.
        description: &'a str = &item.description;
        /// Whether it is done.
        completed: bool = item.completed;
        /// When it was made.
        created_at: Time = item.created_at.into();
        /// When it last changed.
        updated_at: Time = item.updated_at.into();
        /// When it is due.
        due_at: Option<Time> = item.due_at.map(Time::from);
        /// When it was done.
        completed_at: Option<Time> = item.completed_at.map(Time::from);
    }
}

shape! {
    /// An event.
    event<'a>(event: &'a records::Event) -> CalendarEvent {
        /// The title.
        title: &'a str = &event.title;
        /// A longer description; may be empty.
        description: &'a str = &event.description;
        /// When it begins.
        start: Time = event.start.into();
        /// Minutes.
        #[schemars(range(min = 0))]
        duration: i32 = event.duration;
        /// Whether it is in a calendar; always false so far.
        created: bool = event.created;
    }
}

shape! {
    /// A segment of speech.
    segment<'a>(said: &'a Said, names: &Names<'a>) -> Segment {
        /// Its id, when it was sent with one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str> = said.id.as_deref();
        /// What was said.
        text: &'a str = &said.text;
        /// The speaker's number.
        #[serde(skip_serializing_if = "Option::is_none")]
        speaker_id: Option<i32> = said.speaker_id;
        /// The user's name, a known person's name, or `Speaker N`.
        #[serde(skip_serializing_if = "Option::is_none")]
        speaker_name: Option<Cow<'a, str>> = names.of_speaker(said);
        /// Seconds from the beginning.
        start: f64 = said.start;
        /// Seconds from the beginning.
        end: f64 = said.end;
    }
}

fn segments(view: &ConversationView) -> Vec<Segment<'_>> {
    let names = Names::of(view);
    view.segments.iter().flatten().map(|said| segment(said, &names)).collect()
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

shape! {
    /// Where it took place.
    place<'a>(position: &'a records::Geolocation) -> Geolocation {
        /// Degrees, −90 to 90.
        latitude: f64 = position.latitude;
        /// Degrees, −180 to 180.
        longitude: f64 = position.longitude;
        /// The address in words.
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<&'a str> = position.address.as_deref();
        /// An id of that kind.
        #[serde(skip_serializing_if = "Option::is_none")]
        google_place_id: Option<&'a str> = position.google_place_id.as_deref();
        /// Such as `premise` or `approximate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        location_type: Option<&'a str> = position.location_type.as_deref();
    }
}

shape! {
    /// What an app made of a conversation.
    result<'a>(result: &'a (Option<String>, String)) -> AppResult {
        /// Which app: `minutes`, `decisions`, `questions`, or the id of an installed one.
        app_id: Option<&'a str> = result.0.as_deref();
        /// Its text.
        content: &'a str = &result.1;
    }
}
