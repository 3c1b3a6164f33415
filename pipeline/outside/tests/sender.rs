//! A sender against a receiver on this machine: hostile names, redirects, endless and slow answers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set itself up must fail")]

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::post;
use axum::{Router, response::IntoResponse};
use futures::future::BoxFuture;
use outside::{Answer, Failure, Guard, Lookup, Sender, Url};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Answers each name from a table, one answer after the other; the last one stays.
#[derive(Default)]
struct Names {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Names {
    fn of(name: &str, answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: HashMap::from([(name.to_owned(), answers.iter().map(parse).collect())]),
            asked: AtomicUsize::new(0),
        })
    }
}

impl Lookup for Names {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.answers.get(name).map(|list| list[turn.min(list.len() - 1)].clone());
        Box::pin(async move { found.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

fn install_tls() {
    // Fails when another test of this process was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn sender(allow: &[&str], names: Arc<Names>) -> Sender {
    install_tls();
    let guard = Guard::new(allow.iter().map(|range| range.parse().unwrap()).collect());
    Sender::with_lookup(guard, names).unwrap()
}

async fn receiver(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn counting(hits: &Arc<AtomicUsize>) -> Router {
    let hits = Arc::clone(hits);
    Router::new().route(
        "/hook",
        post(move || async move {
            hits.fetch_add(1, Ordering::SeqCst);
        }),
    )
}

async fn call(sender: &Sender, url: &str) -> Answer {
    sender.post("ann", &Url::parse(url).unwrap(), vec![], b"{}".to_vec()).await
}

const OK: Answer = Answer::Status { code: 200, retry_after: None };

#[tokio::test]
async fn sender_posts_headers_and_body() {
    let (heard, mut hears) = mpsc::channel::<(HeaderMap, Bytes)>(1);
    let router = Router::new().route(
        "/hook",
        post(move |headers: HeaderMap, body: Bytes| async move {
            heard.send((headers, body)).await.unwrap();
            StatusCode::ACCEPTED
        }),
    );
    let address = receiver(router).await;
    let sender = sender(&["127.0.0.0/8"], Arc::default());
    let url = Url::parse(&format!("http://{address}/hook?uid=u1")).unwrap();
    let headers = vec![("webhook-id".to_owned(), "msg_1".to_owned())];
    let answer = sender.post("ann", &url, headers, b"\x00body".to_vec()).await;
    assert_eq!(answer, Answer::Status { code: 202, retry_after: None });
    let (headers, body) = hears.recv().await.unwrap();
    assert_eq!(headers["webhook-id"], "msg_1");
    assert_eq!(&body[..], b"\x00body");
}

#[test]
fn sender_ignores_the_environments_proxy() {
    // Only a process can be born into another environment: this program once more, for one test.
    let mut once_more = std::process::Command::new(std::env::current_exe().unwrap());
    once_more.args(["--exact", "sender_posts_headers_and_body"]);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        once_more.env(name, "http://127.0.0.1:9");
    }
    assert!(once_more.output().unwrap().status.success());
}

#[tokio::test]
async fn sender_times_out_a_hanging_tls_handshake() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let sender = sender(&["127.0.0.0/8"], Arc::default());
    let url = format!("https://{}/hook", silent.local_addr().unwrap());
    let answer = timeout(Duration::from_secs(12), call(&sender, &url)).await;
    assert_eq!(answer, Ok(Answer::Failed(Failure::Timeout)));
}

#[tokio::test]
async fn sender_reports_a_name_without_addresses_as_unreachable() {
    let sender = sender(&[], Names::of("nowhere.example", &[&[]]));
    assert_eq!(call(&sender, "https://nowhere.example/hook").await, Answer::Failed(Failure::Unreachable));
}

#[tokio::test]
async fn sender_refuses_a_name_with_a_private_address_without_connecting() {
    let hits = Arc::new(AtomicUsize::new(0));
    let port = receiver(counting(&hits)).await.port();
    for inner in [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "fd00::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "0.0.0.0",
        "::",
    ] {
        let sender = sender(&[], Names::of("evil.example", &[&[inner]]));
        assert_eq!(
            call(&sender, &format!("https://evil.example:{port}/hook")).await,
            Answer::Failed(Failure::RefusedAddress),
            "{inner}"
        );
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn sender_checks_literal_addresses_again_when_sending() {
    let hits = Arc::new(AtomicUsize::new(0));
    let port = receiver(counting(&hits)).await.port();
    let sender = sender(&[], Arc::default());
    for host in ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "[::1]"] {
        for scheme in ["http", "https"] {
            assert_eq!(
                call(&sender, &format!("{scheme}://{host}:{port}/hook")).await,
                Answer::Failed(Failure::Refused),
                "{host}"
            );
        }
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn sender_needs_all_addresses_allowed_over_plain_http() {
    let hits = Arc::new(AtomicUsize::new(0));
    let url = format!("http://inner.example:{}/hook", receiver(counting(&hits)).await.port());
    let allowed = sender(&["127.0.0.0/8"], Names::of("inner.example", &[&["127.0.0.1"]]));
    assert_eq!(call(&allowed, &url).await, OK);
    for found in [&["127.0.0.1", "8.8.8.8"][..], &["8.8.8.8"], &["127.0.0.1", "10.0.0.1"]] {
        let mixed = sender(&["127.0.0.0/8"], Names::of("inner.example", &[found]));
        assert_eq!(call(&mixed, &url).await, Answer::Failed(Failure::RefusedAddress), "{found:?}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn sender_judges_the_address_it_connects_to() {
    let hits = Arc::new(AtomicUsize::new(0));
    let router = counting(&hits).layer(axum::middleware::map_response(
        |mut response: axum::response::Response| async {
            response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
            response
        },
    ));
    let url = format!("http://turncoat.example:{}/hook", receiver(router).await.port());
    let names = Names::of("turncoat.example", &[&["127.0.0.1"], &["127.9.9.9"]]);
    let sender = sender(&["127.0.0.1/32"], names);
    assert_eq!(call(&sender, &url).await, OK);
    assert_eq!(call(&sender, &url).await, OK, "what was found is remembered for a while");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    assert_eq!(call(&sender, &url).await, Answer::Failed(Failure::RefusedAddress));
    assert_eq!(hits.load(Ordering::SeqCst), 2);
}

/// Never answers.
struct Silent;

impl Lookup for Silent {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn sender_times_out_dns_after_three_seconds() {
    install_tls();
    let sender = Sender::with_lookup(Guard::new(Vec::new()), Arc::new(Silent)).unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!(call(&sender, "https://slow.example/hook").await, Answer::Failed(Failure::Timeout));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}

/// A receiver that answers at once and then drips would hold a slot for as long as one that says nothing.
#[tokio::test]
async fn sender_does_not_wait_for_a_slow_body_behind_a_status() {
    let drip = || async {
        let bytes = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Some((Ok::<_, io::Error>(Bytes::from_static(b"x")), ()))
        });
        (StatusCode::SERVICE_UNAVAILABLE, Body::from_stream(bytes))
    };
    let address = receiver(Router::new().route("/hook", post(drip))).await;
    let sender = sender(&["127.0.0.0/8"], Arc::default());
    let url = format!("http://{address}/hook");
    let answer = timeout(Duration::from_secs(10), call(&sender, &url)).await;
    assert_eq!(answer, Ok(Answer::Status { code: 503, retry_after: None }));
}

/// The old address was called for half a minute, and five tries that fail in a row close an endpoint for another one.
#[tokio::test]
async fn sender_finds_a_receiver_that_has_moved_within_seconds() {
    let hits = Arc::new(AtomicUsize::new(0));
    let address = receiver(counting(&hits)).await;
    let names = Names::of("moved.example", &[&["127.0.0.2"], &["127.0.0.1"]]);
    let sender = sender(&["127.0.0.0/8"], Arc::clone(&names));
    let url = format!("http://moved.example:{}/hook", address.port());
    for _ in 0..2 {
        assert_eq!(call(&sender, &url).await, Answer::Failed(Failure::Unreachable));
    }
    assert_eq!(names.asked.load(Ordering::SeqCst), 1, "not asked for each try");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::time::resume();
    assert_eq!(call(&sender, &url).await, OK);
}

#[tokio::test]
async fn sender_resolves_names_of_the_hosts_file() {
    let found = outside::SystemLookup.lookup("localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    assert!(outside::SystemLookup.lookup("no-such-name.invalid").await.is_err());
}

#[tokio::test]
async fn sender_does_not_follow_redirects() {
    let hits = Arc::new(AtomicUsize::new(0));
    let redirects = [StatusCode::FOUND, StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
    for status in redirects {
        let router = counting(&hits)
            .route("/moved", post(move || async move { (status, [(header::LOCATION, "/hook")]) }));
        let address = receiver(router).await;
        let answer =
            call(&sender(&["127.0.0.0/8"], Arc::default()), &format!("http://{address}/moved")).await;
        assert_eq!(answer, Answer::Status { code: status.as_u16(), retry_after: None });
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn sender_reads_retry_after() {
    let answer_with = |value: &'static str| {
        post(move || async move {
            let headers = [(header::RETRY_AFTER, value), (header::DATE, "Fri, 15 Jan 2027 08:00:00 GMT")];
            (StatusCode::TOO_MANY_REQUESTS, headers).into_response()
        })
    };
    let router = Router::new()
        .route("/seconds", answer_with("90"))
        .route("/date", answer_with("Fri, 15 Jan 2027 08:01:30 GMT"))
        .route("/nonsense", answer_with("later"));
    let address = receiver(router).await;
    let sender = sender(&["127.0.0.0/8"], Arc::default());
    let wait = Some(Duration::from_secs(90));
    for (path, retry_after) in [("seconds", wait), ("date", wait), ("nonsense", None)] {
        let answer = call(&sender, &format!("http://{address}/{path}")).await;
        assert_eq!(answer, Answer::Status { code: 429, retry_after }, "{path}");
    }
}

/// Tells when the server lets go of an answer's body.
struct TellDrop(mpsc::Sender<usize>, usize);

impl Drop for TellDrop {
    fn drop(&mut self) {
        let _ = self.0.try_send(self.1);
    }
}

#[tokio::test]
async fn sender_cuts_endless_answers() {
    const CHUNK: usize = 16 * 1024;
    let (dropped, mut drops) = mpsc::channel(1);
    let router = Router::new().route(
        "/hook",
        post(move || async move {
            let endless = futures::stream::unfold(TellDrop(dropped, 0), |mut sent| async {
                sent.1 += CHUNK;
                Some((Ok::<_, io::Error>(Bytes::from_static(&[b'x'; CHUNK])), sent))
            });
            Body::from_stream(endless)
        }),
    );
    let address = receiver(router).await;
    let answer = call(&sender(&["127.0.0.0/8"], Arc::default()), &format!("http://{address}/hook")).await;
    assert_eq!(answer, OK);
    let sent = drops.recv().await.unwrap();
    // What was sent beyond the limit sat in the sockets' buffers.
    assert!(sent < 32 * 1024 * 1024, "{sent}");
}

#[tokio::test]
async fn sender_reports_refused_connections_and_invalid_headers() {
    // Bound and not listening: no other process is given its port meanwhile.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = socket.local_addr().unwrap();
    let sender = sender(&["127.0.0.0/8"], Names::of("known.example", &[&["127.0.0.1"]]));
    assert_eq!(call(&sender, &format!("http://{closed}/")).await, Answer::Failed(Failure::Unreachable));
    assert_eq!(call(&sender, "https://unknown.example/").await, Answer::Failed(Failure::Unreachable));
    let url = Url::parse(&format!("http://{closed}/")).unwrap();
    for (name, value) in [("x", "a\r\nb: c"), ("x y", "a"), ("", "a")] {
        let headers = vec![(name.to_owned(), value.to_owned())];
        assert_eq!(
            sender.post("ann", &url, headers, vec![]).await,
            Answer::Failed(Failure::Refused),
            "{name:?}"
        );
    }
}

#[tokio::test]
async fn sender_does_not_accept_plain_text_for_https() {
    let address = receiver(Router::new().route("/hook", post(|| async {}))).await;
    let answer = call(&sender(&["127.0.0.0/8"], Arc::default()), &format!("https://{address}/hook")).await;
    assert_eq!(answer, Answer::Failed(Failure::Unreachable));
}

#[tokio::test(start_paused = true)]
async fn sender_times_out_without_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("http://{address}/");
    let sender = sender(&["127.0.0.0/8"], Arc::default());
    let started = tokio::time::Instant::now();
    assert_eq!(call(&sender, &url).await, Answer::Failed(Failure::Timeout));
    assert!(started.elapsed() <= Duration::from_secs(16), "{:?}", started.elapsed());
}

/// One of a name's two addresses is silent: each call went to it alone, until the time for a connection was over.
#[tokio::test]
async fn sender_goes_on_to_a_names_next_address() {
    let hits = Arc::default();
    let port = receiver(counting(&hits)).await.port();
    let full = TcpSocket::new_v4().unwrap();
    full.bind(SocketAddr::from(([127, 0, 0, 2], port))).unwrap();
    let full = full.listen(1).unwrap();
    // It takes a few connections without accepting them, and answers no further one.
    let mut taken = Vec::new();
    let connect =
        async || timeout(Duration::from_millis(200), TcpStream::connect(full.local_addr().unwrap())).await;
    while let Ok(connection) = connect().await {
        taken.push(connection.unwrap());
    }
    let names = Names::of("hooks.example", &[&["127.0.0.2", "127.0.0.1"]]);
    let sender = sender(&["127.0.0.0/8"], names);
    assert_eq!(call(&sender, &format!("http://hooks.example:{port}/hook")).await, OK);
    assert_eq!(hits.load(Ordering::SeqCst), 1);
}

/// Answers each request with the size of a chunk that never ends: hyper reads it byte by byte.
fn zeros_without_end() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 4_096]);
            let mut sent = socket.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            while sent.is_ok() {
                sent = socket.write_all(&[b'0'; 65_536]);
            }
        }
    });
    address
}

#[tokio::test]
async fn zeros_without_end_hold_up_no_other_receiver() {
    let (sender, hits) = (sender(&["127.0.0.0/8"], Arc::default()), Arc::default());
    let other = format!("http://{}/hook", receiver(counting(&hits)).await);
    let posts = (0..5).map(|_| {
        let (sender, url) = (sender.clone(), format!("http://{}/hook", zeros_without_end()));
        tokio::spawn(async move { call(&sender, &url).await })
    });
    let posts: Vec<_> = posts.collect();

    // One thread for all of them, and code that is not optimized.
    let mut longest = Duration::ZERO;
    while !posts.iter().all(tokio::task::JoinHandle::is_finished) {
        let began = std::time::Instant::now();
        assert_eq!(call(&sender, &other).await, OK);
        longest = longest.max(began.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    for post in posts {
        assert_eq!(post.await.unwrap(), OK);
    }
    assert!(longest < Duration::from_secs(3), "{longest:?}");
}
