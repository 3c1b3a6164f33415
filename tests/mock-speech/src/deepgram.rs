//! Deepgram's live socket (`/v1/listen`).

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use crate::tones::{RATE, hertz};

/// A word is what is heard in this many samples: half a second.
const WORD: usize = RATE / 2;

/// How one connection behaves. The default is a good one: interim results at once, final ones every two words.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Refuses the connection with this status.
    pub refuse: Option<u16>,
    /// Final results after so many words; `None`: never, whatever is asked.
    pub final_every: Option<usize>,
    /// Closes with this code after so many words.
    pub close_after: Option<(usize, u16)>,
    /// The final result behind so many words ends in the middle.
    pub cut_after: Option<usize>,
    /// Says `Error` after so many words.
    pub error_after: Option<usize>,
    /// Sends every final result twice.
    pub twice: bool,
    /// Sends final results in pairs, the later one first.
    pub swapped: bool,
    /// Hears nothing.
    pub empty: bool,
    /// Reads nothing.
    pub deaf: bool,
    /// Waits before every result.
    pub slow: Duration,
    /// Never answers `Finalize` when there is nothing left to say, as the real one.
    pub silent_finalize: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            refuse: None,
            final_every: Some(2),
            close_after: None,
            cut_after: None,
            error_after: None,
            twice: false,
            swapped: false,
            empty: false,
            deaf: false,
            slow: Duration::ZERO,
            silent_finalize: true,
        }
    }
}

/// A connection that was made.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Path and query.
    pub target: String,
    /// The header of that name.
    pub authorization: String,
    /// Text frames, by their type.
    pub texts: Vec<String>,
    /// Samples received.
    pub samples: usize,
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Manner>>,
    always: Mutex<Manner>,
    connections: Mutex<Vec<Connection>>,
}

/// A running server; it ends with this value.
pub struct Deepgram {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Deepgram {
    /// Starts a server.
    pub async fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let theirs = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&theirs)));
            }
        });
        Self { address, shared, task }
    }

    /// For `LISTEN_DEEPGRAM_BASE_URL`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// How the next connections behave, in order.
    pub fn script(&self, manners: impl IntoIterator<Item = Manner>) {
        self.shared.script.lock().extend(manners);
    }

    /// How all connections behave behind the script.
    pub fn always(&self, manner: Manner) {
        *self.shared.always.lock() = manner;
    }

    /// The connections so far.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.connections.lock().clone()
    }
}

impl Drop for Deepgram {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[expect(clippy::result_large_err, reason = "the library's own type")]
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Small frames come at once.
    let _ = stream.set_nodelay(true);
    let manner = shared.script.lock().pop_front().unwrap_or_else(|| shared.always.lock().clone());
    let mut connection = Connection::default();
    let check = |request: &Request, response: Response| {
        let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        connection.target = request.uri().to_string();
        connection.authorization = header.unwrap_or_default().to_owned();
        let Some(status) = manner.refuse else { return Ok(response) };
        let mut refusal = ErrorResponse::new(Some("a secret of the provider".to_owned()));
        *refusal.status_mut() = status.try_into().expect("a status");
        Err(refusal)
    };
    let Ok(socket) = accept_hdr_async(stream, check).await else { return };
    let number = {
        let mut connections = shared.connections.lock();
        connections.push(connection.clone());
        connections.len() - 1
    };
    let channels = if connection.target.contains("channels=2") { 2 } else { 1 };
    let stream = Stream {
        socket,
        manner,
        shared,
        number,
        channels,
        heard: vec![Vec::new(); channels],
        settled: 0,
        words: 0,
        held: None,
    };
    stream.serve().await;
}

/// One connection.
struct Stream {
    socket: WebSocketStream<TcpStream>,
    manner: Manner,
    shared: Arc<Shared>,
    number: usize,
    channels: usize,
    /// Per channel, what was heard.
    heard: Vec<Vec<i16>>,
    /// Samples that are final.
    settled: usize,
    words: usize,
    /// A final result that waits for its neighbour.
    held: Option<Value>,
}

impl Stream {
    async fn serve(mut self) {
        while !self.manner.deaf
            && let Some(Ok(message)) = self.socket.next().await
        {
            let goes_on = match message {
                Message::Binary(bytes) => self.hear(&bytes).await,
                Message::Text(text) => self.obey(&text).await,
                Message::Close(_) => false,
                _ => true,
            };
            if !goes_on {
                return;
            }
        }
        // Deaf: it holds the connection and does nothing.
        if self.manner.deaf {
            sleep(Duration::from_secs(3_600)).await;
        }
    }

    async fn hear(&mut self, bytes: &[u8]) -> bool {
        let samples: Vec<i16> =
            bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
        self.shared.connections.lock()[self.number].samples += samples.len() / self.channels;
        for (channel, heard) in self.heard.iter_mut().enumerate() {
            heard.extend(samples.iter().skip(channel).step_by(self.channels));
        }
        while self.heard[0].len() - self.settled.max(self.words * WORD) >= WORD {
            self.words += 1;
            if let Some((_, code)) = self.manner.close_after.filter(|(words, _)| self.words >= *words) {
                let frame = CloseFrame { code: code.into(), reason: "NET-0001".into() };
                let _ = self.socket.close(Some(frame)).await;
                return false;
            }
            if self.manner.error_after.is_some_and(|words| self.words >= words) {
                return self.say(json!({"type": "Error", "description": "a secret of the provider"})).await;
            }
            let until = self.words * WORD;
            let is_final = self.manner.final_every.is_some_and(|every| self.words.is_multiple_of(every));
            if until > self.settled && !self.results(until, is_final, false).await {
                return false;
            }
        }
        true
    }

    async fn obey(&mut self, text: &str) -> bool {
        let kind =
            serde_json::from_str::<Value>(text).expect("JSON")["type"].as_str().expect("a type").to_owned();
        self.shared.connections.lock()[self.number].texts.push(kind.clone());
        let until = self.heard[0].len();
        match kind.as_str() {
            "Finalize" if self.manner.final_every.is_some() => {
                let nothing = until == self.settled && self.manner.silent_finalize;
                nothing || self.results(until, true, true).await
            }
            "CloseStream" if self.manner.final_every.is_some() => {
                if until > self.settled && !self.results(until, true, false).await {
                    return false;
                }
                if let Some(held) = self.held.take() {
                    self.say(held).await;
                }
                self.say(json!({"type": "Metadata", "duration": 1.0})).await;
                let _ = self.socket.close(None).await;
                false
            }
            _ => true,
        }
    }

    /// Results about what is not final yet, for each channel.
    async fn results(&mut self, until: usize, is_final: bool, from_finalize: bool) -> bool {
        sleep(self.manner.slow).await;
        for channel in 0..self.channels {
            let result = self.result(channel, until, is_final, from_finalize);
            if is_final && self.manner.cut_after.is_some_and(|words| self.words >= words) {
                let text = result.to_string();
                let _ = self.socket.send(Message::text(&text[..text.len() / 2])).await;
                continue;
            }
            if is_final && self.manner.swapped {
                match self.held.take() {
                    None => self.held = Some(result),
                    Some(earlier) => {
                        if !(self.say(result).await && self.say(earlier).await) {
                            return false;
                        }
                    }
                }
                continue;
            }
            let times = if is_final && self.manner.twice { 2 } else { 1 };
            for _ in 0..times {
                if !self.say(result.clone()).await {
                    return false;
                }
            }
        }
        if is_final {
            self.settled = until;
        }
        true
    }

    fn result(&self, channel: usize, until: usize, is_final: bool, from_finalize: bool) -> Value {
        let heard = &self.heard[channel][self.settled..until];
        let word = |(number, samples): (usize, &[i16])| {
            let start = self.settled + number * WORD;
            let text = format!("tone{}", hertz(samples)?);
            Some(json!({"word": text, "punctuated_word": text, "confidence": 0.9, "speaker": 0,
                "start": seconds(start), "end": seconds(start + samples.len())}))
        };
        let words: Vec<Value> = heard.chunks(WORD).enumerate().filter_map(word).collect();
        let words = if self.manner.empty { Vec::new() } else { words };
        let text: Vec<&str> = words.iter().filter_map(|word| word["word"].as_str()).collect();
        json!({"type": "Results", "channel_index": [channel, self.channels], "start": seconds(self.settled),
            "duration": seconds(until - self.settled), "is_final": is_final, "speech_final": false,
            "from_finalize": from_finalize,
            "channel": {"alternatives": [{"transcript": text.join(" "), "confidence": 0.9, "words": words}]}})
    }

    async fn say(&mut self, message: Value) -> bool {
        self.socket.send(Message::text(message.to_string())).await.is_ok()
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of audio")]
fn seconds(samples: usize) -> f64 {
    samples as f64 / RATE as f64
}
