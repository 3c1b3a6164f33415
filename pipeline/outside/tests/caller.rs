//! A caller against servers on this machine: what it sends, what it reads, and what it does not put up with.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, time::Duration};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::routing::{any, get};
use axum::{Router, response::IntoResponse};
use futures::future::BoxFuture;
use outside::{Call, Caller, Failure, Guard, Heard, Lookup, Url};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

async fn server(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn install_tls() {
    // Fails when another test of this process was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn caller() -> Caller {
    install_tls();
    Caller::new(Guard::new(vec!["127.0.0.0/8".parse().unwrap()])).unwrap()
}

fn call(method: Method, url: &str) -> Call {
    Call {
        body: (method != Method::GET).then(|| b"{}".to_vec()),
        method,
        url: Url::parse(url).unwrap(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        timeout: Duration::from_secs(5),
        max_bytes: 1_024,
    }
}

fn answer(body: &[u8]) -> Heard {
    Heard::Answer { status: 200, body: body.to_vec() }
}

#[tokio::test]
async fn caller_sends_every_method_with_identity_encoding() {
    let (heard, mut hears) = mpsc::channel::<(Method, Uri, HeaderMap, Bytes)>(8);
    let record = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| async move {
        heard.send((method, uri, headers, body)).await.unwrap();
        "read"
    };
    let address = server(Router::new().route("/t", any(record))).await;
    for sent in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let heard = caller().call("ann", call(sent.clone(), &format!("http://{address}/t?a=1"))).await;
        assert_eq!(heard, answer(b"read"), "{sent}");
        let (method, uri, headers, body) = hears.recv().await.unwrap();
        assert_eq!((&method, uri.query()), (&sent, Some("a=1")));
        assert_eq!(headers[header::ACCEPT_ENCODING], "identity");
        assert_eq!(body.is_empty(), sent == Method::GET);
        for name in ["cookie", "authorization", "traceparent", "referer"] {
            assert!(!headers.contains_key(name), "{name}");
        }
    }
}

#[tokio::test]
async fn caller_limits_answers_with_and_without_content_length() {
    let streamed = || async {
        let chunks = futures::stream::repeat_with(|| Ok::<_, io::Error>(vec![b'x'; 512]));
        Body::from_stream(chunks).into_response()
    };
    let router = Router::new()
        .route("/endless", get(streamed))
        .route("/long", get(|| async { "x".repeat(1_025) }))
        .route("/just", get(|| async { "x".repeat(1_024) }))
        .route(
            "/zip",
            get(|| async { ([(header::CONTENT_ENCODING, "gzip")], vec![0x1f, 0x8b]).into_response() }),
        );
    let address = server(router).await;
    let get = |path: &str| {
        let call = call(Method::GET, &format!("http://{address}{path}"));
        async move { caller().call("ann", call).await }
    };
    assert_eq!(get("/endless").await, Heard::TooLong);
    assert_eq!(get("/long").await, Heard::TooLong);
    assert!(matches!(get("/just").await, Heard::Answer { body, .. } if body.len() == 1_024));
    assert_eq!(get("/zip").await, Heard::Broken);
}

#[tokio::test]
async fn caller_does_not_follow_redirects() {
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hits);
    let router = Router::new()
        .route("/from", any(|| async { (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/to")]) }))
        .route(
            "/to",
            any(move || async move {
                counted.fetch_add(1, Ordering::SeqCst);
            }),
        );
    let address = server(router).await;
    let heard = caller().call("ann", call(Method::POST, &format!("http://{address}/from"))).await;
    assert!(matches!(heard, Heard::Answer { status: 307, .. }), "{heard:?}");
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn caller_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let drip = || async {
        let chunks = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Some((Ok::<_, io::Error>(vec![b'x']), ()))
        });
        Body::from_stream(chunks).into_response()
    };
    let dripping = server(Router::new().route("/", get(drip))).await;
    for address in [silent.local_addr().unwrap(), dripping] {
        let call =
            Call { timeout: Duration::from_millis(300), ..call(Method::GET, &format!("http://{address}/")) };
        assert_eq!(caller().call("ann", call).await, Heard::Failed(Failure::Timeout));
    }
}

#[tokio::test]
async fn caller_respects_the_guard_also_when_dns_changes() {
    struct Rebinds(AtomicUsize);
    impl Lookup for Rebinds {
        fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
            let address: IpAddr = if first { "93.184.216.34" } else { "127.0.0.1" }.parse().unwrap();
            Box::pin(async move { Ok(vec![address]) })
        }
    }
    install_tls();
    let guarded = Caller::new(Guard::default()).unwrap();
    for url in
        ["https://127.0.0.1/", "http://example.com/", "https://[::1]/", "https://169.254.169.254/latest"]
    {
        assert_eq!(
            guarded.call("ann", call(Method::GET, url)).await,
            Heard::Failed(Failure::Refused),
            "{url}"
        );
    }
    let inner = Caller::with_lookup(Guard::default(), Arc::new(Rebinds(AtomicUsize::new(1)))).unwrap();
    assert_eq!(
        inner.call("ann", call(Method::GET, "https://rebinds.example/")).await,
        Heard::Failed(Failure::RefusedAddress)
    );
}
