//! Field lists, to the letter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use chrono::{TimeZone, Utc};
use outbox::ClaimedDelivery;
use records::{
    ActionItem, ActionItemId, Conversation, ConversationId, EventKind, Geolocation, Segment, Source, Status,
    Structured, Timestamp, UserId, Visibility, WebhookFormat,
};
use serde_json::{Value, json};
use store::ConversationView;

use super::*;

fn noon() -> Timestamp {
    Utc.with_ymd_and_hms(2026, 1, 2, 12, 0, 0).unwrap()
}

fn view() -> ConversationView {
    ConversationView {
        conversation: Conversation {
            user_id: UserId::new("u"),
            id: ConversationId::new("c"),
            created_at: noon(),
            updated_at: noon(),
            started_at: noon(),
            finished_at: noon(),
            language: "en".to_owned(),
            source: Source::new("phone"),
            status: Status::Completed,
            structured: Structured::default(),
            discarded: false,
            starred: true,
            visibility: Visibility::Private,
            folder_id: None,
            geolocation: None,
            finalization_revision: 1,
        },
        folder_name: None,
        action_items: vec![ActionItem {
            id: ActionItemId::new("a"),
            description: "Call Tom".to_owned(),
            completed: false,
            created_at: noon(),
            updated_at: noon(),
            due_at: None,
            completed_at: None,
            conversation_id: Some(ConversationId::new("c")),
            position: 0,
        }],
        segments: None,
        user_name: None,
        people: vec![("p1".to_owned(), "Tom".to_owned())],
        apps_results: Vec::new(),
    }
}

fn said(speaker_id: Option<i32>, is_user: bool, person: Option<&str>) -> Segment {
    Segment {
        id: None,
        text: "hello".to_owned(),
        speaker: None,
        speaker_id,
        is_user,
        person_id: person.map(str::to_owned),
        start: 0.0,
        end: 1.5,
    }
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn timestamps_show_microseconds_only_when_present() {
    assert_eq!(moment(noon()), "2026-01-02T12:00:00Z");
    assert_eq!(moment(noon() + chrono::TimeDelta::microseconds(1_500)), "2026-01-02T12:00:00.001500Z");
}

#[test]
fn conversation_shape_omits_absent_fields_and_has_null_folder() {
    let shape = json!(conversation(&view(), false));
    assert_eq!(
        names(&shape),
        [
            "id",
            "created_at",
            "started_at",
            "finished_at",
            "language",
            "source",
            "structured",
            "folder_name",
            "status",
            "discarded",
            "starred",
            "visibility",
            "updated_at",
        ]
    );
    assert_eq!(shape["folder_name"], Value::Null);
    assert_eq!(
        names(&shape["structured"]),
        ["title", "overview", "emoji", "category", "action_items", "events"]
    );
    assert_eq!(
        names(&shape["structured"]["action_items"][0]),
        ["id", "description", "completed", "created_at", "updated_at", "due_at", "completed_at"]
    );
}

#[test]
fn text_conversation_has_an_empty_transcript_on_request() {
    assert_eq!(json!(conversation(&view(), true))["transcript_segments"], json!([]));
}

#[test]
fn segment_speaker_name_is_user_person_or_number() {
    let mut view = view();
    view.segments = Some(vec![
        said(Some(0), true, None),
        said(Some(1), false, Some("p1")),
        said(Some(2), false, Some("stranger")),
        said(None, false, None),
        said(Some(4), true, Some("p1")),
    ]);
    let shape = json!(conversation(&view, true));
    let segments = &shape["transcript_segments"];
    assert_eq!(segments[0]["speaker_name"], "User");
    assert_eq!(segments[1]["speaker_name"], "Tom");
    assert_eq!(segments[2]["speaker_name"], "Speaker 2");
    assert_eq!(names(&segments[3]), ["text", "start", "end"]);
    assert_eq!(segments[4]["speaker_name"], "User");
    view.user_name = Some("Ann".to_owned());
    assert_eq!(json!(conversation(&view, true))["transcript_segments"][0]["speaker_name"], "Ann");
}

#[test]
fn geolocation_shows_known_fields() {
    let mut view = view();
    view.conversation.geolocation = Some(Geolocation {
        latitude: 1.5,
        longitude: -2.0,
        address: None,
        google_place_id: None,
        location_type: Some("premise".to_owned()),
    });
    let expected = json!({ "latitude": 1.5, "longitude": -2.0, "location_type": "premise" });
    assert_eq!(json!(conversation(&view, false))["geolocation"], expected);
}

#[test]
fn naming_speakers_takes_linear_time() {
    const MANY: usize = 30_000;
    let mut view = view();
    let id = |number: usize| format!("{number:0>500}");
    view.people = (0..MANY).map(|number| (id(number), format!("Tom {number}"))).collect();
    view.segments = Some((0..MANY).rev().map(|number| said(None, false, Some(&id(number)))).collect());
    let begun = std::time::Instant::now();
    let shape = json!(conversation(&view, true));
    assert_eq!(shape["transcript_segments"][MANY - 1]["speaker_name"], "Tom 0");
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn conversation_shape_includes_apps_results() {
    let mut view = view();
    view.apps_results = vec![(Some("minutes".to_owned()), "We met.".to_owned()), (None, "x".to_owned())];
    let expected = json!([{ "app_id": "minutes", "content": "We met." }, { "app_id": null, "content": "x" }]);
    assert_eq!(json!(conversation(&view, false))["apps_results"], expected);
}

fn delivery(event: Option<EventKind>, format: WebhookFormat, subject: Option<&str>) -> ClaimedDelivery {
    ClaimedDelivery {
        user_id: UserId::new("u"),
        endpoint_id: "e".to_owned(),
        delivery_id: "d".to_owned(),
        epoch: 1,
        try_number: 1,
        url: "https://example.org".to_owned(),
        secret: secrecy::SecretString::from("whsec_"),
        previous_secret: None,
        for_app: false,
        format,
        event,
        occurred_at: noon(),
        conversation_id: Some(ConversationId::new("c")),
        subject_id: subject.map(str::to_owned),
        body: None,
        now: noon(),
        trace: None,
    }
}

fn body(delivery: &ClaimedDelivery, view: Option<&ConversationView>) -> Option<Value> {
    WebhookBodies.body(delivery, view, None, None).map(|bytes| serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn full_webhook_carries_the_conversation_with_transcript() {
    let sent =
        body(&delivery(Some(EventKind::ConversationCompleted), WebhookFormat::Full, None), Some(&view()))
            .unwrap();
    assert_eq!(names(&sent), ["type", "timestamp", "data"]);
    assert_eq!(sent["type"], "conversation.completed");
    assert_eq!(sent["timestamp"], "2026-01-02T12:00:00Z");
    assert_eq!(sent["data"], json!(conversation(&view(), true)));
}

#[test]
fn thin_webhook_carries_ids_and_status_only() {
    let sent = body(&delivery(Some(EventKind::MemoryCreated), WebhookFormat::Thin, Some("m")), Some(&view()))
        .unwrap();
    let expected =
        json!({ "memory_id": "m", "conversation_id": "c", "status": "completed", "discarded": false });
    assert_eq!(sent["data"], expected);
}

#[test]
fn full_webhook_carries_the_action_item() {
    let sent =
        body(&delivery(Some(EventKind::ActionItemCreated), WebhookFormat::Full, Some("a")), Some(&view()))
            .unwrap();
    assert_eq!(sent["data"]["description"], "Call Tom");
    assert_eq!(sent["data"]["id"], "a");
}

#[test]
fn full_webhook_carries_the_memory_while_it_exists() {
    let delivery = delivery(Some(EventKind::MemoryCreated), WebhookFormat::Full, Some("m"));
    let sent = WebhookBodies.body(&delivery, Some(&view()), Some(&fact()), None).unwrap();
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    assert_eq!(sent["data"], json!(memory(&fact())));
    assert_eq!(sent["data"]["content"], "Alex lives in Porto");
    let gone = body(&delivery, Some(&view())).unwrap();
    assert_eq!(names(&gone["data"]), ["memory_id", "conversation_id", "status", "discarded"]);
}

#[test]
fn webhook_for_a_user_made_record_has_no_conversation() {
    let made = |event, format, subject| ClaimedDelivery {
        conversation_id: None,
        ..delivery(Some(event), format, Some(subject))
    };
    let item = &view().action_items[0];
    let of = |delivery: &ClaimedDelivery, memory, item| -> Value {
        serde_json::from_slice(&WebhookBodies.body(delivery, None, memory, item).unwrap()).unwrap()
    };
    let full = made(EventKind::ActionItemCreated, WebhookFormat::Full, "a");
    assert_eq!(of(&full, None, Some(item))["data"], json!(action_item(item)));
    let gone = of(&full, None, None);
    assert_eq!(gone["data"], json!({ "action_item_id": "a", "conversation_id": null }));
    let thin = made(EventKind::MemoryCreated, WebhookFormat::Thin, "m");
    assert_eq!(of(&thin, None, None)["data"], json!({ "memory_id": "m", "conversation_id": null }));
    let full = made(EventKind::MemoryCreated, WebhookFormat::Full, "m");
    assert_eq!(of(&full, Some(&fact()), None)["data"], json!(memory(&fact())));
}

fn fact() -> records::Memory {
    records::Memory {
        id: records::MemoryId::new("m"),
        content: "Alex lives in Porto".to_owned(),
        category: records::MemoryCategory::Core,
        public: false,
        tags: Vec::new(),
        created_at: noon(),
        updated_at: noon(),
        manually_added: false,
        reviewed: false,
        user_review: None,
        edited: false,
        scoring: None,
        conversation_id: Some(ConversationId::new("c")),
    }
}

fn push_of(pushed: outbox::Pushed) -> outbox::ClaimedPush {
    outbox::ClaimedPush {
        user_id: UserId::new("u"),
        subscription_id: "s".to_owned(),
        delivery_id: "d".to_owned(),
        epoch: 1,
        try_number: 1,
        kind: outbox::SubscriptionKind::Webhook,
        url: "https://example.org".to_owned(),
        pushed,
        now: noon(),
    }
}

#[test]
fn push_of_a_message_fits_whatever_its_characters_are() {
    for (character, shown) in [("a", 1_000), ("é", 500), ("\n", 500), ("\u{1}", 166), ("\u{1F600}", 250)] {
        let body = push_body(&push_of(outbox::Pushed::Message {
            message_id: "m".to_owned(),
            app_id: None,
            app_name: "Coach".to_owned(),
            target: "app".to_owned(),
            text: character.repeat(8_000),
        }));
        assert!(body.len() < 1_200, "{character:?}: {}", body.len());
        let sent: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(sent["text"], character.repeat(shown));
    }
}

#[test]
fn push_names_the_due_item_and_time() {
    let push = push_of(outbox::Pushed::Reminder {
        action_item_id: ActionItemId::new("a"),
        description: "Call Tom".to_owned(),
        due_at: noon(),
    });
    let sent: Value = serde_json::from_slice(&push_body(&push)).unwrap();
    let expected = json!({
        "type": "action_item_reminder", "action_item_id": "a", "description": "Call Tom",
        "due_at": "2026-01-02T12:00:00Z",
    });
    assert_eq!(sent, expected);
}

#[test]
fn webhook_body_is_empty_for_a_deleted_conversation_but_not_for_a_test() {
    assert_eq!(body(&delivery(Some(EventKind::ConversationFailed), WebhookFormat::Full, None), None), None);
    let test = body(&delivery(None, WebhookFormat::Full, None), None).unwrap();
    assert_eq!(test["type"], "webhook.test");
}
