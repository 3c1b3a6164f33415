//! The clients that all guarded calls share: no redirects, no proxy, a resolver that looks nothing up.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use crate::guard::{Guard, Reach};
use crate::resolver::GuardedResolver;

/// Until a connection (TCP, TLS) stands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Kept open per receiver: calls of one endpoint are few at a time (DECISIONS §6).
const IDLE_PER_HOST: usize = 2;
/// And no longer: who names ever new hosts would have all open files of the process.
const IDLE_FOR: Duration = Duration::from_secs(5);
/// How long an HTTP/2 connection with calls is quiet before its server is asked for a sign of life, and how long that may take:
/// together as long as a webhook is waited for. A connection that is dead would be used for the next call, and the next.
const QUIET: Duration = Duration::from_secs(5);
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// The client could not be built; the process has no TLS provider or no root certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no HTTP client could be built")]
pub struct CannotSend;

/// One client per scheme: a resolver sees a name but not the scheme, and the two schemes reach differently far.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    http: Client,
    https: Client,
    apart: Option<Handle>,
}

impl Clients {
    /// Clients whose calls end after `timeout`, where there is one.
    pub(crate) fn new(guard: &Guard, timeout: Option<Duration>) -> Result<Self, CannotSend> {
        let client = |reach| {
            let builder = match timeout {
                Some(timeout) => builder(guard, reach).timeout(timeout),
                None => builder(guard, reach),
            };
            builder.build().map_err(|_| CannotSend)
        };
        Ok(Self { http: client(Reach::Http)?, https: client(Reach::Https)?, apart: None })
    }

    /// The same, whose calls run in another runtime.
    pub(crate) fn apart(self, runtime: Handle) -> Self {
        Self { apart: Some(runtime), ..self }
    }

    /// Runs `call` where its connections are read; dropped, it ends. hyper reads the size of a chunk byte by byte for as long as
    /// the server sends zeros: such a server takes a thread, and none that renews leases or answers requests. `None`: it panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        match &self.apart {
            None => Some(call.await),
            Some(runtime) => AbortOnDropHandle::new(runtime.spawn(call)).await.ok(),
        }
    }

    /// The client of a scheme.
    pub(crate) fn of(&self, reach: Reach) -> &Client {
        match reach {
            Reach::Http => &self.http,
            Reach::Https => &self.https,
        }
    }
}

fn builder(guard: &Guard, reach: Reach) -> ClientBuilder {
    Client::builder()
        .dns_resolver(GuardedResolver { guard: guard.clone(), reach })
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .user_agent(concat!("listen/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .pool_idle_timeout(IDLE_FOR)
        .http2_keep_alive_interval(QUIET)
        .http2_keep_alive_timeout(SIGN_OF_LIFE)
        .https_only(reach == Reach::Https)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set itself up must fail")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn http2_connection_to_a_receiver_that_fell_silent_is_given_up() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let client = builder(&guard, Reach::Http).http2_prior_knowledge().build().unwrap();
        let unanswered = tokio::spawn(client.post(url).send());
        let (mut silent, _) = listener.accept().await.unwrap();
        let mut preface = [0; 24];
        silent.read_exact(&mut preface).await.unwrap();
        // Its settings, and that it has the client's; then nothing more.
        silent.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]).await.unwrap();
        tokio::time::pause();
        let given_up = tokio::time::timeout(QUIET + SIGN_OF_LIFE + Duration::from_secs(1), unanswered).await;
        assert!(given_up.expect("the call waits for a server that is silent").unwrap().is_err());
    }
}
