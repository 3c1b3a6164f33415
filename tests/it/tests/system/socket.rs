//! A live socket, as a client opens it.

use futures::StreamExt;
use serde_json::Value;
use tokio_tungstenite::tungstenite::{Error, Message, client::IntoClientRequest};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// Opens a socket of the user with that key; `query` is what follows the user's id.
pub(crate) async fn open(base: &str, user: &str, key: &str, query: &str) -> Result<Socket, Error> {
    let base = base.replacen("http", "ws", 1);
    let mut request =
        format!("{base}/v4/listen?uid={user}&{query}").into_client_request().expect("a good URL");
    let bearer = format!("Bearer {key}").parse().expect("a good header");
    request.headers_mut().insert("authorization", bearer);
    connect_async(request).await.map(|(socket, _)| socket)
}

/// The next frame that is JSON; `None` when the socket is closed or lost.
pub(crate) async fn next(
    socket: &mut (impl StreamExt<Item = Result<Message, Error>> + Unpin),
) -> Option<Value> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                if let Ok(frame) = serde_json::from_str(&text) {
                    return Some(frame);
                }
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            _ => return None,
        }
    }
}
