//! The engine that posts utterances.

use std::time::Duration;

use mock_speech::{Reply, Transcriber, silence, tone};
use secrecy::SecretString;
use speech::{Event, Language, Reason, Session, Settings, Status};
use tokio::time::sleep;

use crate::world::{Speaker, counted, engine, hurry, is_final, openai, session};

async fn server() -> Transcriber {
    let server = Transcriber::start().await;
    hurry();
    server
}

fn status(status: u16) -> Reply {
    Reply::Status(status, None, r#"{"error": {"message": "a secret of the provider"}}"#.into())
}

#[tokio::test]
async fn stt_utterances_return_in_order_at_their_times() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script([Reply::After(Duration::from_secs(3), Box::new(Reply::Heard))]);
    for hertz in [200, 300, 400] {
        speaker.utter(hertz, 3.0);
        // Neighbours join while they wait; these are far apart.
        speaker.say(&silence(4.0));
    }
    let seen = speaker.finish().await;
    assert_eq!(seen.words(), ["tone200", "tone300", "tone400"]);
    seen.assert_heard(&[(200, 1.0, 4.0), (300, 10.0, 13.0), (400, 19.0, 22.0)]);
    assert_eq!(seen.statuses(), [Status::Ready]);
    assert_eq!(server.most_at_once(), 1);
    assert_eq!(*counts.calls.lock().unwrap(), ["answered"; 3]);
    assert!(counts.latencies.lock().unwrap()[0] >= Duration::from_secs(3));
}

#[tokio::test]
async fn stt_request_is_a_wav_file_with_the_sessions_options() {
    let server = server().await;
    let settings = Settings { model: "some-model".into(), ..openai(&server) };
    let vocabulary = vec!["Maria".into(), " Leo\nBrandt ".into(), String::new(), "x".repeat(700)];
    let mut speaker = Speaker::open(&engine(&settings), Session { vocabulary, ..session() });
    speaker.utter(300, 1.0);
    speaker.finish().await;
    let [request] = &server.requests()[..] else { panic!("one request") };
    let expected = [
        ("language", "en"),
        ("model", "some-model"),
        ("prompt", "Maria, Leo Brandt"),
        ("response_format", "verbose_json"),
    ];
    assert_eq!(request.fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert_eq!(request.authorization.as_deref(), Some("Bearer service-key"));
    assert_eq!((&request.header[..4], &request.header[8..16]), (&b"RIFF"[..], &b"WAVEfmt "[..]));
    let number = |at: usize| u32::from_le_bytes(request.header[at..at + 4].try_into().unwrap());
    assert_eq!((number(24), number(40) as usize), (16_000, request.samples.len() * 2));
    let length = request.samples.len() as f64 / 16_000.0;
    assert!((1.5..2.2).contains(&length), "a second and 300 ms on both sides, not {length}");
}

#[tokio::test]
async fn stt_request_omits_language_when_the_engine_decides() {
    let server = server().await;
    let mut speaker =
        Speaker::open(&engine(&openai(&server)), Session { language: Language::Any, ..session() });
    speaker.utter(300, 1.0);
    speaker.finish().await;
    assert!(!server.requests()[0].fields.contains_key("language"));
}

#[tokio::test]
async fn stt_falls_back_to_plain_answers() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    server.script([status(400)]);
    for hertz in [200, 300] {
        speaker.utter(hertz, 1.0);
        speaker.until(is_final).await;
    }
    let formats: Vec<_> =
        server.requests().iter().map(|request| request.fields["response_format"].clone()).collect();
    assert_eq!(formats, ["verbose_json", "json", "json"]);
    assert_eq!(speaker.finish().await.words(), ["tone200", "tone300"]);
}

#[tokio::test]
async fn stt_busy_server_is_left_alone_for_its_retry_after() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script([Reply::Status(429, Some(9), String::new())]);
    speaker.utter(300, 1.0);
    let seen = speaker.finish().await;
    assert_eq!((seen.words(), seen.statuses()), (vec!["tone300".to_owned()], vec![Status::Ready]));
    assert_eq!(*counts.calls.lock().unwrap(), ["rate_limited", "answered"]);
    assert!(counts.latencies.lock().unwrap()[0] >= Duration::from_secs(9));
}

#[tokio::test]
async fn stt_busy_server_that_asks_for_a_day_is_asked_again_after_a_minute() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script([Reply::Status(429, Some(86_400), String::new())]);
    speaker.utter(300, 1.0);
    speaker.until(is_final).await;
    assert_eq!(speaker.finish().await.statuses()[1], Status::Failing(Reason::RateLimited));
    let latency = counts.latencies.lock().unwrap()[0];
    assert!((60..70).contains(&latency.as_secs()), "{latency:?}");
}

#[tokio::test]
async fn outage_within_the_buffer_loses_no_word() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    // More than a line's tries, and more than its circuit takes.
    server.script((0..9).map(|_| status(503)));
    speaker.utter(200, 2.0);
    let failing = Event::Status(Status::Failing(Reason::Unavailable));
    speaker.until(|event| *event == failing).await;
    speaker.say(&silence(3.0));
    speaker.utter(300, 2.0);
    speaker.until(is_final).await;
    let seen = speaker.finish().await;
    seen.assert_heard(&[(200, 1.0, 3.0), (300, 8.0, 10.0)]);
    assert_eq!(seen.statuses(), [Status::Ready, Status::Failing(Reason::Unavailable), Status::Ready]);
    assert_eq!(seen.gaps(), []);
}

#[tokio::test]
async fn stt_broken_answers_are_requested_again() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    server.script([Reply::HangUp, Reply::Body(r#"{"text": "half a"#.into()), Reply::Heard]);
    server.script([Reply::Body("<html>".into()), Reply::Body("{}".into())]);
    for hertz in [200, 300] {
        speaker.utter(hertz, 1.0);
        speaker.until(is_final).await;
    }
    assert_eq!(speaker.finish().await.words(), ["tone200", "tone300"]);
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn stt_failing_utterance_leaves_a_gap_and_later_ones_succeed() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script((0..9).map(|_| Reply::Body("no JSON".into())));
    speaker.utter(200, 2.0);
    speaker.say(&silence(3.0));
    speaker.utter(300, 2.0);
    speaker.until(is_final).await;
    let usage = speaker.recognizer.as_ref().unwrap().usage();
    let seen = speaker.finish().await;
    let [gap] = seen.gaps()[..] else { panic!("one gap") };
    assert_eq!(gap.reason, Reason::Malformed);
    assert!(gap.start < 1.0 && gap.end > 3.0, "{gap:?}");
    assert_eq!(seen.words(), ["tone300"]);
    assert_eq!((usage.gaps, usage.utterances), (1, 1));
    assert_eq!(counts.gaps.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn stt_refused_key_ends_recognition_with_a_gap() {
    hurry();
    for code in [401, 402, 403] {
        let server = Transcriber::start().await;
        let mut speaker = Speaker::open(&engine(&openai(&server)), session());
        server.always(Some(status(code)));
        speaker.utter(200, 1.0);
        let failed = Event::Status(Status::Failed(Reason::KeyRejected));
        speaker.until(|event| *event == failed).await;
        speaker.utter(300, 1.0);
        let seen = speaker.finish().await;
        assert_eq!(seen.gaps().len(), 2);
        assert_eq!(server.requests().len(), 1, "{code} is no reason to ask again");
    }
}

#[tokio::test]
async fn stt_exhausted_credit_is_not_a_busy_server() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    let body = r#"{"error": {"code": "insufficient_quota"}}"#;
    server.always(Some(Reply::Status(429, None, body.into())));
    speaker.utter(200, 1.0);
    assert_eq!(speaker.finish().await.statuses()[1], Status::Failed(Reason::KeyRejected));
}

#[tokio::test]
async fn stt_users_own_key_is_used_exclusively_and_its_refusal_named() {
    let server = server().await;
    let own = Session { own_key: Some(SecretString::from("own-key")), ..session() };
    let mut speaker = Speaker::open(&engine(&openai(&server)), own);
    speaker.utter(200, 1.0);
    speaker.until(is_final).await;
    server.always(Some(status(401)));
    speaker.utter(300, 1.0);
    let seen = speaker.finish().await;
    assert_eq!(seen.statuses(), [Status::Ready, Status::Failed(Reason::OwnKeyRejected)]);
    let keys: Vec<_> = server.requests().into_iter().filter_map(|request| request.authorization).collect();
    assert_eq!(keys, ["Bearer own-key"; 2]);
    let bad = Session { own_key: Some(SecretString::from("a\nb")), ..session() };
    assert!(engine(&openai(&server)).open(bad).is_err());
}

#[tokio::test]
async fn stt_refusing_one_utterance_continues_and_refusing_all_stops() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    server.script([status(422), status(422)]);
    server.script([Reply::Heard]);
    for hertz in [200, 300] {
        speaker.utter(hertz, 1.0);
        speaker.until(|event| matches!(event, Event::Final(_) | Event::Gap(_))).await;
    }
    server.always(Some(status(404)));
    for _ in 0..5 {
        speaker.utter(250, 1.0);
        speaker.until(|event| matches!(event, Event::Gap(_))).await;
    }
    let seen = speaker.finish().await;
    assert_eq!((seen.words(), seen.gaps().len()), (vec!["tone300".to_owned()], 6));
    assert_eq!(seen.statuses(), [Status::Ready, Status::Failed(Reason::Rejected)]);
}

#[tokio::test]
async fn stt_redirects_are_not_followed() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    server.always(Some(status(307)));
    speaker.utter(200, 1.0);
    assert_eq!(speaker.finish().await.gaps()[0].reason, Reason::Rejected);
}

#[tokio::test]
async fn stt_slow_server_gets_longer_utterances_and_at_most_a_minute_queues() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script([Reply::Held]);
    let mut clock = 0.0;
    let mut said = Vec::new();
    for number in 0..24 {
        let hertz = [200, 250, 300, 350, 400][number % 5];
        speaker.utter(hertz, 4.0);
        said.push((hertz, clock + 1.0, clock + 5.0));
        clock += 6.0;
        if number == 0 {
            while server.requests().is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }
    server.release();
    let usage = speaker.recognizer.as_ref().unwrap().usage();
    let seen = speaker.finish().await;
    let lengths: Vec<f64> =
        server.requests().iter().map(|request| request.samples.len() as f64 / 16_000.0).collect();
    assert!(lengths.iter().all(|seconds| *seconds <= 28.0), "{lengths:?}");
    assert!(lengths.iter().any(|seconds| *seconds > 15.0), "neighbours joined: {lengths:?}");
    assert!(lengths.iter().sum::<f64>() <= 60.1, "{lengths:?}");
    let lost: f64 = seen.gaps().iter().map(|gap| gap.end - gap.start).sum();
    assert!(lost > 60.0, "{lost} s");
    assert!(seen.gaps().iter().all(|gap| gap.reason == Reason::Overloaded));
    assert_eq!(usage.gaps as usize, counts.gaps.lock().unwrap().len());
    assert!(seen.words().len() >= 3, "the first, and the last minute");
}

#[tokio::test]
async fn stt_requests_are_limited_per_session_and_process() {
    let server = server().await;
    let engine = engine(&Settings { concurrency: 2, ..openai(&server) });
    server.always(Some(Reply::After(Duration::from_millis(500), Box::new(Reply::Heard))));
    let mut speakers: Vec<_> = (0..5).map(|_| Speaker::open(&engine, session())).collect();
    for speaker in &mut speakers {
        for hertz in [200, 300] {
            speaker.utter(hertz, 1.0);
            speaker.say(&silence(4.0));
        }
    }
    for speaker in speakers {
        assert_eq!(speaker.finish().await.words(), ["tone200", "tone300"]);
    }
    assert_eq!(server.most_at_once(), 2);
}

#[tokio::test]
async fn stt_hallucinations_on_silence_are_dropped_and_counted() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script([Reply::Text("Thanks for watching!".into()), Reply::Text(String::new())]);
    for _ in 0..2 {
        speaker.utter(200, 1.0);
        speaker.say(&silence(4.0));
    }
    let seen = speaker.finish().await;
    assert_eq!((seen.finals(), seen.gaps(), *counts.hallucinations.lock().unwrap()), (vec![], vec![], 1));
}

#[tokio::test]
async fn flush_finishes_the_current_utterance() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    speaker.say(&tone(300, 2.0));
    speaker.recognizer.as_mut().unwrap().flush();
    speaker.until(|event| *event == Event::Flushed).await;
    assert!(speaker.seen.iter().any(is_final), "{:?}", speaker.seen);
    speaker.say(&tone(400, 2.0));
    assert_eq!(speaker.finish().await.words(), ["tone300", "tone400"]);
}

#[tokio::test]
async fn stt_pause_finishes_what_no_silence_ended() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    speaker.say(&tone(300, 2.0));
    let is_recognizing = |speaker: &Speaker| speaker.recognizer.as_ref().unwrap().is_recognizing();
    assert!(!is_recognizing(&speaker));
    speaker.recognizer.as_mut().unwrap().pause();
    assert!(is_recognizing(&speaker), "a session waits for it");
    speaker.until(is_final).await;
    speaker.say(&tone(400, 2.0));
    let seen = speaker.finish().await;
    assert_eq!(seen.words(), ["tone300", "tone400"]);
    assert!(!seen.0.contains(&Event::Flushed), "nobody asked");
}

#[tokio::test]
async fn stt_session_end_does_not_wait_for_an_unavailable_server() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    server.always(Some(status(503)));
    speaker.utter(300, 1.0);
    let seen = speaker.finish().await;
    assert_eq!(seen.gaps().len(), 1);
    assert!(server.requests().len() <= 3, "one call and its tries");
}

#[tokio::test]
async fn stt_silent_server_times_out_after_half_a_minute() {
    let server = server().await;
    let (engine, counts) = counted(&openai(&server));
    let mut speaker = Speaker::open(&engine, session());
    server.script([Reply::After(Duration::from_secs(300), Box::new(Reply::Heard))]);
    speaker.utter(300, 1.0);
    speaker.until(is_final).await;
    assert_eq!(speaker.finish().await.statuses()[1], Status::Failing(Reason::Timeout));
    let latency = counts.latencies.lock().unwrap()[0];
    assert!((30..40).contains(&latency.as_secs()), "{latency:?}");
}

#[tokio::test]
async fn stt_dropped_session_sends_nothing_more() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&openai(&server)), session());
    drop(speaker.events);
    let mut recognizer = speaker.recognizer.take().unwrap();
    let audio = |samples| speech::Audio { tracks: vec![samples], source: Vec::new() };
    sleep(Duration::from_secs(1)).await;
    recognizer.hear(&audio([tone(300, 2.0), silence(2.0)].concat()));
    drop(recognizer);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn stt_health_follows_answers_to_the_services_key_only() {
    let server = server().await;
    let engine = engine(&openai(&server));
    let health = || engine.server().unwrap();
    assert_eq!((health().called, health().checked), (None, None));
    assert!(health().id.starts_with("openai:gpt-transcribe@127.0.0.1:"), "{}", health().id);
    engine.check_server().await;
    let checked = health().checked.unwrap();
    let without_list = "one without a list of models is there, and says nothing of the key";
    assert_eq!((checked.reason, checked.http_status), (None, Some(404)), "{without_list}");

    server.always(Some(status(401)));
    let own = Session { own_key: Some(SecretString::from("own-key")), ..session() };
    let mut speaker = Speaker::open(&engine, own);
    speaker.utter(300, 1.0);
    speaker.finish().await;
    assert_eq!(health().called, None);

    let mut speaker = Speaker::open(&engine, session());
    speaker.utter(300, 1.0);
    speaker.finish().await;
    let called = health().called.unwrap();
    assert_eq!((called.reason, called.http_status), (Some(Reason::KeyRejected), Some(401)));
}
