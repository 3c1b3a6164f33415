//! The sending half of a socket: frames in order, from a bounded queue.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::{SinkExt, stream::SplitSink};
use live::CloseCode;
use tokio::{sync::mpsc, time::timeout};

use crate::state::Reservation;

/// Frames that are handed over before the session keeps the next ones itself.
const QUEUE: usize = 8;

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
