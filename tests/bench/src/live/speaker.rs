//! One live session, as a client has it.

use std::time::{Duration, Instant};

use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{
    SILENCE,
    engine::{SpeechEngine, last_word},
    sound::Sound,
};

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A user with a key.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) id: String,
    pub(super) key: String,
}

/// What a session saw, in milliseconds.
#[derive(Default)]
pub(super) struct Received {
    /// From the last frame with voice to the segment.
    pub(super) since_voice: Vec<f64>,
    /// From the engine's answer to the segment.
    pub(super) beyond_engine: Vec<f64>,
    /// From the end of the silence that ends the conversation until it is processing.
    pub(super) processing: Option<f64>,
}

/// Opens a session.
pub(super) async fn open(api: &str, person: &Person, query: &str) -> Socket {
    let base = api.replacen("http", "ws", 1);
    let timeout = SILENCE.as_secs();
    let url = format!("{base}/v4/listen?uid={}&conversation_timeout={timeout}&{query}", person.id);
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", person.key).parse().unwrap());
    connect_async(request).await.expect("a session opens").0
}

/// Speaks from frame `first` of the cycle on until `until`, and is silent until the conversation is processing.
pub(super) async fn speak(
    mut socket: Socket,
    sound: &Sound,
    first: usize,
    until: Instant,
    engine: &SpeechEngine,
) -> Received {
    let mut heard = Received::default();
    let (mut frame, mut voiced, mut last) = (first, None, None);
    let mut clock = interval(sound.every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
    // To the end of the cycle: the last word is final then.
    while Instant::now() < until || !frame.is_multiple_of(sound.frames.len()) {
        tokio::select! {
            _ = clock.tick() => {
                let number = frame % sound.frames.len();
                socket.send(Message::binary(sound.frames[number].clone())).await.expect("the session stays open");
                if sound.ends_with(number) {
                    voiced = Some(Instant::now());
                }
                frame += 1;
            }
            message = socket.next() => see(message, engine, voiced, &mut last, &mut heard),
        }
    }
    let rest = async {
        loop {
            let message = socket.next().await;
            if matches!(&message, Some(Ok(Message::Text(text))) if text.contains("memory_processing_started"))
            {
                return;
            }
            see(message, engine, voiced, &mut last, &mut heard);
        }
    };
    let is_processing = timeout(SILENCE + Duration::from_secs(20), rest).await.is_ok();
    if let Some(answered) = last.and_then(|word| engine.answered(word)).filter(|_| is_processing) {
        heard.processing = Some(ms(answered.elapsed()) - ms(SILENCE));
    }
    heard
}

type Read = Option<Result<Message, tokio_tungstenite::tungstenite::Error>>;

/// Takes the time of a segment with a new word.
fn see(
    message: Read,
    engine: &SpeechEngine,
    voiced: Option<Instant>,
    last: &mut Option<usize>,
    heard: &mut Received,
) {
    let message = message.expect("the session stays open").expect("the session stays open");
    let Message::Text(text) = message else { return };
    let Ok(Value::Array(segments)) = serde_json::from_str(&text) else { return };
    let words = segments.iter().filter_map(|segment| last_word(segment["text"].as_str()?));
    let Some(word) = words.max().filter(|word| Some(*word) > *last) else { return };
    *last = Some(word);
    heard.since_voice.extend(voiced.map(|voiced| ms(voiced.elapsed())));
    heard.beyond_engine.extend(engine.answered(word).map(|answered| ms(answered.elapsed())));
}

pub(super) fn ms(taken: Duration) -> f64 {
    taken.as_secs_f64() * 1e3
}
