//! Live audio: from frames to segments, and refusals.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use api::{LiveSettings, Settings};
use futures::SinkExt;
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::{
    client::Setup,
    engine::{Prompted, WordASecond, said},
};
use crate::bench::{P, quick};

async fn setup() -> (Setup, Arc<WordASecond>) {
    let engine = Arc::new(WordASecond::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    (Setup::with(Settings { live, ..quick() }).await, engine)
}

#[tokio::test]
async fn live_audio_becomes_segments_with_conversation_times() {
    let (setup, _) = setup().await;
    let mut line = setup.line("codec=pcm16&sample_rate=16000&conversation_timeout=2").await.ready().await;
    for _ in 0..10 {
        line.send_bytes(vec![0; 6_400]).await;
    }
    let interim = line.until("interim_transcript").await;
    assert_eq!(interim["segments"], json!([{ "text": "word0…", "speaker": "SPEAKER_00" }]));
    let shown = line.until("segments").await;
    assert_eq!(shown[0]["stt_provider"], "test");
    assert_eq!(shown[0]["start"], 0.0);
    let started = line.until("memory_processing_started").await;
    assert_eq!(started["memory"]["transcript_segments"][0]["text"], "word0 word1");
}

#[tokio::test]
async fn live_two_channel_and_8_bit_audio_is_recognized() {
    let (setup, _) = setup().await;
    let mut line = setup.line("channels=2").await.ready().await;
    line.send_bytes(vec![128; 20_000]).await;
    let shown = line.until("segments").await;
    let speakers: Vec<_> =
        shown.as_array().unwrap().iter().map(|segment| segment["speaker"].clone()).collect();
    assert_eq!(speakers, ["SPEAKER_00", "SPEAKER_01"]);
}

#[tokio::test]
async fn live_audio_before_an_end_request_is_in_the_ended_conversation() {
    let (setup, _) = setup().await;
    let mut line = setup.line("codec=mulaw").await.ready().await;
    line.send_bytes(vec![255; 12_000]).await;
    line.until("segments").await;
    let ended = setup.bench.post("/v1/conversations", json!({})).await;
    assert_eq!(
        ended.body["conversation"]["transcript_segments"][0]["text"], "word0 word1",
        "the half word, too"
    );
}

#[tokio::test]
async fn live_words_behind_an_end_request_are_kept_when_the_socket_is_closed_at_once() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut line = setup.line("codec=pcm16&sample_rate=16000").await.ready().await;
    let events = engine.events();
    events.send(said("Before.")).await.unwrap();
    line.until("segments").await;
    let closes = async {
        engine.until_flushes(1).await;
        line.socket.close(None).await.unwrap();
        engine.until_flushes(2).await;
        // What the request asked for is done; what the end asked for is not.
        events.send(speech::Event::Flushed).await.unwrap();
    };
    let (ended, ()) = tokio::join!(setup.bench.post("/v1/conversations", json!({})), closes);
    assert_eq!(ended.status, 200);
    events.send(said("Behind.")).await.expect("recognition goes on");
    events.send(speech::Event::Flushed).await.unwrap();
    setup.until(1, "select count(*) from transcript_segments where content = 'Behind.'").await;
}

/// The answer was 404, or another conversation that was in progress, while the first words of a live one were being recognized.
#[tokio::test]
async fn live_end_request_waits_for_the_first_words_of_a_conversation() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let segments = json!([{ "text": "An older one.", "start": 0, "end": 1 }]);
    let older = json!({ "transcript_segments": segments, "defer_processing": true });
    assert_eq!(setup.bench.post(&format!("{P}/conversations/from-segments"), older).await.status, 200);
    let mut line = setup.line("codec=pcm16&sample_rate=16000").await;
    let id = line.until("conversation_session").await["conversation_id"].clone();
    let recognized = async {
        engine.until_flushes(1).await;
        let events = engine.events();
        events.send(said("The first words.")).await.unwrap();
        events.send(speech::Event::Flushed).await.unwrap();
    };
    let (ended, ()) = tokio::join!(setup.bench.post("/v1/conversations", json!({})), recognized);
    let ended = &ended.body["conversation"];
    assert_eq!((&ended["id"], &ended["transcript_segments"][0]["text"]), (&id, &json!("The first words.")));
}

/// Who reads along would take what was given up for silence.
#[tokio::test]
async fn live_speech_that_was_given_up_is_said() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut line = setup.line("codec=pcm16&sample_rate=16000").await.ready().await;
    let gap = speech::Gap { start: 2.0, end: 4.5, reason: speech::Reason::Overloaded };
    engine.events().send(speech::Event::Gap(gap)).await.unwrap();
    let expected = json!({ "type": "speech_gap", "seconds": 2.5, "reason": "overloaded" });
    assert_eq!(line.until("speech_gap").await, expected);
}

/// A phone that changes its network comes back at once: what it had said until then was lost, although it had been heard.
#[tokio::test]
async fn live_words_that_were_heard_before_a_reconnect_are_stored() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let query = "codec=pcm16&sample_rate=16000&client_device_id=ios_1";
    let mut old = setup.line(query).await.ready().await;
    let of_old = engine.events();
    of_old.send(said("Before the tunnel.")).await.unwrap();
    old.until("segments").await;
    let young = setup.line(query).await.ready().await;
    // The older socket gets its close frame at once: recognition finishes behind it.
    engine.until_flushes(1).await;
    assert_eq!(old.closed().await, 1001);
    of_old.send(said("In the tunnel.")).await.unwrap();
    of_old.send(speech::Event::Flushed).await.unwrap();
    setup.until(1, "select count(*) from transcript_segments where content like '%In the tunnel.'").await;
    let id = setup.id_in_progress().await;
    assert_eq!(setup.texts(&id).await, ["Before the tunnel. In the tunnel."]);
    drop(young);
}

/// A device that comes back while nobody speaks: silence before the first word counted as speech, so that the conversation
/// went on for as long as the socket was open.
#[tokio::test]
async fn live_silence_after_a_reconnect_ends_the_conversation() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let query = "codec=pcm16&sample_rate=16000&conversation_timeout=2&client_device_id=ios_1";
    let mut old = setup.line(query).await.ready().await;
    engine.events().send(said("Before the tunnel.")).await.unwrap();
    old.until("segments").await;
    let mut young = setup.line(query).await.ready().await;
    let ends = async {
        loop {
            young.send_bytes(vec![0; 3_200]).await;
            let frame = timeout(Duration::from_millis(100), young.next()).await;
            if frame.is_ok_and(|frame| frame.is_ok_and(|frame| frame["type"] == "memory_processing_started"))
            {
                break;
            }
        }
    };
    timeout(Duration::from_secs(10), ends).await.expect("silence ends the conversation");
}

/// Words of a lost socket that come when their conversation is over took the next one over, and closed its client's new socket for
/// good.
#[tokio::test]
async fn live_late_words_of_a_lost_socket_close_no_other_socket() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine: engine.clone(), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let query = "codec=pcm16&sample_rate=16000&client_device_id=ios_1";
    let mut lost = setup.line(query).await.ready().await;
    let of_lost = engine.events();
    of_lost.send(said("Before.")).await.unwrap();
    lost.until("segments").await;
    lost.socket.close(None).await.unwrap();
    engine.until_flushes(1).await;
    let mut young = setup.line(query).await.ready().await;
    let of_young = engine.events();
    of_young.send(said("After.")).await.unwrap();
    young.until("segments").await;
    let flushes = async {
        engine.until_flushes(2).await;
        of_young.send(speech::Event::Flushed).await.unwrap();
    };
    let (ended, ()) = tokio::join!(setup.bench.post("/v1/conversations", json!({})), flushes);
    assert_eq!(ended.status, 200);
    of_young.send(said("Next.")).await.unwrap();
    young.until("segments").await;
    let next = setup.id_in_progress().await;
    of_lost.send(said("Late.")).await.unwrap();
    setup.until(1, "select count(*) from transcript_segments where content = 'Late.'").await;
    let taken_over = "select count(*) from conversations where status = 'in_progress' and live_epoch > 1";
    assert_eq!(setup.count(taken_over).await, 0);
    of_young.send(said("And on.")).await.unwrap();
    young.until("segments").await;
    assert_eq!(setup.texts(&next).await, ["Next. And on."]);
}

/// A button that was let go, or a client that sends no silence: what was said last came with the next words, or not at all.
#[tokio::test]
async fn live_speech_that_stops_without_silence_is_recognized() {
    let engine = Arc::new(Prompted::default());
    let live = LiveSettings { engine, ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut line = setup.line("codec=pcm16&sample_rate=16000").await.ready().await;
    line.send_bytes(vec![0; 3_200]).await;
    assert_eq!(line.until("segments").await[0]["text"], "Paused.");
}

#[tokio::test]
async fn live_conversation_that_a_request_ends_keeps_the_count_of_its_audio() {
    let (setup, _) = setup().await;
    let mut line = setup.line("codec=pcm16&sample_rate=16000").await.ready().await;
    // The first opens the conversation, which is counted from then on.
    for _ in 0..2 {
        line.send_bytes(vec![0; 40_000]).await;
        line.until("segments").await;
    }
    assert_eq!(setup.bench.post("/v1/conversations", json!({})).await.status, 200);
    let counted = "select count(*) from live_usage join conversations using (user_id, conversation_id) \
         where status = 'processing' and live_usage.engine = 'test' and received_seconds >= 1.25";
    setup.until(1, counted).await;
}

#[tokio::test]
async fn live_opus_garbage_closes_the_socket_single_bad_packets_do_not() {
    let (setup, _) = setup().await;
    let mut line = setup.line("codec=opus").await.ready().await;
    for _ in 0..100 {
        // Three frames of the largest size do not fit: no Opus packet.
        let _ = line.socket.send(Message::binary(vec![0xff; 4])).await;
    }
    assert_eq!(line.closed().await, 1003);
}

#[tokio::test]
async fn live_permanent_engine_failure_is_reported_and_closes_the_socket() {
    let (setup, engine) = setup().await;
    engine.fails.store(true, Ordering::SeqCst);
    let mut line = setup.line("").await;
    loop {
        let frame = line.until("service_status").await;
        if frame["status"] == "stt_failed" {
            assert_eq!((&frame["reason"], &frame["provider"]), (&json!("key_rejected"), &json!("test")));
            break;
        }
    }
    assert_eq!(line.closed().await, 1011);
}

#[tokio::test]
async fn live_byok_user_without_keys_may_send_transcripts_but_no_audio() {
    let (setup, engine) = setup().await;
    setup.bench.run("update users set requires_byok = true").await;
    let mut line = setup.line("").await.ready().await;
    line.say(&["Typed."], 0.0).await;
    assert_eq!(
        line.until("segments").await[0]["text"],
        "Typed.",
        "nothing else recognizes this session's speech"
    );
    line.send_bytes(vec![0; 100]).await;
    let failed = line.until("service_status").await;
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("stt_failed"), &json!("own_key_required")));
    assert_eq!(line.closed().await, 4003);
    let mut line = setup.line("custom_stt=enabled&conversation_timeout=2").await.ready().await;
    line.say(&["Mine alone."], 0.0).await;
    line.until("memory_processing_started").await;
    assert_eq!(setup.count("select count(*) from finalization_jobs where status = 'blocked_byok'").await, 1);
    let key = setup.bench.key.clone();
    let own = [("x-byok-openai", "sk-mine")];
    let mut line = setup.try_connect(&key, "uid=ann&client_device_id=b", &own).await.unwrap().ready().await;
    line.send_bytes(vec![128; 16_000]).await;
    assert_eq!(line.until("segments").await[0]["text"], "word0");
    assert_eq!(*engine.own_keys.lock().unwrap(), [true], "the key reaches the engine");
}

#[tokio::test]
async fn live_user_who_requires_own_keys_since_sends_no_more_audio_to_the_service_key() {
    let engine = Arc::new(WordASecond::default());
    let every = Duration::from_millis(50);
    let live = LiveSettings { engine, key_checked_every: every, ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut line = setup.line("").await.ready().await;
    line.send_bytes(vec![128; 16_000]).await;
    assert_eq!(line.until("segments").await[0]["text"], "word0");
    setup.bench.run("update users set requires_byok = true").await;
    let audio = async {
        loop {
            let _ = line.socket.send(Message::binary(vec![128; 80])).await;
            if let Ok(Ok(frame)) = timeout(Duration::from_millis(10), line.next()).await
                && frame["status"] == "stt_failed"
            {
                return frame;
            }
        }
    };
    let failed = timeout(Duration::from_secs(30), audio).await.expect("audio is refused");
    assert_eq!((&failed["reason"], &failed["retryable"]), (&json!("own_key_required"), &json!(false)));
    assert_eq!(line.closed().await, 4003);
}

#[tokio::test]
async fn live_named_speaker_keeps_their_person_and_invalid_names_change_nothing() {
    let (setup, _) = setup().await;
    let made = setup.bench.post("/v1/users/me/people", json!({ "name": "Maria" })).await;
    let maria = made.body["id"].as_str().unwrap().to_owned();
    let mut line = setup.line("codec=pcm16&sample_rate=16000").await.ready().await;
    for person in [&maria, "unknown"] {
        line.send(json!({ "type": "speaker_assigned", "speaker_id": 0, "person_id": person })).await;
    }
    // What is done after both, one after the other.
    let picture =
        json!({ "type": "image_chunk", "id": "p1", "index": 0, "total": 1, "data": "/9j/BwcHBwcH" });
    line.send(picture).await;
    setup.until(1, "select count(*) from photos").await;
    line.send_bytes(vec![0; 40_000]).await;
    let shown = line.until("segments").await;
    assert_eq!((&shown[0]["text"], &shown[0]["person_id"]), (&json!("word0"), &json!(maria)));
}
