//! How spans are posted: by the HTTP library of the rest of the process, on its runtime.

use std::{fmt, pin::Pin, time::Duration};

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::redirect::Policy;
use tokio::runtime::Handle;

/// The whole call (OTLP's own default).
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How much of an answer is read: it says at most how many spans were rejected, and why.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Posts on `runtime`, whichever thread asks: the exporter has one of its own, without a runtime.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    runtime: Handle,
}

impl Client {
    /// A client that follows no redirect.
    pub(super) fn new(runtime: Handle) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self { http, runtime })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl HttpClient for Client {
    fn send_bytes<'life, 'call>(
        &'life self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'call>>
    where
        'life: 'call,
        Self: 'call,
    {
        let call = self.runtime.spawn(post(self.http.clone(), request));
        Box::pin(async move { call.await? })
    }
}

async fn post(http: reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let mut answer = http.execute(request.try_into()?).await?;
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        let room = MAX_ANSWER_BYTES.saturating_sub(body.len());
        body.extend_from_slice(&part[..part.len().min(room)]);
        if room < part.len() {
            break;
        }
    }
    let mut told = Response::builder().status(answer.status());
    if let Some(headers) = told.headers_mut() {
        *headers = std::mem::take(answer.headers_mut());
    }
    Ok(told.body(Bytes::from(body))?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use axum::{Router, http::StatusCode, response::Redirect, routing::post};
    use tokio::net::TcpListener;

    use super::*;
    use crate::process::install_crypto;

    /// What a collector that answers as `router` does says to one post.
    async fn answered_by(router: Router) -> Response<Bytes> {
        install_crypto();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let request = Request::post(url).body(Bytes::from_static(b"spans")).unwrap();
        Client::new(Handle::current()).unwrap().send_bytes(request).await.unwrap()
    }

    #[tokio::test]
    async fn collector_redirects_are_not_followed() {
        let followed = Arc::<AtomicBool>::default();
        let hear = Arc::clone(&followed);
        let router = Router::new()
            .route("/v1/traces", post(async || Redirect::temporary("/elsewhere")))
            .route("/elsewhere", post(async move || hear.store(true, Ordering::SeqCst)));
        assert_eq!(answered_by(router).await.status(), StatusCode::TEMPORARY_REDIRECT);
        assert!(!followed.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn collector_answers_are_read_up_to_a_limit() {
        let long = Bytes::from(vec![b'x'; 16 * MAX_ANSWER_BYTES]);
        let router = Router::new().route("/v1/traces", post(async move || long));
        assert_eq!(answered_by(router).await.body().len(), MAX_ANSWER_BYTES);
    }
}
