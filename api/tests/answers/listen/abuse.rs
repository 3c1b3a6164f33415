//! Abusive and broken clients: they do not affect other sessions.

use std::{net::SocketAddr, time::Duration};

use api::{LiveSettings, Scope, Settings};
use futures::{SinkExt, future::join_all};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use super::client::{LiveClient, Setup};
use crate::bench::{Bench, quick};

/// Sockets that are opened at the same moment, and the limit of sessions.
const AT_ONCE: usize = 1_000;
const LIMIT: usize = 100;

/// The time limit for what must happen soon.
const SOON: Duration = Duration::from_secs(20);

/// Each socket is two files of this process.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn live_thousand_concurrent_sockets_are_answered_up_to_the_limit() {
    raise_open_files();
    let live = LiveSettings { sessions: LIMIT, sessions_per_user: AT_ONCE, ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut keys = vec![("ann".to_owned(), setup.bench.key.clone())];
    for number in 0..9 {
        let user = format!("user-{number}");
        let key = setup.bench.person(&user, Scope::ALL).await;
        keys.push((user, key));
    }
    let open = |number: usize| {
        let (user, key) = &keys[number % keys.len()];
        let query = format!("uid={user}&custom_stt=enabled&client_device_id=d{number}");
        let setup = &setup;
        async move { setup.try_connect(key, &query, &[]).await }
    };
    // Every socket is answered; a refusal has a retry time, and may come from the busy database.
    let (mut opened, mut tries) = (Vec::new(), 0..AT_ONCE);
    while opened.len() < LIMIT {
        assert!(tries.start < 20 * AT_ONCE, "only {} are open", opened.len());
        for answer in join_all(tries.clone().map(open)).await {
            match answer {
                Ok(line) => opened.push(line),
                Err(Error::Http(answer)) => {
                    assert_eq!(answer.status().as_u16(), 503);
                    assert!(answer.headers().contains_key("retry-after"));
                }
                Err(error) => panic!("a socket is opened or refused: {error}"),
            }
        }
        tries = tries.end..tries.end + 100;
    }
    assert_eq!(opened.len(), LIMIT);
    assert_eq!(open(0).await.map(drop).map_err(|error| matches!(error, Error::Http(_))), Err(true));

    // Each open socket is served.
    let served = opened.into_iter().map(async |line| {
        let mut line = line.ready().await;
        line.say(&["Here."], 0.0).await;
        assert_eq!(line.until("segments").await[0]["text"], "Here.");
        line
    });
    let opened = timeout(SOON, join_all(served)).await.expect("everyone is served");
    assert_eq!(setup.count("select count(*) from transcript_segments").await, LIMIT as i64);
    drop(opened);
    let again = async { while open(AT_ONCE).await.is_err() {} };
    timeout(SOON, again).await.expect("the places are given back");
}

/// A service with small socket buffers, and a client with a small one.
async fn narrow(bench: &Bench, device: &str) -> LiveClient {
    let ours = TcpSocket::new_v4().unwrap();
    ours.set_send_buffer_size(16 * 1_024).unwrap();
    ours.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let (listener, app) = (ours.listen(8).unwrap(), bench.app.clone());
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let theirs = TcpSocket::new_v4().unwrap();
    theirs.set_recv_buffer_size(4 * 1_024).unwrap();
    let stream = theirs.connect(addr).await.unwrap();
    let path = format!("ws://{addr}/v4/listen?uid=ann&custom_stt=enabled&client_device_id={device}");
    let mut request = path.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", bench.key).parse().unwrap());
    let (socket, _) = client_async(request, MaybeTlsStream::Plain(stream)).await.unwrap();
    LiveClient { socket }
}

#[tokio::test]
async fn live_client_that_never_reads_is_closed_and_blocks_no_other() {
    let patience = Duration::from_secs(6);
    let live = LiveSettings { frame_taken_within: patience, ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut silent = narrow(&setup.bench, "a").await;
    let said = |number: u32| {
        let start = f64::from(number);
        let text = format!("{number} {}", "word ".repeat(8_000));
        let segment = json!({ "text": text, "start": start, "end": start + 1.0, "is_user": true });
        Message::text(json!({ "type": "suggested_transcript", "segments": [segment] }).to_string())
    };
    let mut sent: u32 = 0;
    // Much longer than a frame takes, and shorter than the service's patience.
    while let Ok(taken) = timeout(Duration::from_secs(3), silent.socket.send(said(sent))).await {
        taken.expect("the socket is not closed before the service has waited");
        sent += 1;
        assert!(sent < 1_000, "40 MB of words wait for a client that reads nothing");
    }

    let mut line = setup.line("custom_stt=enabled&client_device_id=b").await.ready().await;
    line.say(&["I am served."], 0.0).await;
    assert_eq!(line.until("segments").await[0]["text"], "I am served.");
    let given_up = async {
        while setup.count("select count(*) from conversations where live_process is not null").await > 1 {}
    };
    timeout(SOON, given_up).await.expect("it is closed");
    let stored = "select count(*) from transcript_segments join conversations using (user_id, conversation_id) \
         where client_device_id = 'a'";
    let stored = setup.count(stored).await;
    assert!((1..=i64::from(sent)).contains(&stored), "{stored} of {sent}");
}

/// Frames of one byte, which is no JSON, masked with zeros: they come faster than the service reads them.
#[tokio::test(flavor = "multi_thread")]
async fn live_client_that_sends_without_end_is_closed_when_its_key_is_revoked() {
    let live = LiveSettings { key_checked_every: Duration::from_millis(50), ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let line = setup.line("custom_stt=enabled").await.ready().await;
    let MaybeTlsStream::Plain(stream) = line.socket.into_inner() else { panic!("this is no TLS") };
    let (mut answers, mut frames) = stream.into_split();
    let many = [0x81, 0x81, 0, 0, 0, 0, b'x'].repeat(100_000);
    frames.write_all(&many).await.unwrap();
    let sending = tokio::spawn(async move { while frames.write_all(&many).await.is_ok() {} });
    setup.bench.run("update developer_keys set revoked_at = now()").await;
    let closed = async {
        let mut bytes = vec![0; 4_096];
        while answers.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
    };
    timeout(SOON, closed).await.expect("its key is looked up, however much comes");
    sending.abort();
}

#[tokio::test]
async fn live_oversized_text_frame_ends_only_its_own_socket() {
    let setup = Setup::new().await;
    let mut other = setup.line("custom_stt=enabled&client_device_id=b").await.ready().await;
    for text in [json!({ "x": "w".repeat(10_000_000) }).to_string(), "[".repeat(10_000_000)] {
        let mut line = setup.line("custom_stt=enabled&client_device_id=a").await.ready().await;
        line.send_text(text).await;
        // What is still being sent when the socket is closed may reset it before the close frame is read.
        assert!([1009, 1006].contains(&line.closed().await));
    }
    other.say(&["I am served."], 0.0).await;
    assert_eq!(other.until("segments").await[0]["text"], "I am served.");
}

/// In raw audio every byte is a sample; in Opus, 50 invalid packets in a row end the socket.
#[tokio::test]
async fn live_garbage_in_any_codec_ends_only_its_own_socket() {
    let live = LiveSettings { sessions_per_user: 100, ..LiveSettings::default() };
    let setup = Setup::with(Settings { live, ..quick() }).await;
    let mut chance = StdRng::seed_from_u64(27);
    let mut other = setup.line("client_device_id=other").await.ready().await;
    for codec in ["pcm8", "pcm16", "mulaw", "opus", "opus_fs320"] {
        for channels in [1, 2] {
            let query = format!("codec={codec}&channels={channels}&client_device_id={codec}{channels}");
            let mut line = setup.line(&query).await.ready().await;
            for _ in 0..200 {
                let mut frame = vec![0; chance.random_range(0..300)];
                chance.fill(&mut frame[..]);
                let _ = line.socket.send(Message::binary(frame)).await;
            }
            let said = json!({ "text": "Still here.", "start": 0, "end": 1 });
            line.send_text(json!({ "type": "suggested_transcript", "segments": [said] }).to_string()).await;
            let heard = async {
                loop {
                    match line.next().await {
                        Ok(frame) if frame.is_array() => return Ok(frame[0]["text"].clone()),
                        Ok(_) => {}
                        Err(code) => return Err(code),
                    }
                }
            };
            let may_end = codec.starts_with("opus");
            match timeout(SOON, heard).await.expect("it is heard or closed") {
                Ok(text) => assert_eq!(text, "Still here."),
                Err(code) => assert!(may_end && code == 1003, "{codec}: {code}"),
            }
        }
    }
    other.say(&["I am served."], 0.0).await;
    assert_eq!(other.until("segments").await[0]["text"], "I am served.");
}
