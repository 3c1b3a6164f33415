//! Servers whose answers keep hyper busy, and what else the process does meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::time::{Duration, Instant};

use reqwest::{Method, Request, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use upstream::BoxError;

/// A server in a thread of its own that answers with `head`, and then with `rest` without end.
fn server(head: &'static str, rest: &'static str) -> Url {
    let (told, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap()).unwrap();
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 1_024];
            let _ = socket.read(&mut request).await.unwrap();
            let rest = rest.repeat(1_000);
            let mut sent = socket.write_all(head.as_bytes()).await;
            while sent.is_ok() {
                sent = socket.write_all(rest.as_bytes()).await;
            }
        });
    });
    Url::parse(&format!("http://{}", address.recv().unwrap())).unwrap()
}

#[tokio::test]
async fn server_whose_answer_never_pauses_holds_up_nothing_else() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (head, rest) in [
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "0000000000000000"),
        ("", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
    ] {
        let url = server(head, rest);
        let client = upstream::client(&url).unwrap();
        let call = async {
            let mut answer = client.send(Request::new(Method::GET, url.clone())).await?;
            while answer.chunk().await?.is_some() {}
            Ok::<_, BoxError>(())
        };
        // This runtime has one thread: the limit of a second is kept only where that thread is free.
        let began = Instant::now();
        let ended = tokio::time::timeout(Duration::from_secs(1), call).await;
        assert!(ended.is_err() && began.elapsed() < Duration::from_secs(10), "{head}{rest}: {ended:?}");
    }
}
