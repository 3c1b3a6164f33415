//! What of an answer was said.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn utterance() -> Utterance {
    let samples = vec![0; 4 * RATE as usize];
    Utterance { track: 1, start: 10 * u64::from(RATE), samples, voiced: 3 * RATE }
}

fn said(answer: &serde_json::Value) -> Said {
    Answer::read(answer.to_string().as_bytes()).unwrap().said(&utterance(), 1, "Maria, Leo Brandt")
}

#[test]
fn stt_answer_without_times_spans_its_utterance() {
    let said = said(&json!({"text": "  Hello,\n world\u{0}! "}));
    let expected = Draft { text: "Hello, world !".into(), speaker: 0, start: 10.0, end: 14.0 };
    assert_eq!(said, Said { drafts: vec![expected], invented: false });
}

#[test]
fn stt_answer_segments_keep_times_and_speakers_within_the_utterance() {
    let answer = json!({"text": "a b c", "segments": [
        {"start": 0.5, "end": 1.0, "text": " a", "speaker": "B"},
        {"start": 3.0, "end": 2.0, "text": "b", "speaker": "SPEAKER_07"},
        {"start": 99.0, "end": 1e300, "text": "c", "speaker": 5},
    ]});
    let found: Vec<_> = said(&answer)
        .drafts
        .into_iter()
        .map(|draft| (draft.text, draft.speaker, draft.start, draft.end))
        .collect();
    let expected = [("a", 1, 10.5, 11.0), ("b", 7, 13.0, 13.0), ("c", 0, 14.0, 14.0)];
    assert_eq!(found, expected.map(|(text, speaker, start, end)| (text.to_owned(), speaker, start, end)));
}

#[test]
fn stt_answer_takes_the_channel_as_speaker() {
    let answer =
        Answer::read(br#"{"text": "hello", "segments": [{"text": "hello", "speaker": "C"}]}"#).unwrap();
    assert_eq!(answer.said(&utterance(), 2, "").drafts[0].speaker, 1);
}

#[test]
fn stt_hallucinations_on_silence_are_dropped() {
    for text in [
        "Thanks for watching!",
        "Thank you for watching.",
        "Untertitel der Amara.org-Community",
        "Sous-titres réalisés par la communauté d'Amara.org",
        "ご視聴ありがとうございました",
        "Maria, Leo Brandt",
        "...",
        &"la ".repeat(200),
    ] {
        let said = said(&json!({"text": text}));
        assert_eq!((said.drafts.len(), said.invented), (0, true), "{text}");
    }
    let silence = json!({"text": "", "segments": [
        {"start": 0.0, "end": 4.0, "text": "So we", "no_speech_prob": 0.9, "avg_logprob": -1.4},
        {"start": 0.0, "end": 4.0, "text": "begin.", "no_speech_prob": 0.9, "avg_logprob": -0.3},
    ]});
    let said = said(&silence);
    assert_eq!((said.drafts.len(), said.invented), (1, true));
}

#[test]
fn stt_thank_you_is_kept_where_speech_was_detected() {
    let thanks = || Answer::read(br#"{"text": "Thank you."}"#).unwrap();
    assert_eq!(thanks().said(&utterance(), 1, "").drafts.len(), 1);
    let breath = Utterance { voiced: 3_000, ..utterance() };
    assert!(thanks().said(&breath, 1, "").invented);
    assert_eq!(said(&json!({"text": "Thanks for watching the kids, Maria."})).drafts.len(), 1);
}

#[test]
fn stt_empty_answer_is_silence_and_errors_are_errors() {
    assert_eq!(said(&json!({"text": ""})), Said { drafts: vec![], invented: false });
    for body in
        ["", "{", "[]", "null", r#"{"error": {"message": "x"}}"#, r#"{"text": "cut"#, r#"{"text": 5}"#]
    {
        assert!(Answer::read(body.as_bytes()).is_none(), "{body}");
    }
}

proptest! {
    #[test]
    fn any_stt_answer_stays_within_its_utterance(
        parts in prop::collection::vec((any::<Option<f64>>(), any::<Option<f64>>(), "\\PC{0,40}"), 0..5),
        text in "\\PC{0,80}",
    ) {
        let segments: Vec<_> = parts
            .into_iter()
            .map(|(start, end, text)| json!({"start": start, "end": end, "text": text}))
            .collect();
        for draft in said(&json!({"text": text, "segments": segments})).drafts {
            prop_assert!(10.0 <= draft.start && draft.start <= draft.end && draft.end <= 14.0);
            prop_assert!(!draft.text.trim().is_empty());
        }
    }
}

#[test]
fn stt_answer_has_no_more_words_than_can_be_said_in_its_time() {
    let parts: Vec<_> = (0..50_000).map(|_| json!({"text": "la"})).collect();
    let said = said(&json!({ "segments": parts }));
    assert_eq!((said.drafts.len(), said.invented), (220, true), "440 characters in 4 s");
}
