//! How a connection ends whose request was answered before its body was read, and how a WebSocket ends.
//!
//! Where a connection is closed while a client still sends, the system resets it, and the client's own system throws away the
//! answer that had come: many clients (Python's and Node's among them) then report a broken pipe, and never the 401, 413 or 503,
//! or the close code. So what is still sent is read for a while and thrown away.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    sync::oneshot::{self, Receiver, Sender},
    time::timeout,
};

/// How long a client may go on sending after its answer.
pub(crate) const LINGERING: Duration = Duration::from_secs(5);

/// Whether a client may still be sending when its connection ends: its last request was answered before its body was read, or the
/// connection was upgraded.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    /// Follows the body of the next request.
    pub(crate) fn follow(&self, body: Incoming) -> Followed {
        self.0.store(false, Ordering::Relaxed);
        Followed { body, is_read: false, unread: self.clone() }
    }

    /// The connection is upgraded, and has no more requests.
    pub(crate) fn upgraded(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The body of a request.
pub(crate) struct Followed {
    body: Incoming,
    /// To its end, or until the client broke it off.
    is_read: bool,
    unread: Unread,
}

impl Body for Followed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.is_read = !matches!(frame, Some(Ok(_)));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if !self.is_read && !self.body.is_end_stream() {
            self.unread.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A connection that is handed over instead of being dropped, if its client may still be sending.
pub(crate) struct Lingering<I> {
    stream: Option<I>,
    unread: Unread,
    handover: Option<Sender<I>>,
}

impl<I> Lingering<I> {
    pub(crate) fn new(stream: I, unread: Unread) -> (Self, Receiver<I>) {
        let (handover, left) = oneshot::channel();
        (Self { stream: Some(stream), unread, handover: Some(handover) }, left)
    }
}

impl<I> Drop for Lingering<I> {
    fn drop(&mut self) {
        let is_unread = self.unread.0.load(Ordering::Relaxed);
        if let (true, Some(handover), Some(stream)) = (is_unread, self.handover.take(), self.stream.take()) {
            // If the receiver is gone, the stream is closed.
            let _ = handover.send(stream);
        }
    }
}

/// Reads what a client still sends, until it stops or has had its time.
pub(crate) async fn linger<I: AsyncRead + AsyncWrite + Unpin>(mut stream: I) {
    // Clients of WebSockets wait for the end of the connection.
    let _ = stream.shutdown().await;
    let mut discarded = tokio::io::sink();
    let _ = timeout(LINGERING, tokio::io::copy(&mut stream, &mut discarded)).await;
}

impl<I: Unpin> Lingering<I> {
    fn stream(self: Pin<&mut Self>) -> io::Result<Pin<&mut I>> {
        let stream = self.get_mut().stream.as_mut();
        stream.map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Lingering<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, into)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Lingering<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}
