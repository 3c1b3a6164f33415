//! What is taken from a client, and what is refused as malformed.

use live::{ClientFrame, Malformed};
use serde_json::json;

#[test]
fn speaker_assigned_frame_validates_ids_and_speaker_number() {
    let assigned = |speaker_id: i64, segment_ids: &[&str]| {
        let frame = json!({ "type": "speaker_assigned", "speaker_id": speaker_id, "person_id": "user",
            "segment_ids": segment_ids });
        ClientFrame::parse(&frame.to_string())
    };
    let taken = |speaker_id, segment_ids: &[&str]| ClientFrame::SpeakerAssigned {
        speaker_id,
        person_id: "user".to_owned(),
        segment_ids: segment_ids.iter().map(|id| (*id).to_owned()).collect(),
    };
    for speaker_id in [0, 65_535] {
        assert_eq!(assigned(speaker_id.into(), &["a", "b"]), Ok(taken(speaker_id, &["a", "b"])));
    }
    for speaker_id in [-1, 65_536, i64::MAX] {
        assert_eq!(assigned(speaker_id, &["a"]), Err(Malformed), "{speaker_id}");
    }
    for id in ["", "a\0b", &"w".repeat(129)] {
        assert_eq!(assigned(1, &["a", id]), Err(Malformed), "{id:?}");
    }
}

/// What a client says in these words is a conversation; how it labels them is not.
fn said(segments: &serde_json::Value) -> (Vec<live::Utterance>, usize) {
    let frame = json!({ "type": "suggested_transcript", "segments": segments });
    let parsed = ClientFrame::parse(&frame.to_string());
    assert!(matches!(parsed, Ok(ClientFrame::SuggestedTranscript { .. })), "{parsed:?}");
    match parsed {
        Ok(ClientFrame::SuggestedTranscript { segments, unusable, .. }) => (segments, unusable),
        _ => (Vec::new(), 0),
    }
}

#[test]
fn words_are_kept_whatever_their_labels_are() {
    let long = "ä".repeat(129);
    for (speaker, kept) in [("", "SPEAKER_07"), ("\0", "SPEAKER_07"), ("Ann", "Ann"), (&long, &long[..256])] {
        let segment = json!([{ "text": "I will call.", "start": 0, "end": 1, "speaker": speaker, "speaker_id": 7,
            "id": long, "person_id": "" }]);
        let (segments, unusable) = said(&segment);
        let labels = (&*segments[0].speaker, segments[0].own_id, &segments[0].person_id);
        assert_eq!((labels, unusable), ((kept, false, &None), 0));
    }
    // Clients write null for what they do not know, and some write numbers.
    let odd = json!([{ "text": "I will call.", "start": 0, "end": 1, "is_user": null, "speaker": 7, "speaker_id": "one",
        "id": 5, "person_id": [] }]);
    let (segments, unusable) = said(&odd);
    assert_eq!((&*segments[0].speaker, segments[0].is_user, unusable), ("SPEAKER_00", false, 0));
    let unlabelled = said(&json!([{ "text": "I will call.", "start": 0, "end": 1, "id": "a" }])).0;
    assert_eq!(
        (&*unlabelled[0].speaker, &*unlabelled[0].id, unlabelled[0].own_id),
        ("SPEAKER_00", "a", true)
    );
}

/// JavaScript writes half of a surrogate pair where a text was cut within an emoji: all words of its frame were lost.
#[test]
fn words_are_kept_beside_half_an_emoji() {
    let words = r#"\ud83d\ude00 \ud83d \ude00\ud83d\u0041 \\ud83d \"ü\ud83d"#;
    let frame = format!(
        r#"{{"type": "suggested_transcript", "segments": [{{"text": "{words}", "start": 0, "end": 1}}]}}"#
    );
    let heard = match ClientFrame::parse(&frame) {
        Ok(ClientFrame::SuggestedTranscript { segments, .. }) => segments,
        _ => Vec::new(),
    };
    let kept = heard.first().map(|said| said.text.as_str());
    assert_eq!(kept, Some("😀 \u{fffd} \u{fffd}\u{fffd}A \\ud83d \"ü\u{fffd}"));
    for broken in [r#"{"type": "\ud83d", "#, r"\ud83", "\\", "\\ü"] {
        assert_eq!(ClientFrame::parse(broken), Err(Malformed), "{broken}");
    }
}

#[test]
fn all_segments_of_a_frame_are_taken_that_its_size_allows() {
    let segments: Vec<_> = (0..2_000).map(|n| json!({ "text": "a", "start": n, "end": n })).collect();
    let (taken, unusable) = said(&json!(segments));
    assert_eq!((taken.len(), unusable), (2_000, 0));
}

#[test]
fn segments_without_words_or_times_are_counted_as_unusable() {
    let of = |text: &str, start: f64, end: f64| json!({ "text": text, "start": start, "end": end });
    let (taken, unusable) =
        said(&json!([of(" ", 0.0, 1.0), of("a", 2.0, 1.0), of("a", -1.0, 1.0), of("b", 0.0, 1e10)]));
    assert_eq!((taken.len(), unusable), (1, 3));
}
