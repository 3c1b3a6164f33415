//! The engines that recognize nothing themselves.

use mock_speech::{silence, tone};
use speech::{Event, Reason, Settings, Status};

use crate::world::{Speaker, engine, session};

#[tokio::test]
async fn without_an_engine_the_session_is_told_and_speech_is_still_watched_for() {
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
async fn a_client_that_recognizes_itself_has_an_engine_that_is_ready() {
    let engine = Settings::client_engine();
    assert_eq!(engine.name(), "client");
    let speaker = Speaker::open(&engine, session());
    assert_eq!(speaker.finish().await.statuses(), [Status::Ready]);
}
