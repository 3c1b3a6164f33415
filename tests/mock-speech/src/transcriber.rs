//! A server with `/v1/audio/transcriptions`.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use futures::stream;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::tones::hertz;

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Says what it heard.
    Heard,
    /// Says this.
    Text(String),
    /// 200 with this body, JSON or not.
    Body(String),
    /// This status, with this `Retry-After` and this body.
    Status(u16, Option<u32>, String),
    /// Ends the connection in the middle of the answer.
    HangUp,
    /// Waits, then does the other.
    After(Duration, Box<Self>),
    /// Waits for [`Transcriber::release`], then says what it heard.
    Held,
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The form's text fields.
    pub fields: BTreeMap<String, String>,
    /// The file's samples.
    pub samples: Vec<i16>,
    /// The file's first bytes.
    pub header: Vec<u8>,
    /// The header of that name.
    pub authorization: Option<String>,
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Reply>>,
    always: Mutex<Option<Reply>>,
    requests: Mutex<Vec<Request>>,
    /// Requests under way, and the most at a time.
    busy: Mutex<(usize, usize)>,
    released: Notify,
}

/// A running server; it ends with this value.
pub struct Transcriber {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Transcriber {
    /// Starts a server that says what it hears.
    pub async fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let router = Router::new()
            .route("/v1/audio/transcriptions", post(transcribe))
            .layer(DefaultBodyLimit::max(8 * 1024 * 1024))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, shared, task }
    }

    /// For `LISTEN_SPEECH_BASE_URL`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What is done with the next requests, in order.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.script.lock().extend(replies);
    }

    /// What is done with all requests behind the script; `None`: it says what it hears.
    pub fn always(&self, reply: Option<Reply>) {
        *self.shared.always.lock() = reply;
    }

    /// Lets one request go on that is held; at once, or when it comes.
    pub fn release(&self) {
        self.shared.released.notify_one();
    }

    /// What was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().clone()
    }

    /// The most requests at a time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.busy.lock().1
    }
}

impl Drop for Transcriber {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One request more, for as long as it lives.
struct Busy(Arc<Shared>);

impl Busy {
    fn new(shared: &Arc<Shared>) -> Self {
        let mut busy = shared.busy.lock();
        busy.0 += 1;
        busy.1 = busy.1.max(busy.0);
        Self(Arc::clone(shared))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.lock().0 -= 1;
    }
}

async fn transcribe(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let _busy = Busy::new(&shared);
    let Some(request) = read(&headers, &body) else {
        return answer(400, r#"{"error": {"message": "not a form with a file"}}"#);
    };
    let said = hertz(&request.samples).map_or_else(String::new, |hertz| format!("tone{hertz}"));
    shared.requests.lock().push(request);
    let scripted = shared.script.lock().pop_front();
    let mut reply = scripted.or_else(|| shared.always.lock().clone()).unwrap_or(Reply::Heard);
    while let Reply::After(wait, next) = reply {
        sleep(wait).await;
        reply = *next;
    }
    match reply {
        Reply::Heard => answer(200, &json!({"text": said}).to_string()),
        Reply::Held => {
            shared.released.notified().await;
            answer(200, &json!({"text": said}).to_string())
        }
        Reply::Text(text) => answer(200, &json!({"text": text}).to_string()),
        Reply::Body(body) => answer(200, &body),
        Reply::Status(status, retry_after, body) => {
            let mut response = answer(status, &body);
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", seconds.into());
            }
            response
        }
        Reply::HangUp | Reply::After(..) => {
            let part = Ok::<_, std::io::Error>(Bytes::from_static(b"{\"text\": \"half a"));
            let end = Err(std::io::Error::other("hung up"));
            Response::new(Body::from_stream(stream::iter([part, end])))
        }
    }
}

fn answer(status: u16, body: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// A form with text fields and one WAV file.
fn read(headers: &HeaderMap, body: &[u8]) -> Option<Request> {
    let kind = headers.get("content-type")?.to_str().ok()?;
    let boundary = format!("--{}", kind.split_once("boundary=")?.1);
    let (mut fields, mut file) = (BTreeMap::new(), None);
    for part in split(body, boundary.as_bytes()).into_iter().skip(1) {
        let Some(end) = find(part, b"\r\n\r\n") else { continue };
        let (head, content) = (String::from_utf8_lossy(part.get(..end)?), part.get(end + 4..part.len() - 2)?);
        let name = head.split_once("name=\"")?.1.split_once('"')?.0.to_owned();
        if head.contains("filename=") {
            file = Some(content.to_vec());
        } else {
            fields.insert(name, String::from_utf8_lossy(content).into_owned());
        }
    }
    let file = file?;
    let header = file.get(..44)?.to_vec();
    let samples =
        file.get(44..)?.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    Some(Request { fields, samples, header, authorization })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn split<'a>(mut bytes: &'a [u8], by: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = find(bytes, by) {
        parts.push(&bytes[..at]);
        bytes = &bytes[at + by.len()..];
    }
    parts.push(bytes);
    parts
}
