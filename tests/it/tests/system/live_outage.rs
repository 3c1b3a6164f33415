//! Live sessions during a database outage of some seconds.

use std::time::Duration;

use futures::SinkExt;
use mock_speech::{RATE, Reply, Transcriber, silence, tone};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::client::Client;
use crate::private_server::PrivateServer;
use crate::process::{PATIENCE, Process};
use crate::socket::{Socket, next, open};

/// How long the database is down each time.
const DOWN: Duration = Duration::from_secs(3);
/// What is said in tones, as the mock engine can tell them apart.
const TONES: [u32; 5] = [200, 250, 300, 370, 440];
/// How many of them, one after the other.
const SPOKEN: usize = 10;
/// How many lines the client with a recognizer of its own says.
const LINES: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn live_sessions_survive_a_database_outage() {
    let server = PrivateServer::start();
    let key = server.with_a_person();
    let [spoken_key, silent_key] = [server.with("spoken"), server.with("silent")];
    let speech = Transcriber::start().await;
    let url = speech.base_url();
    let settings = [("LISTEN_SPEECH_BASE_URL", url.as_str()), ("LISTEN_RATE_PER_MINUTE", "0")];
    let process = Process::serve(&server.url(), &settings).await;
    let own_stt = "custom_stt=enabled&conversation_timeout=600&client_device_id=d";
    let lines = open(&process.api, "u1", &key, own_stt).await.expect("it opens");
    let audio = format!("codec=pcm16&sample_rate={RATE}&conversation_timeout=600");
    let spoken = open(&process.api, "spoken", &spoken_key, &audio).await.expect("it opens");
    let brief = "custom_stt=enabled&conversation_timeout=2";
    let mut silent = open(&process.api, "silent", &silent_key, brief).await.expect("it opens");

    // One says a line every so often, one speaks, and one falls silent just before the database is gone.
    let lines = tokio::spawn(say_lines(lines));
    let spoken = tokio::spawn(say_tones(spoken));
    silent.send(line(0)).await.expect("the socket is open");
    shown(&mut silent, "Line 0.").await;
    for mode in ["immediate", "fast"] {
        outage(&server, mode, async || {
            let refused = open(&process.api, "u1", &key, own_stt).await.map(|_| ());
            let Err(Error::Http(answer)) = refused else { panic!("{refused:?}") };
            assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
            let client = Client::new(&process.api, &key);
            let (status, _) = client.ask(Method::POST, "/v1/conversations", Some(&json!({}))).await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        })
        .await;
    }

    // All of them are still on the sockets that they opened.
    assert_eq!(created(&mut silent).await, "Line 0.");
    let all_lines: Vec<String> = (0..LINES).map(|number| format!("Line {number}.")).collect();
    for (speaking, key, words) in [(lines, &key, all_lines.join(" ")), (spoken, &spoken_key, tones())] {
        let mut socket = speaking.await.expect("all of it is shown");
        Client::new(&process.api, key).end_live().await;
        assert_eq!(created(&mut socket).await, words);
    }
    let mut database = PgConnection::connect(&server.url()).await.expect("the database is back");
    let jobs: Vec<(String, String, i64)> = sqlx::query_as(
        "select user_id, max(status), count(*) from finalization_jobs group by user_id order by user_id",
    )
    .fetch_all(&mut database)
    .await
    .expect("the query is good");
    let one = |user: &str| (user.to_owned(), "completed".to_owned(), 1);
    assert_eq!(jobs, [one("silent"), one("spoken"), one("u1")], "one admission each");
}

/// What a device recorded for two minutes without a network comes in one go, within what a client may send. The engine needs a
/// second and a half for each sentence, and none may be given up meanwhile. Pauses are too long for two to be recognized as one.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_without_a_network_is_recognized_whole_when_it_is_sent_at_once() {
    let server = PrivateServer::start();
    let key = server.with_a_person();
    let speech = Transcriber::start().await;
    speech.always(Some(Reply::After(Duration::from_millis(1_500), Box::new(Reply::Heard))));
    let url = speech.base_url();
    let process = Process::serve(&server.url(), &[("LISTEN_SPEECH_BASE_URL", url.as_str())]).await;
    let audio = format!("codec=pcm16&sample_rate={RATE}&conversation_timeout=600");
    let mut socket = open(&process.api, "u1", &key, &audio).await.expect("it opens");
    let sentences = TONES.iter().cycle().take(2 * SPOKEN);
    let recorded: Vec<i16> = sentences.flat_map(|hertz| [tone(*hertz, 4.0), silence(3.0)].concat()).collect();
    for frame in recorded.chunks(RATE / 2) {
        let bytes: Vec<u8> = frame.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        socket.send(Message::binary(bytes)).await.expect("the socket stays open");
    }
    shown(&mut socket, &[tones(), tones()].join(" ")).await;
}

/// Stops the database for a while; `meanwhile` is done before it is back.
async fn outage(server: &PrivateServer, mode: &str, meanwhile: impl AsyncFnOnce()) {
    tokio::task::block_in_place(|| server.down(mode));
    let down = Instant::now();
    meanwhile().await;
    sleep(DOWN.saturating_sub(down.elapsed())).await;
    tokio::task::block_in_place(|| server.up());
    sleep(Duration::from_secs(1)).await;
}

fn line(number: usize) -> Message {
    let start = number as f64;
    let frame = json!({ "type": "suggested_transcript", "segments": [
        { "text": format!("Line {number}."), "start": start, "end": start + 0.5, "is_user": true },
    ] });
    Message::text(frame.to_string())
}

/// Says every line once: what the service has taken it keeps, through the outage.
async fn say_lines(mut socket: Socket) -> Socket {
    for number in 0..LINES {
        socket.send(line(number)).await.expect("the socket stays open");
        sleep(Duration::from_millis(250)).await;
    }
    shown(&mut socket, &format!("Line {}.", LINES - 1)).await;
    socket
}

/// Speaks every tone twice, and is silent for a while.
async fn say_tones(mut socket: Socket) -> Socket {
    let words =
        TONES.iter().cycle().take(SPOKEN).flat_map(|hertz| [tone(*hertz, 1.4), silence(1.0)].concat());
    let all: Vec<i16> = words.chain(silence(2.0)).collect();
    for frame in all.chunks(RATE / 5) {
        let bytes: Vec<u8> = frame.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        socket.send(Message::binary(bytes)).await.expect("the socket stays open");
        sleep(Duration::from_millis(70)).await;
    }
    shown(&mut socket, &tones()).await;
    socket
}

/// What is understood of the tones.
fn tones() -> String {
    let words: Vec<String> = TONES.iter().cycle().take(SPOKEN).map(|hertz| format!("tone{hertz}")).collect();
    words.join(" ")
}

/// Reads until a segment is shown that ends with these words.
async fn shown(socket: &mut Socket, words: &str) {
    let mut last = String::new();
    let seen = async {
        while !last.ends_with(words) {
            let frame = next(socket).await.expect("the socket stays open");
            let mut texts = frame.as_array().into_iter().flatten().filter_map(|one| one["text"].as_str());
            last = texts.next_back().map_or(std::mem::take(&mut last), str::to_owned);
        }
    };
    let in_time = timeout(4 * PATIENCE, seen).await.is_ok();
    assert!(in_time, "at last {last:?} was shown, and not {words:?}");
}

/// Reads until a conversation is completed: its words, as the client is shown them.
async fn created(socket: &mut Socket) -> String {
    let seen = async {
        loop {
            let frame = next(socket).await.expect("the socket stays open");
            if frame["type"] == "memory_created" {
                return frame["memory"]["transcript_segments"].clone();
            }
        }
    };
    let segments: Value = timeout(PATIENCE, seen).await.expect("it is completed in time");
    let texts: Vec<&str> =
        segments.as_array().into_iter().flatten().filter_map(|one| one["text"].as_str()).collect();
    texts.join(" ")
}
