//! Live clients that flood: what they are owed is bounded, because it takes the memory of others.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::process::{PATIENCE, Process};
use crate::socket::open;
use crate::world::World;

/// A masked ping with 125 bytes, and as many of them as are sent at once.
const PING: usize = 6 + 125;
const AT_ONCE: usize = 1_000;
/// More than the service and the buffers of both ends keep.
const SENT: usize = 48 << 20;
const KEPT: usize = 32 << 20;

#[tokio::test]
async fn live_client_that_sends_pings_and_reads_nothing_is_not_kept_every_answer() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let addr = process.api.strip_prefix("http://").expect("an address").parse().expect("an address");
    let socket = TcpSocket::new_v4().expect("there are sockets");
    socket.set_recv_buffer_size(4_096).expect("it may be small");
    let mut socket = socket.connect(addr).await.expect("the service listens");
    let request = format!(
        "GET /v4/listen?uid=u1&custom_stt=enabled HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        world.key()
    );
    socket.write_all(request.as_bytes()).await.expect("it is read");
    let pings = [&[0x89, 0x80 | 125, 0, 0, 0, 0][..], &[b'a'; 125]].concat().repeat(AT_ONCE);
    let mut sent = 0;
    while sent < SENT && matches!(timeout(PATIENCE, socket.write_all(&pings)).await, Ok(Ok(()))) {
        sent += AT_ONCE * PING;
    }
    assert!(sent >= SENT, "it is read on: {sent}");

    let (mut told, mut answers) = (0, vec![0; 1 << 20]);
    while let Ok(Ok(read @ 1..)) = timeout(Duration::from_secs(2), socket.read(&mut answers)).await {
        told += read;
    }

    assert!(told > PING && told < KEPT, "{told}");
}

/// The connection was reset while the frame was still being sent, and its client saw 1006.
#[tokio::test]
async fn live_client_that_sends_a_huge_frame_reads_the_close_code() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let opened = open(&process.api, "u1", world.key(), "custom_stt=enabled").await;
    let mut socket = opened.expect("the socket opens");
    let _ = timeout(PATIENCE, socket.send(Message::text("x".repeat(10_000_000)))).await;
    let code = loop {
        match timeout(PATIENCE, socket.next()).await.expect("the socket is closed") {
            Some(Ok(Message::Close(frame))) => break frame.map(|frame| u16::from(frame.code)),
            Some(Ok(_)) => {}
            lost => panic!("{lost:?}"),
        }
    };
    assert_eq!(code, Some(1009));
}
