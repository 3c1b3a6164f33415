//! A client's end of a live socket, in the frames of `docs/live.md`.

use anyhow::{Context, bail};
use futures::{SinkExt, StreamExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

use crate::demo::PATIENCE;

/// An open socket.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects to the service at `base` and waits until it is ready.
    pub(super) async fn open(base: &str, key: &SecretString, query: &str) -> anyhow::Result<Self> {
        let address = format!("{}/v4/listen?{query}", base.replacen("http", "ws", 1));
        let mut request = address.into_client_request().context("making the request of the socket")?;
        let bearer = format!("Bearer {}", key.expose_secret());
        let bearer = HeaderValue::from_str(&bearer).context("the key is no header")?;
        request.headers_mut().insert("authorization", bearer);
        let (socket, _) = connect_async(request).await.context("opening the socket")?;
        let mut socket = Self(socket);
        while socket.until("service_status").await?["status"] != "ready" {}
        Ok(socket)
    }

    pub(super) async fn send(&mut self, frame: &Value) -> anyhow::Result<()> {
        self.0.send(Message::text(frame.to_string())).await.context("sending a frame")
    }

    /// The next frame of that type.
    pub(super) async fn until(&mut self, kind: &str) -> anyhow::Result<Value> {
        loop {
            let frame = self.next().await?;
            if frame["type"] == kind {
                return Ok(frame);
            }
        }
    }

    /// Waits until the service shows a segment: then it is stored.
    pub(super) async fn until_shown(&mut self, id: &str) -> anyhow::Result<()> {
        loop {
            let frame = self.next().await?;
            if frame.as_array().into_iter().flatten().any(|segment| segment["id"] == id) {
                return Ok(());
            }
        }
    }

    /// The next frame but pings.
    async fn next(&mut self) -> anyhow::Result<Value> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.context("waiting for a frame")? {
                Some(Ok(Message::Text(text))) if text.as_str() == "ping" => {}
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text).context("reading a frame");
                }
                Some(Ok(Message::Close(frame))) => {
                    bail!("the service closed the socket: {}", frame.map_or(1005, |frame| frame.code.into()))
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("reading the socket"),
                None => bail!("the socket is gone"),
            }
        }
    }
}
