//! The HTTP client of all calls to other people's servers: a pool of connections, each of which lets other tasks have their turn.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use reqwest::{Body, Request, Response};
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls_platform_verifier::BuilderVerifierExt;
use serde::Serialize;
use tokio::net::TcpStream;
use tower::service_fn;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use crate::turns::Turns;

/// Why a call got no answer.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A connection before TLS with the server that is called; TLS with a proxy is below it.
type Plain = MaybeHttpsStream<TokioIo<Turns>>;
type Connect<T> = BoxCloneSyncService<http::Uri, T, BoxError>;

/// How long a TCP connection is idle before it is probed, and how often it is from then on.
const PROBE: Duration = Duration::from_secs(15);

/// How connections are made and kept.
#[derive(Clone, Copy, Debug)]
pub struct Connections {
    /// Until a connection (TCP, proxy, TLS) stands.
    pub connect_timeout: Duration,
    /// How long an HTTP/2 connection is quiet before its server is asked for a sign of life.
    pub quiet: Duration,
    /// How long the sign of life is waited for.
    pub sign_of_life: Duration,
    /// Whether the server is asked while there are no calls, too.
    pub asked_while_idle: bool,
    /// How many idle connections are kept for a host.
    pub idle_per_host: usize,
    /// And for how long.
    pub idle_for: Duration,
    /// HTTP/2 without asking the server, as tests need it.
    pub http2_only: bool,
}

/// A client. Cheap to clone; keeps connections, follows no redirects, never sends a request twice that a server may have processed.
#[derive(Clone)]
pub struct Client {
    pool: Pool<Connect<MaybeHttpsStream<Plain>>, Body>,
    proxies: Option<Arc<Matcher>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// A client that finds addresses with `resolver` and goes through `proxies`, where they are for the server. `None`: the process has no TLS provider or no root certificates.
    pub fn new<R>(resolver: R, connections: &Connections, proxies: Option<Matcher>) -> Option<Self>
    where
        R: Service<Name, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync + 'static,
        R::Response: Iterator<Item = SocketAddr>,
    {
        let provider = Arc::clone(CryptoProvider::get_default()?);
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
        let tls = tls.with_platform_verifier().ok()?.with_no_client_auth();
        let proxies = proxies.map(Arc::new);
        let limit = connections.connect_timeout;
        let dial = Dial { tcp: tcp(resolver, limit), tls: Arc::new(tls.clone()), proxies: proxies.clone() };
        let mut builder = Pool::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(connections.idle_for)
            .pool_max_idle_per_host(connections.idle_per_host)
            .http2_keep_alive_interval(connections.quiet)
            .http2_keep_alive_timeout(connections.sign_of_life)
            .http2_keep_alive_while_idle(connections.asked_while_idle)
            .http2_only(connections.http2_only);
        Some(Self { pool: builder.build(connect(dial, tls, limit)), proxies })
    }

    /// Sends a request and waits for the head of its answer, however long that takes. One of which its server says that it was not
    /// processed is sent once more: servers that are replaced say so of what they were sent last.
    pub async fn send(&self, request: Request) -> Result<Response, BoxError> {
        let again = request.try_clone();
        match (self.send_once(request).await, again) {
            (Err(error), Some(again)) if is_unprocessed(&*error) => self.send_once(again).await,
            (answered, _) => answered,
        }
    }

    async fn send_once(&self, request: Request) -> Result<Response, BoxError> {
        let mut request = http::Request::<Body>::try_from(request)?;
        let proxied = self.proxies.as_ref().and_then(|proxies| proxies.intercept(request.uri()));
        let plain = request.uri().scheme() == Some(&http::uri::Scheme::HTTP);
        let headers = request.headers_mut();
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(USER_AGENT).or_insert_with(agent);
        if let Some(auth) = proxied.as_ref().and_then(|proxy| proxy.basic_auth()).filter(|_| plain) {
            headers.insert(PROXY_AUTHORIZATION, auth.clone());
        }
        Ok(self.pool.request(request).await?.map(Body::wrap).into())
    }
}

fn agent() -> HeaderValue {
    HeaderValue::from_static(concat!("listen/", env!("CARGO_PKG_VERSION")))
}

/// `request` with a body of JSON.
pub fn json(mut request: Request, body: &impl Serialize) -> serde_json::Result<Request> {
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *request.body_mut() = Some(serde_json::to_vec(body)?.into());
    Ok(request)
}

/// Whether the server says that it did not process a request (RFC 9113, 8.7): it goes away in order, or refused the stream.
fn is_unprocessed(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    let error = causes.find_map(|cause| cause.downcast_ref::<h2::Error>()).filter(|error| error.is_remote());
    error.is_some_and(|error| match error.reason() {
        Some(h2::Reason::NO_ERROR) => error.is_go_away(),
        Some(h2::Reason::REFUSED_STREAM) => error.is_reset(),
        _ => false,
    })
}

/// Whether a call, or the reading of its answer, ended because something took too long.
pub fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
            || cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout)
    })
}

fn tcp<R>(resolver: R, limit: Duration) -> Connect<TokioIo<TcpStream>>
where
    R: Service<Name, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync + 'static,
    R::Response: Iterator<Item = SocketAddr>,
{
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    // A name's addresses share it: one that is silent leaves time for the next.
    tcp.set_connect_timeout(Some(limit));
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(PROBE));
    tcp.set_keepalive_interval(Some(PROBE));
    tcp.set_keepalive_retries(Some(3));
    // A peer that acknowledges nothing for so long is gone.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(Duration::from_secs(30)));
    Connect::new(tcp.map_err(BoxError::from))
}

/// Dials, then TLS where the URL says so, within `limit`.
fn connect(dial: Dial, mut tls: ClientConfig, limit: Duration) -> Connect<MaybeHttpsStream<Plain>> {
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let dial = Connect::new(service_fn(move |server| Box::pin(dial.clone().open(server))));
    let https = HttpsConnector::from((dial, tls));
    Connect::new(service_fn(move |server| {
        let connecting = https.clone().call(server);
        Box::pin(async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }))
}

/// Makes connections, straight or through a proxy.
#[derive(Clone)]
struct Dial {
    tcp: Connect<TokioIo<TcpStream>>,
    tls: Arc<ClientConfig>,
    proxies: Option<Arc<Matcher>>,
}

impl Dial {
    async fn open(self, server: http::Uri) -> Result<Plain, BoxError> {
        let Some(proxy) = self.proxies.as_ref().and_then(|proxies| proxies.intercept(&server)) else {
            return Ok(MaybeHttpsStream::Http(self.reach(server, false).await?));
        };
        let tunnels = server.scheme() == Some(&http::uri::Scheme::HTTPS);
        let (dial, tls) = (self.clone(), self.tls);
        let reach = Connect::new(service_fn(move |proxy| Box::pin(dial.clone().reach(proxy, !tunnels))));
        let mut to_proxy = HttpsConnector::from((reach, tls));
        if !tunnels {
            return to_proxy.call(proxy.uri().clone()).await;
        }
        // There are proxies that let no program without a name through.
        let headers = HeaderMap::from_iter([(USER_AGENT, agent())]);
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy).with_headers(headers);
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        Ok(tunnel.call(server).await?)
    }

    async fn reach(self, host: http::Uri, to_proxy: bool) -> Result<TokioIo<Turns>, BoxError> {
        Ok(TokioIo::new(Turns::new(self.tcp.oneshot(host).await?.into_inner(), to_proxy)))
    }
}
