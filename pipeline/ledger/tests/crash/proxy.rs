//! Stands between a process and its database, counts statements, and hangs up at the given one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

/// On which side of a statement the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never gets it.
    Before,
    /// The server has done it; the process never learns.
    After,
}

/// A proxy on a socket of its own; it ends with the test.
pub(crate) struct Proxy {
    dir: PathBuf,
    upstream: PgConnectOptions,
    inside: Arc<Inside>,
}

struct Inside {
    /// The statement to cut at, from 1; 0: none.
    at: AtomicUsize,
    after: AtomicUsize,
    seen: AtomicUsize,
    dead: watch::Sender<bool>,
}

impl Inside {
    /// Counts a statement; `Some` when this is the one.
    fn is_reached(&self) -> Option<Cut> {
        let at = self.at.load(Ordering::SeqCst);
        if at == 0 || self.seen.fetch_add(1, Ordering::SeqCst) + 1 != at {
            return None;
        }
        Some(if self.after.load(Ordering::SeqCst) == 1 { Cut::After } else { Cut::Before })
    }

    fn hang_up(&self) {
        self.dead.send_replace(true);
    }
}

impl Proxy {
    pub(crate) async fn start(upstream: &PgConnectOptions) -> Self {
        let dir = testbed::empty_directory("cut");
        let listener = UnixListener::bind(dir.join(format!(".s.PGSQL.{}", upstream.get_port()))).unwrap();
        let inside = Arc::new(Inside {
            at: AtomicUsize::new(0),
            after: AtomicUsize::new(0),
            seen: AtomicUsize::new(0),
            dead: watch::Sender::new(false),
        });
        let proxy = Self { dir, upstream: upstream.clone(), inside: Arc::clone(&inside) };
        let upstream = upstream.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !*inside.dead.borrow() {
                    tokio::spawn(relay(client, upstream.clone(), Arc::clone(&inside)));
                }
            }
        });
        proxy
    }

    /// How to connect through it.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.upstream.clone().socket(&self.dir).ssl_mode(PgSslMode::Disable)
    }

    /// From now on statements count, and the connections end at the `statement`th.
    pub(crate) fn arm(&self, statement: usize, cut: Cut) {
        self.inside.after.store(usize::from(cut == Cut::After), Ordering::SeqCst);
        self.inside.seen.store(0, Ordering::SeqCst);
        self.inside.at.store(statement, Ordering::SeqCst);
    }

    pub(crate) fn has_hung_up(&self) -> bool {
        *self.inside.dead.borrow()
    }

    pub(crate) async fn hung_up(&self) {
        let mut dead = self.inside.dead.subscribe();
        dead.wait_for(|dead| *dead).await.unwrap();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.inside.hang_up();
        let _best_effort = std::fs::remove_dir_all(&self.dir);
    }
}

/// Carries both ways until the cut, or until one side goes.
async fn relay(client: UnixStream, upstream: PgConnectOptions, inside: Arc<Inside>) {
    let (from_client, to_client) = client.into_split();
    let mut dead = inside.dead.subscribe();
    let carried = async {
        match upstream.get_socket() {
            Some(dir) => {
                let path = dir.join(format!(".s.PGSQL.{}", upstream.get_port()));
                let (from_server, to_server) = UnixStream::connect(path).await.unwrap().into_split();
                carry(from_client, to_client, from_server, to_server, &inside).await;
            }
            None => {
                let place = (upstream.get_host().to_owned(), upstream.get_port());
                let (from_server, to_server) = TcpStream::connect(place).await.unwrap().into_split();
                carry(from_client, to_client, from_server, to_server, &inside).await;
            }
        }
    };
    tokio::select! {
        () = carried => {}
        _ = dead.wait_for(|dead| *dead) => {}
    }
}

/// How many answers a connection owes, and whether it is to be cut once they have come.
#[derive(Default)]
struct Owed {
    answers: AtomicUsize,
    draining: AtomicUsize,
}

async fn carry(
    from_client: impl AsyncRead + Unpin,
    to_client: impl AsyncWrite + Unpin,
    from_server: impl AsyncRead + Unpin,
    to_server: impl AsyncWrite + Unpin,
    inside: &Inside,
) {
    let owed = Owed::default();
    tokio::select! {
        _ = questions(from_client, to_server, inside, &owed) => {}
        _ = answers(from_server, to_client, inside, &owed) => {}
    }
}

/// What the process says. `Q` and `E` are statements, `Q` and `S` are answered when they are done.
async fn questions(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    inside: &Inside,
    owed: &Owed,
) -> std::io::Result<()> {
    let mut startup = vec![0; 4];
    from.read_exact(&mut startup).await?;
    let length = u32::from_be_bytes([startup[0], startup[1], startup[2], startup[3]]) as usize;
    startup.resize(length, 0);
    from.read_exact(&mut startup[4..]).await?;
    to.write_all(&startup).await?;
    let mut last = false;
    loop {
        let frame = frame(&mut from).await?;
        let kind = frame[0];
        if matches!(kind, b'Q' | b'E') {
            match inside.is_reached() {
                Some(Cut::Before) => {
                    inside.hang_up();
                    return Ok(());
                }
                Some(Cut::After) => last = true,
                None => {}
            }
        }
        if matches!(kind, b'Q' | b'S') {
            owed.answers.fetch_add(1, Ordering::SeqCst);
            if last {
                owed.draining.store(1, Ordering::SeqCst);
            }
        }
        to.write_all(&frame).await?;
        if last && matches!(kind, b'Q' | b'S') {
            // Nothing more is carried; the answers end the connection.
            std::future::pending::<()>().await;
        }
    }
}

/// What the server answers: carried, or, when the cut has come, swallowed up to the last `Z`.
async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    inside: &Inside,
    owed: &Owed,
) -> std::io::Result<()> {
    let mut greeted = false;
    loop {
        let frame = frame(&mut from).await?;
        let is_done = frame[0] == b'Z';
        // The first one greets; it answers no statement.
        let left = match (is_done, greeted) {
            (true, true) => owed.answers.fetch_sub(1, Ordering::SeqCst) - 1,
            _ => usize::MAX,
        };
        greeted |= is_done;
        if owed.draining.load(Ordering::SeqCst) == 1 {
            if left == 0 {
                inside.hang_up();
                return Ok(());
            }
            continue;
        }
        to.write_all(&frame).await?;
    }
}

/// One message: its kind, its length, and the rest.
async fn frame(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut frame = vec![0; 5];
    from.read_exact(&mut frame).await?;
    let length = u32::from_be_bytes([frame[1], frame[2], frame[3], frame[4]]) as usize;
    frame.resize(length + 1, 0);
    from.read_exact(&mut frame[5..]).await?;
    Ok(frame)
}
