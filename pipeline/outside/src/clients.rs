//! The clients that all guarded calls share: no redirects, no proxy, a resolver that looks nothing up.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
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
            let resolver = GuardedResolver { guard: guard.clone(), reach };
            let builder = Client::builder()
                .dns_resolver(resolver)
                .redirect(Policy::none())
                .no_proxy()
                .referer(false)
                .user_agent(concat!("listen/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .pool_idle_timeout(IDLE_FOR)
                .https_only(reach == Reach::Https);
            let builder = match timeout {
                Some(timeout) => builder.timeout(timeout),
                None => builder,
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
