//! Limits of text lengths in conversations: lists repeat these texts for each of a hundred conversations.

use serde_json::{Value, json};

use crate::bench::{Bench, P};

/// A create from text and one from segments in which every bounded text has this length.
fn creates(language: usize, label: usize) -> [(String, Value); 2] {
    let (language, label) = ("\u{e9}".repeat(language), "\u{e9}".repeat(label));
    let geolocation = json!({
        "latitude": 1, "longitude": 1, "address": label, "google_place_id": label, "location_type": label,
    });
    let segment = json!({ "text": "x", "start": 0, "end": 1, "speaker": label, "person_id": label });
    [
        (
            format!("{P}/conversations"),
            json!({ "text": "x", "text_source_spec": label, "language": language, "geolocation": geolocation }),
        ),
        (
            format!("{P}/conversations/from-segments"),
            json!({
                "transcript_segments": [segment], "language": language, "geolocation": geolocation,
                "client_device_id": label, "client_platform": label,
            }),
        ),
    ]
}

#[tokio::test]
async fn text_length_is_bounded_in_every_conversation_field() {
    let bench = Bench::new().await;
    let place = |field: &str| json!(["body", "geolocation", field]);
    let carried =
        [json!(["body", "language"]), place("address"), place("google_place_id"), place("location_type")];
    let segment = |field: &str| json!(["body", "transcript_segments", 0, field]);
    let own = [
        vec![json!(["body", "text_source_spec"])],
        vec![
            segment("speaker"),
            segment("person_id"),
            json!(["body", "client_device_id"]),
            json!(["body", "client_platform"]),
        ],
    ];
    for ((path, body), own) in creates(36, 501).into_iter().zip(own) {
        let answer = bench.post(&path, body).await;
        assert_eq!(answer.status, 422, "{path}");
        let told = answer.kinds();
        assert!(told.iter().all(|(kind, _)| *kind == "string_too_long"), "{told:?}");
        for loc in carried.iter().chain(&own) {
            assert!(told.iter().any(|(_, told)| *told == loc), "{path}: {loc} in {told:?}");
        }
        assert_eq!(told.len(), carried.len() + own.len(), "{told:?}");
    }
    for (path, body) in creates(35, 500) {
        assert_eq!(bench.post(&path, body).await.status, 200, "{path}");
    }
}

/// A finalization in which every text has this length.
fn meeting(label: usize, link: usize, notes: usize) -> Value {
    let [label, link, notes] = [label, link, notes].map(|length| "\u{e9}".repeat(length));
    let participants = [json!({ "name": label, "email": label })];
    json!({ "calendar_meeting_context": {
        "title": label, "platform": label, "meeting_link": link, "notes": notes, "participants": participants,
    }})
}

#[tokio::test]
async fn text_length_is_bounded_in_every_meeting_field() {
    let bench = Bench::new().await;
    let segments = json!({
        "transcript_segments": [{ "text": "x", "start": 0, "end": 1 }], "defer_processing": true,
    });
    let made = bench.post(&format!("{P}/conversations/from-segments"), segments).await;
    let path = format!("/v1/conversations/{}/finalize", made.body["id"].as_str().unwrap());
    for path in [path.as_str(), "/v1/conversations"] {
        let answer = bench.post(path, meeting(501, 2_049, 100_001)).await;
        assert_eq!(answer.status, 422, "{path}");
        let told: Vec<String> = answer.kinds().iter().map(|(kind, loc)| format!("{kind} {loc}")).collect();
        let place = |rest: &str| format!("string_too_long [\"body\",\"calendar_meeting_context\",{rest}]");
        let expected = [
            "\"title\"",
            "\"platform\"",
            "\"participants\",0,\"name\"",
            "\"participants\",0,\"email\"",
            "\"notes\"",
            "\"meeting_link\"",
        ];
        assert_eq!(told, expected.map(place), "{path}");
    }
    assert_eq!(bench.post(&path, meeting(500, 2_048, 100_000)).await.status, 200);
}
