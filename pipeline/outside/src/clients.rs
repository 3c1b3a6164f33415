//! The clients that all guarded calls share: no redirects, no proxy, a resolver that looks nothing up.

use std::time::Duration;

use upstream::{Client, Connections};

use crate::guard::{Guard, Reach};
use crate::resolver::GuardedResolver;

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

/// One client per scheme: a resolver sees a name but not the scheme, and the two schemes reach differently far.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    http: Client,
    https: Client,
}

impl Clients {
    pub(crate) fn new(guard: &Guard) -> Result<Self, CannotSend> {
        let client = |reach| client(guard, reach, &CONNECTIONS).ok_or(CannotSend);
        Ok(Self { http: client(Reach::Http)?, https: client(Reach::Https)? })
    }

    /// The client of a scheme.
    pub(crate) fn of(&self, reach: Reach) -> &Client {
        match reach {
            Reach::Http => &self.http,
            Reach::Https => &self.https,
        }
    }
}

fn client(guard: &Guard, reach: Reach, connections: &Connections) -> Option<Client> {
    Client::new(GuardedResolver { guard: guard.clone(), reach }.service(), connections, None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set itself up must fail")]
mod tests {
    use reqwest::{Method, Request};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn http2_connection_to_a_receiver_that_fell_silent_is_given_up() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let http2 = Connections { http2_only: true, ..CONNECTIONS };
        let client = client(&guard, Reach::Http, &http2).unwrap();
        let request = Request::new(Method::POST, url.parse().unwrap());
        let unanswered = tokio::spawn(async move { client.send(request).await });
        let (mut silent, _) = listener.accept().await.unwrap();
        let mut preface = [0; 24];
        silent.read_exact(&mut preface).await.unwrap();
        // Its settings, and that it has the client's; then nothing more.
        silent.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]).await.unwrap();
        tokio::time::pause();
        let given_up = tokio::time::timeout(Duration::from_secs(16), unanswered).await;
        assert!(given_up.expect("the call waits for a server that is silent").unwrap().is_err());
    }
}
