//! The engine that holds a socket.

use std::time::Duration;

use mock_speech::{Deepgram, Manner, silence, tone};
use secrecy::SecretString;
use speech::{Event, Language, Reason, Session, Settings, Status};
use tokio::time::sleep;

use crate::world::{Seen, Speaker, counted, deepgram, engine, hurry, is_final, is_ready, session};

/// What [`say`] says: a tone, its beginning and its end.
const SAID: [(u32, f64, f64); 3] = [(200, 1.0, 5.0), (300, 8.0, 12.0), (400, 15.0, 19.0)];

async fn server() -> Deepgram {
    let server = Deepgram::start().await;
    hurry();
    server
}

async fn say(speaker: &mut Speaker) {
    for (hertz, ..) in SAID {
        // At the speed of speech, so that a server that closes does so in the middle.
        for part in [silence(1.0), tone(hertz, 4.0), silence(2.0)].concat().chunks(1_600) {
            speaker.say(part);
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Everything said, over connections that behave so, and a good one in the end.
async fn heard_over(manners: Vec<Manner>) -> (Seen, usize) {
    let server = server().await;
    server.script(manners);
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    say(&mut speaker).await;
    let seen = speaker.finish().await;
    (seen, server.connections().len())
}

#[tokio::test]
async fn deepgram_words_arrive_once_at_their_times_without_sending_silence() {
    let server = server().await;
    let (engine, counts) = counted(&deepgram(&server));
    let mut speaker = Speaker::open(&engine, session());
    say(&mut speaker).await;
    sleep(Duration::from_secs(1)).await;
    let usage = speaker.recognizer.as_ref().unwrap().usage();
    let seen = speaker.finish().await;
    seen.assert_heard(&SAID);
    assert_eq!((seen.statuses(), seen.gaps()), (vec![Status::Connecting, Status::Ready], vec![]));
    assert!(seen.0.iter().any(|event| matches!(event, Event::Interim(_))));
    let [connection] = &server.connections()[..] else { panic!("one connection") };
    let sent = connection.samples as f64 / 16_000.0;
    assert!((12.0..17.0).contains(&sent), "{sent} s of 21 were sent");
    assert!((usage.audio_seconds - sent).abs() < 1e-6);
    assert!(connection.texts.iter().filter(|kind| *kind == "Finalize").count() == 3);
    assert_eq!(connection.texts.last().map(String::as_str), Some("CloseStream"));
    assert_eq!(*counts.calls.lock().unwrap(), ["answered"]);
}

#[tokio::test]
async fn deepgram_connection_requests_the_sessions_options() {
    let server = server().await;
    let settings = Settings { deepgram_model: "nova-3-medical".into(), ..deepgram(&server) };
    let vocabulary = vec!["Maria".into(), "Leo & Söhne".into(), "x".repeat(101)];
    let wishes = Session { vocabulary, language: Language::Any, ..session() };
    let mut speaker = Speaker::open(&engine(&settings), wishes);
    speaker.until(is_ready).await;
    speaker.finish().await;
    let connection = server.connections().remove(0);
    assert_eq!(connection.authorization, "Token service-key");
    assert_eq!(
        connection.target,
        "/v1/listen?model=nova-3-medical&language=multi&encoding=linear16&sample_rate=16000&channels=1\
         &interim_results=true&punctuate=true&smart_format=true&endpointing=300&diarize=true\
         &keyterm=Maria&keyterm=Leo+%26+S%C3%B6hne"
    );
}

#[tokio::test]
async fn deepgram_two_channels_are_two_speakers() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), Session { channels: 2, ..session() });
    let quiet = silence(3.0);
    for (left, right) in
        [(tone(200, 3.0), quiet.clone()), (quiet.clone(), quiet.clone()), (quiet.clone(), tone(400, 3.0))]
    {
        speaker.say_all(&[left, right]);
    }
    speaker.say_all(&[quiet.clone(), quiet]);
    let seen = speaker.finish().await;
    seen.assert_heard(&[(200, 0.0, 3.0), (400, 6.0, 9.0)]);
    for draft in seen.finals() {
        assert_eq!(draft.speaker, u16::from(draft.text.starts_with("tone400")), "{}", draft.text);
    }
    assert!(
        server.connections()[0].target.contains("channels=2&")
            && server.connections()[0].target.contains("multichannel=true")
    );
}

#[tokio::test]
async fn deepgram_reconnect_loses_or_doubles_no_word() {
    let lost = |words| Manner { close_after: Some((words, 1011)), ..Manner::default() };
    let (seen, connections) = heard_over(vec![lost(3), lost(5), lost(4)]).await;
    seen.assert_heard(&SAID);
    assert_eq!((connections, seen.gaps()), (4, vec![]));
}

#[tokio::test]
async fn deepgram_errors_and_broken_results_reconnect() {
    let manners = vec![
        Manner { cut_after: Some(4), ..Manner::default() },
        Manner { error_after: Some(6), ..Manner::default() },
        Manner { close_after: Some((3, 1008)), ..Manner::default() },
    ];
    let (seen, connections) = heard_over(manners).await;
    seen.assert_heard(&SAID);
    assert_eq!((connections, seen.gaps()), (4, vec![]));
    assert!(!format!("{seen:?}").contains("secret"));
}

#[tokio::test]
async fn deepgram_repeated_and_reordered_results_are_reported_once() {
    let (seen, _) = heard_over(vec![Manner { twice: true, ..Manner::default() }]).await;
    seen.assert_heard(&SAID);
    let server = Deepgram::start().await;
    server.always(Manner { swapped: true, ..Manner::default() });
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.say(&silence(1.0));
    speaker.say(&tone(300, 8.0));
    speaker.say(&silence(2.0));
    let mut seen = speaker.finish().await;
    let mut finals = seen.finals();
    assert!(finals.windows(2).any(|pair| pair[1].start < pair[0].start), "they came in the wrong order");
    finals.sort_by(|one, other| one.start.total_cmp(&other.start));
    seen.0 = vec![Event::Final(finals)];
    seen.assert_heard(&[(300, 1.0, 9.0)]);
}

#[tokio::test]
async fn deepgram_slow_server_is_awaited() {
    let slow = Manner { slow: Duration::from_secs(2), ..Manner::default() };
    let (seen, connections) = heard_over(vec![slow]).await;
    // It has not said all when five seconds are over, and the rest is asked of the next.
    seen.assert_heard(&SAID);
    assert!(connections <= 2 && seen.gaps().is_empty());
}

#[tokio::test]
async fn deepgram_empty_results_report_nothing() {
    let empty = Manner { empty: true, ..Manner::default() };
    let (seen, connections) = heard_over(vec![empty]).await;
    assert_eq!((seen.finals(), seen.gaps(), connections), (vec![], vec![], 1));
}

#[tokio::test]
async fn deepgram_refused_key_ends_recognition_with_a_gap() {
    for code in [401, 402, 403] {
        let server = Deepgram::start().await;
        server.always(Manner { refuse: Some(code), ..Manner::default() });
        let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
        let failed = Event::Status(Status::Failed(Reason::KeyRejected));
        speaker.until(|event| *event == failed).await;
        speaker.utter(300, 2.0);
        let seen = speaker.finish().await;
        assert!(!seen.gaps().is_empty() && seen.finals().is_empty());
        assert!(!format!("{seen:?}").contains("secret"));
    }
}

#[tokio::test]
async fn outage_within_the_buffer_loses_no_word() {
    let server = server().await;
    server.script([503, 429, 502].map(|code| Manner { refuse: Some(code), ..Manner::default() }));
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    say(&mut speaker).await;
    let seen = speaker.finish().await;
    seen.assert_heard(&SAID);
    assert_eq!(seen.gaps(), []);
    assert_eq!(seen.statuses()[..2], [Status::Connecting, Status::Failing(Reason::Unavailable)]);
    assert_eq!(seen.statuses().last(), Some(&Status::Ready));
}

#[tokio::test]
async fn deepgram_results_never_final_are_requested_again_then_given_up() {
    let server = server().await;
    let never = Manner { final_every: None, ..Manner::default() };
    server.script([never.clone()]);
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.utter(200, 4.0);
    speaker.until(is_final).await;
    assert_eq!(server.connections().len(), 2);
    speaker.finish().await.assert_heard(&[(200, 1.0, 5.0)]);

    server.always(never);
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.utter(300, 4.0);
    let gap = speaker.until(|event| matches!(event, Event::Gap(_))).await;
    let Event::Gap(gap) = gap else { panic!("a gap") };
    assert!(gap.start < 1.1 && gap.end > 4.9 && gap.reason == Reason::Timeout, "{gap:?}");
    server.always(Manner::default());
    speaker.utter(400, 4.0);
    speaker.finish().await.assert_heard(&[(400, 7.0, 11.0)]);
}

#[tokio::test]
async fn deepgram_stalled_server_is_replaced_and_audio_sent_again() {
    let server = server().await;
    server.script([Manner { deaf: true, ..Manner::default() }]);
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.utter(200, 4.0);
    speaker.until(is_final).await;
    speaker.finish().await.assert_heard(&[(200, 1.0, 5.0)]);
}

#[tokio::test]
async fn deepgram_long_outage_loses_audio_older_than_a_minute() {
    let server = server().await;
    server.always(Manner { refuse: Some(503), ..Manner::default() });
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    for _ in 0..20 {
        speaker.utter(300, 8.0);
        sleep(Duration::from_secs(10)).await;
    }
    server.always(Manner::default());
    sleep(Duration::from_secs(400)).await;
    let usage = speaker.recognizer.as_ref().unwrap().usage();
    let seen = speaker.finish().await;
    let lost: f64 = seen.gaps().iter().map(|gap| gap.end - gap.start).sum();
    let heard: f64 = seen.finals().iter().map(|draft| draft.end - draft.start).sum();
    assert!(heard > 45.0 && lost > 60.0, "{heard} s heard, {lost} s lost");
    assert!((usage.gap_seconds - lost).abs() < 1e-6);
}

#[tokio::test]
async fn flush_finishes_the_current_utterance() {
    let server = server().await;
    server.always(Manner { final_every: Some(100), ..Manner::default() });
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.say(&tone(300, 3.0));
    speaker.recognizer.as_mut().unwrap().flush();
    speaker.until(|event| *event == Event::Flushed).await;
    let finals = speaker.seen.iter().filter(|event| is_final(event)).count();
    assert!(finals == 1 && speaker.seen.len() >= 8, "{:?}", speaker.seen);
    speaker.finish().await;
}

#[tokio::test]
async fn pause_finishes_what_no_silence_ended() {
    let server = server().await;
    server.always(Manner { final_every: Some(100), ..Manner::default() });
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.say(&tone(300, 3.0));
    speaker.recognizer.as_mut().unwrap().pause();
    speaker.until(is_final).await;
    assert!(!speaker.finish().await.0.contains(&Event::Flushed), "nobody asked");
}

#[tokio::test]
async fn deepgram_flush_in_silence_or_ignored_by_the_server_is_answered() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.until(is_ready).await;
    speaker.recognizer.as_mut().unwrap().flush();
    speaker.until(|event| *event == Event::Flushed).await;
    speaker.finish().await;
    server.always(Manner { final_every: None, ..Manner::default() });
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.say(&tone(300, 3.0));
    speaker.recognizer.as_mut().unwrap().flush();
    let asked = tokio::time::Instant::now();
    speaker.until(|event| *event == Event::Flushed).await;
    assert!((3..6).contains(&asked.elapsed().as_secs()), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn deepgram_idle_connection_is_kept_for_a_minute() {
    let server = server().await;
    let mut speaker = Speaker::open(&engine(&deepgram(&server)), session());
    speaker.utter(200, 4.0);
    sleep(Duration::from_secs(40)).await;
    let kept = server.connections()[0].texts.iter().filter(|kind| *kind == "KeepAlive").count();
    assert!((8..=10).contains(&kept), "{kept} in 40 s");
    sleep(Duration::from_secs(200)).await;
    assert_eq!(server.connections().len(), 1);
    speaker.utter(300, 4.0);
    speaker.until(|event| matches!(event, Event::Final(drafts) if drafts[0].text.contains("tone300"))).await;
    let seen = speaker.finish().await;
    seen.assert_heard(&[(200, 1.0, 5.0), (300, 7.0, 11.0)]);
    assert_eq!(server.connections().len(), 2);
    assert_eq!(seen.statuses(), [Status::Connecting, Status::Ready], "nothing failed");
}

#[tokio::test]
async fn deepgram_requires_tls() {
    let server = server().await;
    let deepgram_base_url = server.base_url().replace("ws://", "wss://");
    let settings = Settings { deepgram_base_url, ..deepgram(&server) };
    let mut speaker = Speaker::open(&engine(&settings), session());
    let failing = Event::Status(Status::Failing(Reason::Unavailable));
    speaker.until(|event| *event == failing).await;
    assert_eq!(server.connections().len(), 0);
}

#[tokio::test]
async fn deepgram_does_not_use_an_openai_key() {
    let server = server().await;
    let own = Session { own_key: Some(SecretString::from("own-key")), ..session() };
    let engine = engine(&deepgram(&server));
    assert!(!engine.capabilities().own_key && engine.open(own).is_err());
    assert_eq!(server.connections().len(), 0);
}

#[tokio::test]
async fn deepgram_health_check_sends_no_audio() {
    let server = server().await;
    let engine = engine(&deepgram(&server));
    engine.check_server().await;
    let checked = engine.server().unwrap().checked.unwrap();
    assert_eq!((checked.reason, checked.http_status), (None, None));
    assert_eq!(server.connections()[0].samples, 0);

    server.always(Manner { refuse: Some(401), ..Manner::default() });
    engine.check_server().await;
    let health = engine.server().unwrap();
    let checked = health.checked.unwrap();
    assert_eq!((checked.reason, checked.http_status), (Some(Reason::KeyRejected), Some(401)));
    assert_eq!((health.called, health.open_for), (None, None), "a check is no call");
}
