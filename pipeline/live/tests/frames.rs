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
