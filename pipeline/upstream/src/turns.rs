//! A connection that lets other tasks have their turn. hyper reads the size of a chunk byte by byte, and answers of 1xx one by one,
//! for as long as a server sends them without a pause: such a server would have a thread of the runtime to itself.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How much is read before others have their turn.
const TURN: usize = 16 * 1024;

/// The connection.
pub(crate) struct Turns {
    stream: TcpStream,
    /// How much was read in this turn.
    read: usize,
    /// Whether a proxy at its other end wants to know the whole URL.
    to_proxy: bool,
}

impl Turns {
    pub(crate) fn new(stream: TcpStream, to_proxy: bool) -> Self {
        Self { stream, read: 0, to_proxy }
    }
}

impl Connection for Turns {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.to_proxy)
    }
}

impl AsyncRead for Turns {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= TURN {
            self.read = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = buffer.remaining().min(TURN - self.read);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
        let read = part.filled().len();
        self.read += read;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Turns {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
