//! The engines that recognize nothing themselves.

use mock_speech::{silence, tone};
use speech::{Event, Reason, Settings, Status};

use crate::world::{Speaker, engine, session};

#[tokio::test]
async fn no_engine_reports_it_and_still_detects_speech() {
    let engine = engine(&Settings::default());
    assert_eq!((engine.name(), engine.capabilities().audio), ("none", false));
    let mut speaker = Speaker::open(&engine, session());
    let speaking = speaker.say(&tone(300, 1.0));
    assert!(speaking.speaking);
    let after = speaker.say(&silence(2.0));
    assert!(!after.speaking);
    let last = after.last_speech.unwrap();
    assert!((0.9..1.3).contains(&last), "speech ended at {last}");
    speaker.recognizer.as_mut().unwrap().flush();
    let seen = speaker.finish().await;
    assert_eq!(seen.0, [Event::Status(Status::Failed(Reason::NoSpeechEngine)), Event::Flushed]);
}

#[tokio::test]
async fn client_side_recognition_reports_a_ready_engine() {
    let engine = Settings::client_engine();
    assert_eq!(engine.name(), "client");
    let speaker = Speaker::open(&engine, session());
    assert_eq!(speaker.finish().await.statuses(), [Status::Ready]);
}
