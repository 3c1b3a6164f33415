//! Clients that send transcripts through live sockets. They repeat unconfirmed lines on any running process, and end a
//! conversation by silence, by a request, or by disconnecting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

use crate::journal::{Answer, Spoken};
use crate::people::Person;
use crate::world::World;

/// Seconds of silence that end a conversation.
const SILENCE: u64 = 3;
/// How long a client waits for a socket to open, and for its lines to be confirmed, before it opens another one.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client insists on what was not confirmed when the run is over.
const INSISTS: Duration = Duration::from_secs(90);
/// A run that is long enough to leave conversations to the reconciler.
const LONG: Duration = Duration::from_secs(60);
/// Lines that a client says before it waits for them to be confirmed.
const AHEAD: usize = 4;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Speaks until the run is over and everything that was said is confirmed.
pub(crate) async fn speak(world: Arc<World>, index: usize, stop: CancellationToken) {
    let chance = StdRng::seed_from_u64(world.plan.seed.wrapping_mul(3_000).wrapping_add(index as u64));
    let person = world.speakers[index].clone();
    let mut speaker = Speaker {
        world,
        person,
        chance,
        socket: None,
        open: VecDeque::new(),
        said: 0,
        begun: Instant::now(),
    };
    while !stop.is_cancelled() {
        speaker.act().await;
        let rest = Duration::from_millis(speaker.chance.random_range(50..400));
        let _woken = timeout(rest, stop.cancelled()).await;
    }
    let begun = Instant::now();
    while !speaker.open.is_empty() && begun.elapsed() < INSISTS {
        speaker.confirm().await;
    }
    // What is left is ended by the reconciler, which a short run does not wait for.
    if speaker.world.plan.length < LONG || speaker.chance.random_bool(0.5) {
        speaker.end().await;
    }
    while let Some(line) = speaker.open.pop_front() {
        speaker.note(line);
    }
}

struct Speaker {
    world: Arc<World>,
    person: Person,
    chance: StdRng,
    socket: Option<Socket>,
    /// Lines that are not confirmed, in their order.
    open: VecDeque<Spoken>,
    said: i64,
    begun: Instant,
}

impl Speaker {
    async fn act(&mut self) {
        match self.chance.random_range(0..100) {
            0..60 => self.say().await,
            60..84 => self.confirm().await,
            84..90 => self.end().await,
            90..94 => {
                self.confirm().await;
                sleep(Duration::from_secs(SILENCE + 1)).await;
            }
            94..97 => self.leave(true).await,
            _ => self.leave(false).await,
        }
    }

    /// Says one line more.
    async fn say(&mut self) {
        if self.open.len() >= AHEAD {
            return self.confirm().await;
        }
        self.said += 1;
        let word = format!("zq{:06}-of-a-speaker", super::next_number());
        let line =
            Spoken { user: self.person.id.clone(), word, number: self.said, sends: 0, confirmed: false };
        self.open.push_back(line);
        match self.socket.take() {
            Some(socket) => self.send(socket, self.open.len() - 1).await,
            None => self.connect().await,
        }
    }

    /// Opens a socket at one of the processes, and says again what was not confirmed.
    async fn connect(&mut self) {
        let addresses = self.world.fleet.addresses();
        if addresses.is_empty() {
            return sleep(Duration::from_millis(100)).await;
        }
        let base = addresses[self.chance.random_range(0..addresses.len())].api.replacen("http", "ws", 1);
        let query = format!("custom_stt=enabled&conversation_timeout={SILENCE}&client_device_id=kit");
        let url = format!("{base}/v4/listen?uid={}&{query}", self.person.id);
        let mut request = url.into_client_request().expect("a good URL");
        let bearer = format!("Bearer {}", self.person.key).parse().expect("a good header");
        request.headers_mut().insert("authorization", bearer);
        match timeout(PATIENCE, connect_async(request)).await {
            Ok(Ok((socket, _))) => self.send(socket, 0).await,
            _ => sleep(Duration::from_millis(self.chance.random_range(50..250))).await,
        }
    }

    /// Sends the open lines from that one on; the socket is kept if it takes them.
    async fn send(&mut self, mut socket: Socket, from: usize) {
        let said = self.begun.elapsed().as_secs_f64();
        for line in self.open.iter_mut().skip(from) {
            line.sends += 1;
            let text = format!("I will order {} by Friday.", line.word);
            let frame = json!({ "type": "suggested_transcript", "segments": [
                { "id": line.word, "text": text, "start": said, "end": said, "is_user": true },
            ] });
            let sent = timeout(PATIENCE, socket.send(Message::text(frame.to_string()))).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
        self.socket = Some(socket);
    }

    /// Waits until everything is confirmed; without success the socket is given up.
    async fn confirm(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let Some(mut socket) = self.socket.take() else { return self.connect().await };
        let until = Instant::now() + PATIENCE;
        while !self.open.is_empty() {
            let wait = until.saturating_duration_since(Instant::now());
            let Ok(Some(Ok(message))) = timeout(wait, socket.next()).await else { return };
            if let Message::Text(text) = message {
                let shown: Value = serde_json::from_str(&text).unwrap_or_default();
                shown.as_array().into_iter().flatten().for_each(|segment| self.confirmed(&segment["id"]));
            }
        }
        self.socket = Some(socket);
    }

    fn confirmed(&mut self, id: &Value) {
        if let Some(index) = self.open.iter().position(|line| id == line.word.as_str())
            && let Some(line) = self.open.remove(index)
        {
            self.note(Spoken { confirmed: true, ..line });
        }
    }

    fn note(&self, line: Spoken) {
        self.world.journal.spoken.note(line);
    }

    /// Ends the conversation by a request, to whichever process is there.
    async fn end(&mut self) {
        let addresses = self.world.fleet.addresses();
        let Some(address) = addresses.get(self.chance.random_range(0..addresses.len().max(1))) else {
            return;
        };
        let sent = self.world.journal.now();
        let url = format!("{}/v1/conversations", address.api);
        let client = &self.world.client;
        let (status, ended) = client.ask(Method::POST, &url, &self.person.key, Some(&json!({}))).await;
        if status == 500 {
            self.world
                .journal
                .breaches
                .note(format!("{} answered 500 to the end of a conversation", address.name));
        }
        self.world.journal.answers.note(Answer {
            sent,
            at: self.world.journal.now(),
            user: self.person.id.clone(),
            conversation: ended["conversation"]["id"].as_str().unwrap_or_default().to_owned(),
            verb: "end",
            status,
            word: String::new(),
            process: address.name.clone(),
        });
    }

    /// Leaves the socket, with or without a close frame, and stays for a while.
    async fn leave(&mut self, politely: bool) {
        if let Some(mut socket) = self.socket.take()
            && politely
        {
            let _either_way = timeout(PATIENCE, socket.close(None)).await;
        }
        sleep(Duration::from_millis(self.chance.random_range(0..2_000 * SILENCE))).await;
    }
}
