//! The attackers: bounded crowds of connections from a few loopback addresses.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The largest body that is taken.
const BODY: usize = 4 * 1_024 * 1_024;
/// The attackers come from so many addresses, the healthy client from another one.
const ADDRESSES: usize = 5;
/// How long an attacker waits before it tries once more: what `Retry-After` asks for.
const AGAIN: Duration = Duration::from_secs(2);

/// The kinds of attacks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attack {
    UnreadAnswers,
    UnreadCompressed,
    UnfinishedBodies,
    ManyValues,
    SilentConnections,
}

impl Attack {
    pub(crate) const ALL: [Self; 5] = [
        Self::UnreadAnswers,
        Self::UnreadCompressed,
        Self::UnfinishedBodies,
        Self::ManyValues,
        Self::SilentConnections,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UnreadAnswers => "100 unread answers of 30 MB",
            Self::UnreadCompressed => "100 unread compressed answers",
            Self::UnfinishedBodies => "600 unfinished 4 MiB bodies",
            Self::ManyValues => "50 bodies of two million numbers",
            Self::SilentConnections => "1,100 silent connections",
        }
    }

    fn crowd(self) -> usize {
        match self {
            Self::UnreadAnswers | Self::UnreadCompressed => 100,
            Self::UnfinishedBodies => 600,
            Self::ManyValues => 50,
            Self::SilentConnections => 1_100,
        }
    }

    /// What is sent on each connection: a head, and a body that lacks nothing but its end where it is to be unfinished.
    fn request(self, key: &str) -> (String, Vec<u8>) {
        let head = |line: &str, more: &str| {
            format!("{line} HTTP/1.1\r\nhost: attacked\r\nauthorization: Bearer {key}\r\n{more}\r\n")
        };
        let list = "GET /v1/dev/user/conversations?limit=100&include_transcript=true";
        let post = "POST /v1/dev/user/memories";
        let length = format!("content-type: application/json\r\ncontent-length: {BODY}\r\n");
        match self {
            Self::UnreadAnswers => (head(list, ""), Vec::new()),
            Self::UnreadCompressed => {
                // Small enough that many of them fit, so that each keeps an encoder.
                let list = list.replace("limit=100", "limit=1");
                (head(&list, "accept-encoding: gzip\r\n"), Vec::new())
            }
            Self::UnfinishedBodies => (head(post, &length), vec![b' '; BODY - 1]),
            Self::ManyValues => {
                let mut body = b"{\"content\":[".to_vec();
                body.resize(BODY - 3, b'0');
                body.iter_mut().skip(13).step_by(2).for_each(|byte| *byte = b',');
                body.extend_from_slice(b"0]}");
                (head(post, &length), body)
            }
            Self::SilentConnections => (String::new(), Vec::new()),
        }
    }
}

/// What the attackers count.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    connected: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    closed: AtomicU64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [connected, answered, refused, closed] =
            [&self.connected, &self.answered, &self.refused, &self.closed].map(|count| count.load(Relaxed));
        write!(
            f,
            "{connected} connected, {answered} times 200, {refused} times another status, {closed} closed"
        )
    }
}

/// Attacks until `stop`; a client that is refused tries again.
pub(crate) async fn crowd(
    attack: Attack,
    service: SocketAddr,
    key: String,
    counts: Arc<Counts>,
    stop: CancellationToken,
) {
    let (head, body) = attack.request(&key);
    let request = Arc::new((head, body));
    let attackers = (0..attack.crowd()).map(|number| {
        let (request, counts, stop) = (Arc::clone(&request), Arc::clone(&counts), stop.clone());
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            loop {
                if let Some(line) = connect(service, number).await {
                    counts.connected.fetch_add(1, Relaxed);
                    attend(line, &request, &counts).await;
                }
                sleep(AGAIN).await;
            }
        }))
    });
    join_all(attackers.collect::<Vec<_>>()).await;
}

/// From one of a few addresses.
async fn connect(service: SocketAddr, number: usize) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    let last = u8::try_from(number % ADDRESSES).ok()? + 2;
    socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).ok()?;
    timeout(Duration::from_secs(5), socket.connect(service)).await.ok()?.ok()
}

/// Sends, reads how an answer begins, and stays until it is closed.
async fn attend(mut line: TcpStream, request: &(String, Vec<u8>), counts: &Counts) {
    let sent = async {
        line.write_all(request.0.as_bytes()).await?;
        line.write_all(&request.1).await
    };
    // What is refused is not read to its end: the answer may be there although not all was sent.
    let _broken = sent.await;
    let mut begins = [0; 12];
    match line.read_exact(&mut begins).await {
        Ok(_) if begins.ends_with(b"200") => {
            counts.answered.fetch_add(1, Relaxed);
            // Nothing more is read; the service closes the connection when nothing is taken for a while.
            line.writable().await.ok();
            sleep(Duration::from_secs(60)).await;
        }
        Ok(_) => {
            counts.refused.fetch_add(1, Relaxed);
        }
        Err(_) => {
            counts.closed.fetch_add(1, Relaxed);
        }
    }
}
