//! A client of a live socket, and the service that it connects to.

use std::{net::SocketAddr, time::Duration};

use api::Settings;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::bench::{Bench, quick};

/// How long a frame may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service that listens on an address of its own.
pub(super) struct Setup {
    pub(super) bench: Bench,
    pub(super) addr: SocketAddr,
}

impl Setup {
    pub(super) async fn new() -> Self {
        Self::with(quick()).await
    }

    pub(super) async fn with(settings: Settings) -> Self {
        let bench = Bench::with(settings).await;
        let addr = serve(bench.app.clone()).await;
        Self { bench, addr }
    }

    /// A socket of Ann's, with these parameters besides her id.
    pub(super) async fn line(&self, parameters: &str) -> LiveClient {
        self.try_connect(&self.bench.key, &format!("uid=ann&{parameters}"), &[]).await.unwrap()
    }

    pub(super) async fn try_connect(
        &self,
        key: &str,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<LiveClient, Error> {
        LiveClient::open(self.addr, &format!("/v4/listen?{query}"), Some(key), headers).await
    }

    /// The status of the answer to a socket that is refused before its upgrade.
    pub(super) async fn refusal(&self, key: &str, query: &str) -> (u16, Value) {
        match self.try_connect(key, query, &[]).await {
            Err(Error::Http(answer)) => {
                let body = answer.body().as_deref().unwrap_or_default();
                (answer.status().as_u16(), serde_json::from_slice(body).unwrap_or_default())
            }
            other => panic!("not refused: {:?}", other.map(drop)),
        }
    }

    pub(super) async fn texts(&self, id: &str) -> Vec<String> {
        let path = format!("/v1/dev/user/conversations/{id}?include_transcript=true");
        let shown = self.bench.get(&path).await.body;
        let segments = shown["transcript_segments"].as_array().unwrap();
        segments.iter().map(|segment| segment["text"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) async fn status_of(&self, id: &str) -> String {
        let shown = self.bench.get(&format!("/v1/dev/user/conversations/{id}")).await.body;
        shown["status"].as_str().unwrap_or("gone").to_owned()
    }

    /// The result of a query for conversations.
    pub(super) async fn count(&self, sql: &'static str) -> i64 {
        let pool = self.bench.database.pool(1).await;
        sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap()
    }

    /// Waits until a query counts so many.
    pub(super) async fn until(&self, many: i64, sql: &'static str) {
        for _ in 0..3_000 {
            if self.count(sql).await >= many {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never {many}: {sql}");
    }

    pub(super) async fn id_in_progress(&self) -> String {
        let pool = self.bench.database.pool(1).await;
        let newest = "select conversation_id from conversations where status = 'in_progress' \
             order by created_at desc limit 1";
        sqlx::query_scalar(newest).fetch_one(&pool).await.unwrap()
    }
}

pub(super) async fn serve(app: axum::Router) -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    // As many as come at once.
    let listener = socket.listen(4_096).unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    addr
}

/// A client's end of a live socket.
#[derive(Debug)]
pub(super) struct LiveClient {
    pub(super) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl LiveClient {
    pub(super) async fn open(
        addr: SocketAddr,
        path: &str,
        key: Option<&str>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Error> {
        let mut request = format!("ws://{addr}{path}").into_client_request().unwrap();
        if let Some(key) = key {
            request.headers_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
        }
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (socket, _) = connect_async(request).await?;
        Ok(Self { socket })
    }

    /// Sends a text that may be invalid JSON. A socket that the service is already closing is no error.
    pub(super) async fn send_text(&mut self, text: String) {
        let _ = self.socket.send(Message::text(text)).await;
    }

    pub(super) async fn send(&mut self, frame: Value) {
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
    }

    pub(super) async fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::binary(bytes)).await.unwrap();
    }

    /// Sends these texts as segments of the client's own recognizer, a second each from `start` on.
    pub(super) async fn say(&mut self, words: &[&str], start: f64) {
        let said = words.iter().zip(0..).map(|(text, number)| {
            let start = start + f64::from(number);
            json!({ "text": text, "start": start, "end": start + 1.0, "is_user": true })
        });
        let segments: Vec<Value> = said.collect();
        self.send(json!({ "type": "suggested_transcript", "segments": segments })).await;
    }

    /// The next frame that is not a ping; `Err` is the close code, 1006 without one.
    pub(super) async fn next(&mut self) -> Result<Value, u16> {
        loop {
            let frame = timeout(PATIENCE, self.socket.next()).await.expect("a frame comes in time");
            match frame {
                Some(Ok(Message::Text(text))) if text.as_str() == "ping" => {}
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(frame.map_or(1005, |frame| frame.code.into())),
                Some(Ok(_)) => {}
                // As a browser says it.
                Some(Err(_)) | None => return Err(1006),
            }
        }
    }

    /// The next frame of that type, and `segments` for an array of them.
    pub(super) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|code| panic!("closed with {code} before {kind}"));
            let is_it = if frame.is_array() { kind == "segments" } else { frame["type"] == kind };
            if is_it {
                return frame;
            }
        }
    }

    /// Waits until the session says that it is ready.
    pub(super) async fn ready(mut self) -> Self {
        while self.until("service_status").await["status"] != "ready" {}
        self
    }

    /// The code with which the service closes the socket.
    pub(super) async fn closed(mut self) -> u16 {
        loop {
            if let Err(code) = self.next().await {
                return code;
            }
        }
    }
}
