//! What a proxy is sent for a call through it.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::time::Duration;

use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Method, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use upstream::{Client, Connections};

/// The head of the request that a proxy gets for `url`, which it answers with 200.
async fn heard(url: &str) -> (String, Option<u16>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://ann:secret@{}", listener.local_addr().unwrap());
    let proxies = Matcher::builder().all(proxy).no("direct.example").build();
    let connections = Connections {
        connect_timeout: Duration::from_secs(2),
        quiet: Duration::from_secs(10),
        sign_of_life: Duration::from_secs(10),
        asked_while_idle: false,
        idle_per_host: 1,
        idle_for: Duration::from_secs(10),
        http2_only: false,
    };
    let client = Client::new(GaiResolver::new(), &connections, Some(proxies)).unwrap();
    let request = Request::new(Method::GET, url.parse().unwrap());
    let call =
        tokio::spawn(async move { client.send(request).await.ok().map(|answer| answer.status().as_u16()) });
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut head = vec![0; 4_096];
    let length = socket.read(&mut head).await.unwrap();
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    drop(socket);
    (String::from_utf8(head[..length].to_vec()).unwrap().to_lowercase(), call.await.unwrap())
}

#[tokio::test]
async fn call_over_http_tells_the_proxy_the_whole_url_and_who_asks() {
    let (head, status) = heard("http://models.example/v1/models").await;
    assert!(head.starts_with("get http://models.example/v1/models http/1.1"), "{head}");
    assert!(head.contains("proxy-authorization: basic yw5uonnly3jlda=="), "{head}");
    assert_eq!(status, Some(200));
}

#[tokio::test]
async fn call_over_https_goes_through_a_tunnel() {
    let (head, status) = heard("https://models.example/v1/models").await;
    assert!(head.starts_with("connect models.example:443 http/1.1"), "{head}");
    assert!(head.contains("proxy-authorization: basic yw5uonnly3jlda=="), "{head}");
    assert!(head.contains("user-agent: listen/"), "{head}");
    assert_eq!(status, None, "what ends behind the tunnel's head is no TLS");
}
