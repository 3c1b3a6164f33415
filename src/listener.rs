//! Connections: how they are accepted, how long a client may keep one to itself, and how they end.
//!
//! `axum::serve` would be all that is needed, if it had a deadline for a request's head.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::ConnectInfo,
    response::IntoResponse,
};
use http_body_util::BodyExt;
use hyper::{
    Request, StatusCode, Version, body::Incoming, header::HOST, http::uri::Authority, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::oneshot::error::TryRecvError,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use crate::{
    connections::{Busy, Connection, Connections},
    lingering::{Lingering, Unread, linger},
};

/// How long a client may take for the head of its first request.
const FIRST_HEAD: Duration = Duration::from_secs(10);

/// How long a client may take for the head of each further request, the rest between two requests included. Longer than the minute after
/// which proxies give up a connection that rests, so that none sends its next request into one that is being closed.
const HEAD: Duration = Duration::from_secs(75);

/// How long a client may take none of its answer: what is not taken is kept for it in memory.
const TAKING: Duration = Duration::from_secs(30);

/// How much of a request that is being read, or of an answer that is being sent, a connection keeps in buffers of its own. A
/// head is no longer than this.
const BUFFER: usize = 64 * 1_024;

/// How long nothing is accepted once the process has no file left for a connection.
const BREATHER: Duration = Duration::from_secs(1);

/// Serves `router` until `stop`, with as many connections as there is room for; then nothing is accepted any more, and every connection ends with the request it is at.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    connections: Connections,
    stop: CancellationToken,
) {
    let talks = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, client)) => {
                let Some(connection) = connections.admit(client.ip()) else { continue };
                let talk = talk(stream, client, router.clone(), connection.clone(), stop.clone());
                talks.spawn(until_closed(talk, connection));
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::error!(%error, "a connection was not accepted");
                tokio::time::sleep(BREATHER).await;
            }
        }
    }
    drop(listener);
    talks.close();
    talks.wait().await;
}

/// Goes on until the connection ends by itself, has not asked in time, or another one takes its place.
async fn until_closed(talk: impl Future, connection: Connection) {
    let silent = async {
        tokio::time::sleep(FIRST_HEAD).await;
        if connection.has_asked() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = talk => {}
        () = silent => {}
        () = connection.displaced() => {}
    }
}

/// One connection, from its first request to its last, which is the one under way when `stop` is cancelled. A live socket
/// goes on after its upgrade: it is then no longer one of these connections.
async fn talk<I>(
    stream: I,
    client: SocketAddr,
    router: Router,
    connection: Connection,
    stop: CancellationToken,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let unread = Unread::default();
    let (stream, mut left) = Lingering::new(stream, unread.clone());
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(TAKING));
    let io = TokioIo::new(Box::pin(stream));
    let others = connection.others();
    let answer = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        let busy = connection.begin_request();
        let unread = unread.clone();
        let request = request.map(|body| unread.follow(body));
        async move {
            let busy = busy.ok_or(io::ErrorKind::ConnectionAborted)?;
            let answer = match names_its_host(&request) {
                false => StatusCode::BAD_REQUEST.into_response(),
                true => {
                    let mut request = request.map(Body::new);
                    request.extensions_mut().insert(ConnectInfo(client));
                    router.oneshot(request).await.unwrap_or_else(|never| match never {})
                }
            };
            if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                unread.upgraded();
            }
            let busy = Arc::new(busy);
            let until_sent = move |body: Body| {
                body.map_frame(move |frame| {
                    let busy = Arc::clone(&busy);
                    frame.map_data(|bytes| Bytes::from_owner(UntilSent { bytes, _busy: busy }))
                })
            };
            Ok::<_, io::Error>(answer.map(until_sent))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
    {
        let mut talk = pin!(http.serve_connection(io, answer).with_upgrades());
        // A client that hangs up, is late or speaks something else is no matter of ours.
        tokio::select! {
            _ = talk.as_mut() => {}
            () = stop.cancelled() => {
                talk.as_mut().graceful_shutdown();
                let _ = talk.await;
            }
        }
    }
    match left.try_recv() {
        Ok(stream) => {
            // A process that stops waits for no one's refused body.
            stop.run_until_cancelled(linger(stream)).await;
        }
        // It was upgraded, and lives on. When its socket is closed, it takes a place among the connections again, if there is one.
        Err(TryRecvError::Empty) => {
            tokio::spawn(async move {
                if let Ok(stream) = left.await
                    && let Some(connection) = others.admit(client.ip())
                {
                    until_closed(linger(stream), connection).await;
                }
            });
        }
        Err(TryRecvError::Closed) => {}
    }
}

/// A part of an answer: its connection is busy until the last byte of it is written.
struct UntilSent {
    bytes: Bytes,
    _busy: Arc<Busy>,
}

impl AsRef<[u8]> for UntilSent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A request names one host that can be one, or says that it has none to name (RFC 9112, 3.2); HTTP/1.0 may leave it out.
fn names_its_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.is_empty() || Authority::try_from(host.as_bytes()).is_ok(),
        (None, None) => request.version() < Version::HTTP_11,
        _ => false,
    }
}

/// Whether a connection was gone before it was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use axum::routing::get;
    use hyper::header::{CONNECTION, UPGRADE};
    use prometheus::Registry;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        time::{Instant, advance},
    };

    use super::*;
    use crate::{
        connections::{Limits, refusals},
        lingering::LINGERING,
    };

    /// How much of an answer may be on its way.
    const WINDOW: usize = 4_096;

    /// A client's end of a connection to a service that says "here", or a long story.
    fn connect() -> DuplexStream {
        connect_among(&connections(1)).unwrap()
    }

    fn connections(all: usize) -> Connections {
        let refused = refusals(&Registry::new()).unwrap();
        Connections::new(Limits { all, per_address: all }, refused)
    }

    /// `None`: there was no room.
    fn connect_among(connections: &Connections) -> Option<DuplexStream> {
        let (ours, theirs) = duplex(WINDOW);
        let router = Router::new()
            .route("/", get(async || "here"))
            .route("/story", get(async || "ha".repeat(1 << 16)))
            .route("/never", get(std::future::pending::<&'static str>))
            .route("/socket", get(upgrade));
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let connection = connections.admit(client.ip())?;
        let stop = CancellationToken::new();
        tokio::spawn(until_closed(talk(theirs, client, router, connection.clone(), stop), connection));
        Some(ours)
    }

    /// Upgrades, says "bye" and drops the socket without reading anything.
    async fn upgrade(mut request: axum::extract::Request) -> impl IntoResponse {
        let upgraded = hyper::upgrade::on(&mut request);
        tokio::spawn(async move { TokioIo::new(upgraded.await.unwrap()).write_all(b"bye").await.unwrap() });
        (StatusCode::SWITCHING_PROTOCOLS, [(CONNECTION, "upgrade"), (UPGRADE, "test")])
    }

    /// Sends a request and reads "here".
    async fn ask(line: &mut DuplexStream) {
        line.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"here") {
            assert_ne!(line.read_buf(&mut said).await.unwrap(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connection_of_a_client_that_reads_nothing_is_closed() {
        let mut line = connect();
        line.write_all(b"GET /story HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        tokio::time::sleep(2 * TAKING).await;
        let mut said = Vec::new();
        assert!(
            line.read_to_end(&mut said).await.unwrap() <= WINDOW,
            "what was on its way, and then the end"
        );

        let mut line = connect();
        line.write_all(b"GET /story HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        while line.read_buf(&mut said).await.unwrap() > 0 {
            tokio::time::sleep(TAKING / 2).await;
        }
        assert!(said.len() > 1 << 17 && said.ends_with(b"haha"), "{}", said.len());
    }

    #[tokio::test(start_paused = true)]
    async fn request_head_timeout_is_10_seconds_then_75_between_requests() {
        drips_for(connect(), FIRST_HEAD).await;
        drips_for(connect(), FIRST_HEAD).await;
        let mut line = connect();
        ask(&mut line).await;
        drips_for(line, HEAD).await;
    }

    #[tokio::test(start_paused = true)]
    async fn silent_connection_is_closed_after_ten_seconds() {
        let (begun, mut line) = (Instant::now(), connect());
        assert_eq!(line.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(begun.elapsed(), FIRST_HEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn request_may_take_longer_than_its_head_timeout() {
        let mut line = connect();
        line.write_all(b"GET /never HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        let mut byte = [0];
        let read = tokio::time::timeout(2 * FIRST_HEAD, line.read(&mut byte));
        assert!(read.await.is_err(), "the connection stays open");
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_evicts_an_idle_one_and_never_a_busy_one() {
        let connections = connections(2);
        let mut busy = connect_among(&connections).unwrap();
        busy.write_all(b"GET /never HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut silent = connect_among(&connections).unwrap();
        let mut next = connect_among(&connections).unwrap();
        assert_eq!(silent.read(&mut [0]).await.unwrap(), 0, "it was closed");
        ask(&mut next).await;
        let mut last = connect_among(&connections).unwrap();
        assert_eq!(next.read(&mut [0]).await.unwrap(), 0, "it had its answer");
        last.write_all(b"GET /story HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(
            connect_among(&connections).is_none(),
            "an answer that is not taken yet keeps its connection busy"
        );
        drop(busy);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(connect_among(&connections).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn request_head_over_the_buffer_is_431() {
        let line = connect();
        let head = format!("GET / HTTP/1.1\r\nhost: test\r\nx-long: {}", "x".repeat(2 * BUFFER));
        let (mut answers, mut requests) = tokio::io::split(line);
        let sending = async { requests.write_all(head.as_bytes()).await.ok() };
        let mut said = String::new();
        let (_, heard) = tokio::join!(sending, answers.read_to_string(&mut said));
        assert!(heard.is_ok() && said.starts_with("HTTP/1.1 431 "), "{said}");
    }

    /// Drips a head until the connection is closed, which is after `limit`.
    async fn drips_for(line: DuplexStream, limit: Duration) {
        let begun = Instant::now();
        let (mut answers, mut line) = tokio::io::split(line);
        let drip = async {
            line.write_all(b"GET / HTTP/1.1\r\nx-slow: ").await.unwrap();
            while line.write_all(b"y").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let mut said = String::new();
        let (_, heard) = tokio::join!(drip, answers.read_to_string(&mut said));
        assert_eq!((heard.unwrap(), said.as_str()), (0, ""));
        let late = begun.elapsed().saturating_sub(limit);
        assert!(begun.elapsed() >= limit && late <= Duration::from_secs(1), "the next drop finds nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn request_with_two_hosts_is_400_before_routing() {
        let mut line = connect();
        line.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut said = String::new();
        line.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn refused_body_is_drained_so_that_the_client_reads_the_answer() {
        let mut line = connect();
        line.write_all(b"POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 300000\r\n\r\n").await.unwrap();
        line.write_all(&[b'x'; 300_000]).await.unwrap();
        let mut said = String::new();
        line.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 405 "), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn refused_body_is_drained_for_a_few_seconds_only() {
        let (begun, mut line) = (Instant::now(), connect());
        line.write_all(b"POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 300000\r\n\r\n").await.unwrap();
        while line.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(begun.elapsed() >= LINGERING && begun.elapsed() < 2 * LINGERING, "{:?}", begun.elapsed());
    }

    /// A client of a live socket that was still sending a long frame saw a reset (1006), and not the close code.
    #[tokio::test(start_paused = true)]
    async fn upgraded_connection_is_drained_so_that_the_client_reads_its_last_words() {
        let mut line = connect();
        let head = "GET /socket HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n";
        line.write_all(head.as_bytes()).await.unwrap();
        line.write_all(&[b'x'; 300_000]).await.unwrap();
        let (begun, mut said) = (Instant::now(), String::new());
        line.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 101 ") && said.ends_with("\r\n\r\nbye"), "{said}");
        assert!(begun.elapsed() < LINGERING, "it waits for the end of the connection");
        while line.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(begun.elapsed() < 2 * LINGERING, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_no_refused_body() {
        let (mut line, theirs) = duplex(WINDOW);
        let (client, stop) = (SocketAddr::from(([127, 0, 0, 1], 1)), CancellationToken::new());
        let connection = connections(1).admit(client.ip()).unwrap();
        let talk = tokio::spawn(talk(theirs, client, Router::new(), connection, stop.clone()));
        line.write_all(b"POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 1\r\n\r\nx").await.unwrap();
        assert!(line.read(&mut [0; WINDOW]).await.unwrap() > 0, "404");
        let begun = Instant::now();
        stop.cancel();
        talk.await.unwrap();
        assert!(begun.elapsed() < LINGERING, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn keep_alive_connection_serves_after_a_minute() {
        let mut line = connect();
        for _ in 0..2 {
            ask(&mut line).await;
            advance(Duration::from_secs(60)).await;
        }
    }

    #[test]
    fn request_host_must_be_one_valid_host() {
        let named = |hosts: &[&str], version| {
            let request = hosts
                .iter()
                .fold(Request::get("/").version(version), |request, host| request.header(HOST, *host));
            names_its_host(&request.body(()).unwrap())
        };
        for (hosts, right) in [
            (&["api.example:8080"][..], true),
            (&["[::1]:8080"], true),
            (&[], false),
            (&["a", "b"], false),
            (&["a b/c"], false),
            (&[""], true),
        ] {
            assert_eq!(named(hosts, Version::HTTP_11), right, "{hosts:?}");
        }
        assert!(named(&[], Version::HTTP_10));
    }
}
