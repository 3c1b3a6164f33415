//! Connections: how they are accepted, how long a client may keep one to itself, and how they end.
//!
//! `axum::serve` would be all that is needed, if it had a deadline for a request's head.

use std::{io, net::SocketAddr, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, response::IntoResponse};
use hyper::{
    Request, StatusCode, Version, body::Incoming, header::HOST, http::uri::Authority, server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// How long a client may take for a request's head, the rest between two requests included. Longer than the minute after
/// which proxies give up a connection that rests, so that none sends its next request into one that is being closed.
const HEAD: Duration = Duration::from_secs(75);

/// How long a client may take none of its answer: what is not taken is kept for it in memory.
const TAKING: Duration = Duration::from_secs(30);

/// How long nothing is accepted once the process has no file left for a connection.
const BREATHER: Duration = Duration::from_secs(1);

/// Serves `router` until `stop`; then nothing is accepted any more, and every connection ends with the request it is at.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let ending = GracefulShutdown::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, client)) => {
                let talk = ending.watch(talk(stream, client, router.clone()));
                // A client that hangs up, is late or speaks something else is no matter of ours.
                tokio::spawn(async { talk.await.ok() });
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::error!(%error, "a connection was not accepted");
                tokio::time::sleep(BREATHER).await;
            }
        }
    }
    drop(listener);
    ending.shutdown().await;
}

/// One connection, from its first request to its last.
fn talk<I>(
    stream: I,
    client: SocketAddr,
    router: Router,
) -> impl GracefulConnection<Error = hyper::Error> + use<I>
where
    I: AsyncRead + AsyncWrite + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(TAKING));
    let io = TokioIo::new(Box::pin(stream));
    let answer = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move {
            if !names_its_host(&request) {
                return Ok(StatusCode::BAD_REQUEST.into_response());
            }
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(client));
            router.oneshot(request).await
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).serve_connection(io, answer)
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
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        time::{Instant, advance},
    };

    use super::*;

    /// How much of an answer may be on its way.
    const WINDOW: usize = 4_096;

    /// A client's end of a connection to a service that says "here", or a long story.
    fn connect() -> DuplexStream {
        let (ours, theirs) = duplex(WINDOW);
        let router = Router::new()
            .route("/", get(async || "here"))
            .route("/story", get(async || "ha".repeat(1 << 16)));
        let talk = talk(theirs, SocketAddr::from(([127, 0, 0, 1], 1)), router);
        tokio::spawn(async { talk.await.ok() });
        ours
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_none_of_its_answer_is_hung_up_on_and_a_slow_one_is_not() {
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
    async fn a_client_that_drips_its_head_is_hung_up_on_in_time() {
        let begun = Instant::now();
        let (mut answers, mut line) = tokio::io::split(connect());
        let drip = async {
            line.write_all(b"GET / HTTP/1.1\r\nx-slow: ").await.unwrap();
            while line.write_all(b"y").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let mut said = String::new();
        let (_, heard) = tokio::join!(drip, answers.read_to_string(&mut said));
        assert_eq!((heard.unwrap(), said.as_str()), (0, ""));
        let late = begun.elapsed().saturating_sub(HEAD);
        assert!(begun.elapsed() >= HEAD && late <= Duration::from_secs(1), "the next drop finds nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_names_two_hosts_is_answered_before_anybody_reads_it() {
        let mut line = connect();
        line.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut said = String::new();
        line.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_rests_for_a_minute_takes_the_next_request() {
        let mut line = connect();
        for _ in 0..2 {
            line.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
            let mut said = Vec::new();
            while !said.ends_with(b"here") {
                assert_ne!(line.read_buf(&mut said).await.unwrap(), 0);
            }
            advance(Duration::from_secs(60)).await;
        }
    }

    #[test]
    fn a_request_names_one_host_that_can_be_one() {
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
