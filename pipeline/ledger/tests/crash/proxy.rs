//! A proxy between a process and its database, which counts statements and closes the connection at a given one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

/// Whether the connection ends before or after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never receives it.
    Before,
    /// The server executes it; the process gets no answer.
    After,
}

/// A proxy on a socket of its own; it ends with the test.
pub(crate) struct Proxy {
    dir: PathBuf,
    upstream: PgConnectOptions,
    state: Arc<State>,
}

struct State {
    /// The statement to cut at, from 1; 0: none.
    at: AtomicUsize,
    after: AtomicUsize,
    seen: AtomicUsize,
    dead: watch::Sender<bool>,
}

impl State {
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
        let state = Arc::new(State {
            at: AtomicUsize::new(0),
            after: AtomicUsize::new(0),
            seen: AtomicUsize::new(0),
            dead: watch::Sender::new(false),
        });
        let proxy = Self { dir, upstream: upstream.clone(), state: Arc::clone(&state) };
        let upstream = upstream.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !*state.dead.borrow() {
                    tokio::spawn(relay(client, upstream.clone(), Arc::clone(&state)));
                }
            }
        });
        proxy
    }

    /// The options to connect through it.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.upstream.clone().socket(&self.dir).ssl_mode(PgSslMode::Disable)
    }

    /// Counts statements from now on, and closes all connections at the `statement`th.
    pub(crate) fn arm(&self, statement: usize, cut: Cut) {
        self.state.after.store(usize::from(cut == Cut::After), Ordering::SeqCst);
        self.state.seen.store(0, Ordering::SeqCst);
        self.state.at.store(statement, Ordering::SeqCst);
    }

    pub(crate) fn has_hung_up(&self) -> bool {
        *self.state.dead.borrow()
    }

    pub(crate) async fn hung_up(&self) {
        let mut dead = self.state.dead.subscribe();
        dead.wait_for(|dead| *dead).await.unwrap();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.hang_up();
        let _best_effort = std::fs::remove_dir_all(&self.dir);
    }
}

/// Relays both ways until the cut, or until one side closes.
async fn relay(client: UnixStream, upstream: PgConnectOptions, state: Arc<State>) {
    let (from_client, to_client) = client.into_split();
    let mut dead = state.dead.subscribe();
    let relayed = async {
        match upstream.get_socket() {
            Some(dir) => {
                let path = dir.join(format!(".s.PGSQL.{}", upstream.get_port()));
                let (from_server, to_server) = UnixStream::connect(path).await.unwrap().into_split();
                relay_messages(from_client, to_client, from_server, to_server, &state).await;
            }
            None => {
                let place = (upstream.get_host().to_owned(), upstream.get_port());
                let (from_server, to_server) = TcpStream::connect(place).await.unwrap().into_split();
                relay_messages(from_client, to_client, from_server, to_server, &state).await;
            }
        }
    };
    tokio::select! {
        () = relayed => {}
        _ = dead.wait_for(|dead| *dead) => {}
    }
}

/// The number of pending answers of a connection, and whether it is cut once they have arrived.
#[derive(Default)]
struct Pending {
    answers: AtomicUsize,
    draining: AtomicUsize,
}

async fn relay_messages(
    from_client: impl AsyncRead + Unpin,
    to_client: impl AsyncWrite + Unpin,
    from_server: impl AsyncRead + Unpin,
    to_server: impl AsyncWrite + Unpin,
    state: &State,
) {
    let pending = Pending::default();
    tokio::select! {
        _ = requests(from_client, to_server, state, &pending) => {}
        _ = responses(from_server, to_client, state, &pending) => {}
    }
}

/// The process's messages. `Q` and `E` are statements, `Q` and `S` are answered when they are done.
async fn requests(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    state: &State,
    pending: &Pending,
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
            match state.is_reached() {
                Some(Cut::Before) => {
                    state.hang_up();
                    return Ok(());
                }
                Some(Cut::After) => last = true,
                None => {}
            }
        }
        if matches!(kind, b'Q' | b'S') {
            pending.answers.fetch_add(1, Ordering::SeqCst);
            if last {
                pending.draining.store(1, Ordering::SeqCst);
            }
        }
        to.write_all(&frame).await?;
        if last && matches!(kind, b'Q' | b'S') {
            // Nothing more is relayed; the last answer ends the connection.
            std::future::pending::<()>().await;
        }
    }
}

/// The server's messages: relayed, or after the cut dropped up to the last `Z`.
async fn responses(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    state: &State,
    pending: &Pending,
) -> std::io::Result<()> {
    let mut is_started = false;
    loop {
        let frame = frame(&mut from).await?;
        let is_done = frame[0] == b'Z';
        // The first one ends the start-up; it answers no statement.
        let left = match (is_done, is_started) {
            (true, true) => pending.answers.fetch_sub(1, Ordering::SeqCst) - 1,
            _ => usize::MAX,
        };
        is_started |= is_done;
        if pending.draining.load(Ordering::SeqCst) == 1 {
            if left == 0 {
                state.hang_up();
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
