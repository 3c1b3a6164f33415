//! The guarded call that a sender and a caller share: no redirects, no proxy, no address that the guard did not judge.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Method, Request, Response, Url};
use upstream::{Client, Connections, is_timeout};

use crate::guard::{Guard, Reach};
use crate::lookup::Lookup;
use crate::names::Names;
use crate::resolver::{reaching, resolver};

const CONNECTIONS: Connections = Connections {
    connect_timeout: Duration::from_secs(3),
    // Together as long as a webhook is waited for. A connection that is dead would be used for the next call, and the next.
    quiet: Duration::from_secs(5),
    sign_of_life: Duration::from_secs(10),
    asked_while_idle: false,
    // Calls of one endpoint are few at a time (DECISIONS §6).
    idle_per_host: 2,
    // No longer: who names ever new hosts would have all open files of the process.
    idle_for: Duration::from_secs(5),
    http2_only: false,
};

/// The client could not be built; the process has no TLS provider or no root certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no HTTP client could be built")]
pub struct CannotSend;

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing was sent, and no name was resolved: the guard refused the URL, or a header cannot be one.
    Refused,
    /// Nothing was sent: the guard refused every address of the name. For operators: users are to see no difference from
    /// [`Unreachable`](Self::Unreachable), or they could find out which inner names there are.
    RefusedAddress,
    /// The name was not resolved, no connection stood, or the answer did not come in time.
    Timeout,
    /// No such name, no connection, no valid TLS, or no HTTP.
    Unreachable,
}

/// A client behind a guard.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    guard: Guard,
    names: Names,
    client: Client,
}

impl Clients {
    pub(crate) fn new(guard: Guard, lookup: Arc<dyn Lookup>) -> Result<Self, CannotSend> {
        let client = Client::new(resolver(), &CONNECTIONS, None).ok_or(CannotSend)?;
        Ok(Self { guard, names: Names::new(lookup), client })
    }

    /// Sends a request, which is processed once at most, for `user`, whose names share a bounded part of the look-ups. Once its
    /// name is known, the head of its answer is waited for until `limit`.
    pub(crate) async fn send(
        &self,
        user: &str,
        request: Request,
        limit: Duration,
    ) -> Result<Response, Failure> {
        let url = request.url().clone();
        // Again, since an endpoint or an app may be older than today's allowed ranges.
        let (Ok(()), Some(reach)) = (self.guard.check(&url), Reach::of(&url)) else {
            return Err(Failure::Refused);
        };
        let found = self.names.of(user, &url).await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Failure::Timeout,
            _ => Failure::Unreachable,
        })?;
        let permitted = self.guard.permitted(&found, reach);
        if permitted.is_empty() && !found.is_empty() {
            self.names.look_up_again_soon(&url);
            return Err(Failure::RefusedAddress);
        }
        let answered = tokio::time::timeout(limit, reaching(permitted, self.client.send(request))).await;
        answered.map_err(|_| Failure::Timeout)?.map_err(|error| {
            self.names.look_up_again_soon(&url);
            if is_timeout(&*error) { Failure::Timeout } else { Failure::Unreachable }
        })
    }
}

/// `None`: a header cannot be one.
pub(crate) fn request(
    method: Method,
    url: Url,
    headers: Vec<(String, String)>,
    body: Option<Body>,
) -> Option<Request> {
    let pairs = headers
        .into_iter()
        .map(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?)));
    let mut request = Request::new(method, url);
    *request.headers_mut() = pairs.collect::<Option<HeaderMap>>()?;
    *request.body_mut() = body;
    Some(request)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set itself up must fail")]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use reqwest::{Method, Request};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    fn http2_client() -> Client {
        Client::new(resolver(), &Connections { http2_only: true, ..CONNECTIONS }, None).unwrap()
    }

    #[tokio::test]
    async fn http2_connection_to_a_receiver_that_fell_silent_is_given_up() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = http2_client();
        let request = Request::new(Method::POST, url.parse().unwrap());
        let unanswered = tokio::spawn(async move { client.send(request).await });
        let (mut silent, _) = listener.accept().await.unwrap();
        let mut preface = [0; 24];
        silent.read_exact(&mut preface).await.unwrap();
        // Then nothing more.
        silent.write_all(&SETTINGS).await.unwrap();
        tokio::time::pause();
        let given_up = tokio::time::timeout(Duration::from_secs(16), unanswered).await;
        assert!(given_up.expect("the call waits for a server that is silent").unwrap().is_err());
    }

    /// An HTTP/2 server's settings, and that it has the client's.
    const SETTINGS: [u8; 18] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];

    /// The stream of the next request; `None` once the client is gone.
    async fn next_request(socket: &mut TcpStream) -> Option<u8> {
        loop {
            let mut head = [0; 9];
            socket.read_exact(&mut head).await.ok()?;
            let [high, middle, low, kind, _, _, _, _, stream] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
            socket.read_exact(&mut payload).await.ok()?;
            if kind == 1 {
                return Some(stream);
            }
        }
    }

    async fn serve(mut socket: TcpStream, asked: &AtomicU8, first: fn(u8) -> Vec<u8>) {
        let mut preface = [0; 24];
        socket.read_exact(&mut preface).await.unwrap();
        socket.write_all(&SETTINGS).await.unwrap();
        while let Some(stream) = next_request(&mut socket).await {
            let answer = match asked.fetch_add(1, Ordering::SeqCst) {
                0 => first(stream),
                _ => vec![0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88],
            };
            socket.write_all(&answer).await.unwrap();
        }
    }

    /// The status of a call to a server that answers its first request with this frame and others with 200, and how many requests
    /// it got.
    async fn asked_again(first: fn(u8) -> Vec<u8>) -> (Option<u16>, u8) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = http2_client();
        let asked = Arc::new(AtomicU8::new(0));
        let counted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                tokio::spawn(async move { serve(socket, &counted, first).await });
            }
        });
        let mut request = Request::new(Method::POST, url.parse().unwrap());
        *request.body_mut() = Some("{}".into());
        let answer = tokio::time::timeout(Duration::from_secs(30), client.send(request)).await;
        let status = answer.expect("an answer").ok().map(|answer| answer.status().as_u16());
        (status, asked.load(Ordering::SeqCst))
    }

    /// A server that is replaced says of what it was sent last that it was not processed: a tool call failed of it.
    #[tokio::test]
    async fn request_that_was_certainly_not_processed_is_sent_once_more() {
        let refused = |stream: u8| vec![0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 7];
        assert_eq!(asked_again(refused).await, (Some(200), 2));
        let goes_away = |_: u8| vec![0_u8, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(asked_again(goes_away).await, (Some(200), 2));
        let broke = |stream: u8| vec![0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 2];
        assert_eq!(asked_again(broke).await, (None, 1), "it may have been processed");
    }
}
