//! Clients of the interface: one connection each, kept alive, one request after the other. They speak just enough
//! HTTP, so that what is measured is the service and not its clients.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection to the service.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), body: Vec::new() }
    }

    /// Posts without a body and gives the status.
    pub(crate) async fn post(&mut self, path: &str, key: &str) -> u16 {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\ncontent-length: 0\r\n\r\n"
        );
        self.stream.get_mut().write_all(head.as_bytes()).await.unwrap();
        self.answer().await
    }

    /// Gets and gives the status.
    pub(crate) async fn get(&mut self, path: &str, key: &str) -> u16 {
        let head = format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\r\n");
        self.stream.get_mut().write_all(head.as_bytes()).await.unwrap();
        self.answer().await
    }

    /// Posts JSON and gives the status.
    pub(crate) async fn post_json(&mut self, path: &str, key: &str, body: &str) -> u16 {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\
             accept: application/json\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all(head.as_bytes()).await.unwrap();
        self.stream.get_mut().write_all(body.as_bytes()).await.unwrap();
        self.answer().await
    }

    /// The body of the last answer.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    async fn answer(&mut self) -> u16 {
        let status = self.line().await.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let mut length = 0;
        loop {
            let line = self.line().await;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).await.unwrap();
        status
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }
}
