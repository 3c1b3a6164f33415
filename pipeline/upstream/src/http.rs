//! The parts of an HTTP exchange with such a server that do not depend on what is asked of it.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::header::HeaderValue;
use reqwest::{Response, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::client::{Client, Connections};

/// Calls share one HTTP/2 connection, and would go on to use one that is dead, each until its deadline.
const CONNECTIONS: Connections = Connections {
    connect_timeout: Duration::from_secs(5),
    quiet: Duration::from_secs(10),
    sign_of_life: Duration::from_secs(20),
    asked_while_idle: true,
    idle_per_host: usize::MAX,
    idle_for: Duration::from_secs(90),
    http2_only: false,
};
/// The largest complaint that is read, and how long its bytes are waited for: what is longer or slower explains nothing to a
/// program.
const COMPLAINT_BYTES: usize = 64 * 1024;
const COMPLAINT_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the body of an answer could not be read.
#[derive(Debug)]
pub enum Broken {
    /// It is longer than it may be.
    TooLong,
    /// The connection broke.
    Connection(reqwest::Error),
}

/// Goes through the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name, as a
/// company's network asks of programs; but never on the way to this very machine, where no proxy helps. `None`: the
/// process has no TLS provider or no root certificates.
pub fn client(base: &Url) -> Option<Client> {
    Client::new(GaiResolver::new(), &CONNECTIONS, (!is_here(base)).then(Matcher::from_env))
}

/// Whether a server is on this very machine.
pub fn is_here(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A URL of one of `schemes` with a host and without a user name or password.
pub fn base_url(text: &str, schemes: &[&str]) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    let bare = url.username().is_empty() && url.password().is_none();
    (schemes.contains(&url.scheme()) && url.has_host() && bare).then_some(url)
}

/// The host and, when it is not the scheme's own, the port.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The `Authorization` header for `key`; `None` when it cannot be sent in a header.
pub fn bearer(key: &SecretString) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret())).ok()?;
    // Keeps it out of `Debug` and out of the compression tables of HTTP/2.
    value.set_sensitive(true);
    Some(value)
}

/// Whether there is no connection because of TLS: a certificate that is not accepted, or a server that speaks none.
pub fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(found) = cause {
        if found.is::<rustls::Error>() {
            return true;
        }
        // An I/O error hides what it was made of from its sources.
        let made_of = found.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = made_of.map(|inner| -> &(dyn Error + 'static) { inner }).or_else(|| found.source());
    }
    false
}

/// The body of `response`, of at most `most` bytes.
pub async fn read_at_most(mut response: Response, most: usize) -> Result<Vec<u8>, Broken> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Broken::Connection)? {
        if body.len() + chunk.len() > most {
            return Err(Broken::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What a server says beside a status that is no success, empty where that does not come: the status is the answer, and a
/// body that never ends takes nothing from it.
pub async fn complaint(response: Response) -> Vec<u8> {
    let read = tokio::time::timeout(COMPLAINT_TIMEOUT, read_at_most(response, COMPLAINT_BYTES)).await;
    read.ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
mod tests {
    use reqwest::{Method, Request};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn server_that_speaks_no_tls_is_told_from_one_that_is_away() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
        let client = client(&base).unwrap();
        let answering = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            let _ = socket.read(&mut [0; 512]).await;
        });
        let refused = async || client.send(Request::new(Method::GET, base.clone())).await.unwrap_err();
        assert!(is_of_tls(&*refused().await));
        answering.await.unwrap();
        assert!(!is_of_tls(&*refused().await), "nobody listens any more");
    }

    /// The next connection to a server that speaks HTTP/2.
    async fn accept(listener: &TcpListener) -> TcpStream {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut preface = [0; 24];
        socket.read_exact(&mut preface).await.unwrap();
        // Its settings, and that it has the client's.
        socket.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]).await.unwrap();
        socket
    }

    /// Reads until a request has come, and returns its stream.
    async fn request(socket: &mut TcpStream) -> [u8; 4] {
        const HEADERS: u8 = 1;
        loop {
            let mut head = [0; 9];
            socket.read_exact(&mut head).await.unwrap();
            let [high, middle, low, kind, _, stream @ ..] = head;
            let mut rest = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
            socket.read_exact(&mut rest).await.unwrap();
            if kind == HEADERS {
                return stream;
            }
        }
    }

    /// Answers with status 204.
    async fn answer(socket: &mut TcpStream, [a, b, c, d]: [u8; 4]) {
        socket.write_all(&[0, 0, 1, 1, 5, a, b, c, d, 0x89]).await.unwrap();
    }

    #[tokio::test]
    async fn http2_server_that_fell_silent_is_left_for_a_new_connection() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let (asked, was_asked) = tokio::sync::oneshot::channel();
        let server = tokio::spawn(async move {
            let mut silent = accept(&listener).await;
            let stream = request(&mut silent).await;
            answer(&mut silent, stream).await;
            request(&mut silent).await;
            asked.send(()).unwrap();
            let mut working = accept(&listener).await;
            let stream = request(&mut working).await;
            answer(&mut working, stream).await;
            (silent, working)
        });
        let http2 = Connections { http2_only: true, ..CONNECTIONS };
        let client = Client::new(GaiResolver::new(), &http2, None).unwrap();
        let get = || Request::new(Method::GET, url.clone());
        assert_eq!(client.send(get()).await.unwrap().status(), 204);
        let again = (client.clone(), get());
        let unanswered = tokio::spawn(async move { again.0.send(again.1).await });
        was_asked.await.unwrap();
        tokio::time::pause();
        let given_up = tokio::time::timeout(Duration::from_secs(31), unanswered).await;
        tokio::time::resume();
        assert!(given_up.expect("the call waits for a server that is silent").unwrap().is_err());
        assert_eq!(client.send(get()).await.unwrap().status(), 204);
        server.await.unwrap();
    }

    #[test]
    fn proxy_is_bypassed_for_loopback_only() {
        for (url, expected) in [
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1/v1", true),
            ("http://[::1]:80/v1", true),
            ("https://models.example/v1", false),
            ("http://10.0.0.1/v1", false),
        ] {
            assert_eq!(is_here(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn base_url_needs_a_known_scheme_a_host_and_no_password() {
        for (url, expected) in [
            (" https://models.example/v1 ", true),
            ("http://127.0.0.1:8000", true),
            ("ftp://models.example", false),
            ("https://key@models.example", false),
            ("https://", false),
            ("models.example", false),
        ] {
            assert_eq!(base_url(url, &["http", "https"]).is_some(), expected, "{url}");
        }
    }
}
