//! A live conversation: a client sends transcripts over the socket, the process behind the socket is killed, and the
//! client goes on in another process. Silence ends it.

mod socket;

use std::time::Duration;

use anyhow::{Context, bail};
use operations::{JobFilter, Operations};
use records::UserId;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use self::socket::Socket;
use super::{
    PATIENCE,
    child::ChildProcess,
    client::Client,
    report::{LiveTalk, doubled},
    samples,
    screen::Screen,
};
use crate::{embedded::Private, process::new_id, wiring::App};

/// Seconds of silence that end the conversation.
const SILENCE: u64 = 3;
/// Seconds between what is said.
const APART: Duration = Duration::from_millis(250);
/// So many lines are said and confirmed before the process is killed; the next one is on its way.
const CONFIRMED: usize = 3;

/// Speaks a conversation, kills the process that listens, and goes on in this one.
pub(super) async fn speak(
    private: &Private,
    app: &App,
    client: &Client,
    screen: &Screen,
) -> anyhow::Result<LiveTalk> {
    let lines = samples::spoken();
    // The client's own id of its conversation: under it, another process finds it.
    let id = new_id().to_string();
    let mut api = ChildProcess::start(private, "api", &[])?;
    let process = api.number;
    let listens = |logged: &Value| {
        let listens = logged["message"] == "listening";
        listens.then(|| logged["api"].as_str().map(|address| format!("http://{address}"))).flatten()
    };
    let address = api.logged(listens).await?;
    screen.speaks(process, SILENCE);
    let mut socket = Socket::open(&address, client.key(), &query(&id)).await?;
    for (number, (_, text)) in lines.iter().enumerate().take(CONFIRMED) {
        socket.send(&frame(lines, number)).await?;
        socket.until_shown(&segment_id(number)).await?;
        screen.shown(text);
    }
    // Stored or not: the client cannot know, and says it again.
    socket.send(&frame(lines, CONFIRMED)).await?;
    api.kill().await?;
    screen.socket_lost(process);

    let mut socket = Socket::open(client.base(), client.key(), &query(&id)).await?;
    screen.reconnected(std::process::id());
    let mut silent_since = Instant::now();
    for (number, (_, text)) in lines.iter().enumerate().skip(CONFIRMED) {
        socket.send(&frame(lines, number)).await?;
        silent_since = Instant::now();
        socket.until_shown(&segment_id(number)).await?;
        screen.shown(text);
        sleep(APART).await;
    }
    screen.falls_silent(SILENCE);
    let ended = timeout(PATIENCE, socket.until("memory_processing_started"));
    let ended = ended.await.context("waiting for the silence to end the conversation")??;
    let silence = silent_since.elapsed();
    let made =
        timeout(PATIENCE, socket.until("memory_created")).await.context("waiting for the conversation")??;
    if ended["memory"]["id"] != id.as_str() {
        bail!("another conversation was ended");
    }
    let stored = client.transcript(&id).await?;
    let said: Vec<&str> = lines.iter().map(|(_, text)| *text).collect();
    let poll = client.wait(&id, PATIENCE).await?;
    Ok(LiveTalk {
        title: made["memory"]["structured"]["title"].as_str().unwrap_or_default().to_owned(),
        emoji: made["memory"]["structured"]["emoji"].as_str().unwrap_or_default().to_owned(),
        killed_process: process,
        timeout_seconds: SILENCE,
        ended_after_milliseconds: silence.as_secs_f64() * 1e3,
        status: poll["status"].as_str().unwrap_or_default().to_owned(),
        said: said.len(),
        missing: said.iter().filter(|text| !stored.iter().any(|stored| stored == *text)).count(),
        doubled: doubled(stored.clone()),
        in_order: stored == said,
        jobs: jobs_of(app, &id).await?,
    })
}

fn query(id: &str) -> String {
    format!("uid=demo&custom_stt=enabled&conversation_timeout={SILENCE}&client_conversation_id={id}")
}

fn segment_id(number: usize) -> String {
    format!("line-{number}")
}

/// The frame of one line, as a client's own recognizer would send it.
fn frame(lines: &[samples::Line], number: usize) -> Value {
    let start = number as f64 * 4.0;
    let segments: Vec<Value> = lines.iter().skip(number).take(1).map(|(is_user, text)| json!({
        "id": segment_id(number), "text": text, "start": start, "end": start + 3.5, "is_user": is_user,
        "speaker": if *is_user { "SPEAKER_00" } else { "SPEAKER_01" },
    })).collect();
    json!({ "type": "suggested_transcript", "segments": segments, "stt_provider": "demo" })
}

/// How many jobs the conversation has had.
async fn jobs_of(app: &App, id: &str) -> anyhow::Result<usize> {
    let filter = JobFilter { user: Some(UserId::new("demo")), limit: 1_000, ..JobFilter::default() };
    let page = Operations::new(app.shards.first()).jobs_page(&filter).await?;
    Ok(page.jobs.iter().filter(|view| view.conversation_id.as_str() == id).count())
}
