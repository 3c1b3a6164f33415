//! The sending half of a socket: frames in order, from a bounded queue. And how a socket is closed.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use live::CloseCode;
use tokio::{sync::mpsc, task::coop::consume_budget, time::timeout};

use crate::state::Reservation;

/// Frames that are handed over before the session keeps the next ones itself.
const QUEUE: usize = 8;

/// How long what a client still sends is read after the close frame.
pub(super) const REST: Duration = Duration::from_secs(1);

/// The text of a frame, and the memory that it holds until it is sent.
pub(super) type Framed = (String, Option<Reservation>);

/// What is sent.
pub(super) enum Out {
    Text(Framed),
    Close(CloseCode),
}

/// Sends until the queue is closed, the socket is closed, or the client takes no whole frame within `patience`: then the
/// receiver is gone.
pub(super) fn spawn(mut socket: SplitSink<WebSocket, Message>, patience: Duration) -> mpsc::Sender<Out> {
    let (sender, mut frames) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        while let Some(frame) = frames.recv().await {
            let (message, _until_sent, is_last) = match frame {
                Out::Text((text, held)) => (Message::Text(text.into()), held, false),
                Out::Close(code) => {
                    let frame = CloseFrame { code: code.number(), reason: code.as_str().into() };
                    (Message::Close(Some(frame)), None, true)
                }
            };
            let sent = timeout(patience, socket.send(message)).await;
            if is_last || !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    });
    sender
}

/// The next frame, until the socket is being closed.
pub(super) async fn next_frame(
    frames: &mut Option<SplitStream<WebSocket>>,
) -> Option<Result<Message, axum::Error>> {
    match frames {
        Some(frames) => frames.next().await,
        None => std::future::pending().await,
    }
}

/// Reads for a moment what the client still sends once the close frame is sent: a connection that is closed before loses it.
pub(super) async fn hang_up(out: mpsc::Sender<Out>, mut frames: SplitStream<WebSocket>) {
    out.closed().await;
    let rest = async {
        while let Some(Ok(_)) = frames.next().await {
            consume_budget().await;
        }
    };
    let _ = timeout(REST, rest).await;
}
