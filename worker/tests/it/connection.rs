//! A database connection that a test can cut or hold between the commit of a run's (or a delivery try's) end and its answer.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::{Notify, Semaphore};

/// What becomes of the answer to the commit of an end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is dropped, and the connection with it.
    Cut,
    /// It waits until the test lets it go.
    Held,
}

/// A connection between a ledger and its database.
pub(crate) struct Connection {
    pub(crate) options: PgConnectOptions,
    shared: Arc<Shared>,
    folder: PathBuf,
}

struct Shared {
    database: PgConnectOptions,
    answer: Answer,
    /// Ends whose commit was answered by the server, and not yet by us.
    met: Semaphore,
    go: Semaphore,
    renewals: AtomicU32,
    renewed: Notify,
    only_once: AtomicBool,
}

impl Connection {
    /// A socket of its own before the server, which is reached as `options` say: by a socket or by TCP.
    pub(crate) fn new(options: PgConnectOptions, answer: Answer) -> Self {
        let folder = testbed::empty_directory("line");
        let listener = UnixListener::bind(folder.join(socket_of(&options))).unwrap();
        let shared = Arc::new(Shared {
            database: options.clone(),
            answer,
            met: Semaphore::new(0),
            go: Semaphore::new(0),
            renewals: AtomicU32::new(0),
            renewed: Notify::new(),
            only_once: AtomicBool::new(false),
        });
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { options: options.socket(&folder).ssl_mode(PgSslMode::Disable), shared, folder }
    }

    /// Waits until an end is committed whose answer has not arrived.
    pub(crate) async fn committed(&self) {
        self.shared.met.acquire().await.unwrap().forget();
    }

    /// Waits until leases were renewed, or found over, that many times from now on.
    pub(crate) async fn renewals(&self, times: u32) {
        let until = self.shared.renewals.load(Ordering::SeqCst) + times;
        loop {
            let renewed = self.shared.renewed.notified();
            if self.shared.renewals.load(Ordering::SeqCst) >= until {
                return;
            }
            renewed.await;
        }
    }

    /// Lets a held answer arrive.
    pub(crate) fn let_go(&self) {
        self.shared.go.add_permits(1);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// What one connection is about to do.
#[derive(Default)]
struct Doing {
    /// Completes a run or settles one otherwise, or ends a try of a delivery.
    ends: bool,
    renews: bool,
    commits: bool,
}

fn socket_of(options: &PgConnectOptions) -> String {
    format!(".s.PGSQL.{}", options.get_port())
}

type FromServer = Box<dyn AsyncRead + Send + Unpin>;
type ToServer = Box<dyn AsyncWrite + Send + Unpin>;

async fn connect(database: &PgConnectOptions) -> (FromServer, ToServer) {
    match database.get_socket() {
        Some(folder) => {
            let (from, to) =
                UnixStream::connect(folder.join(socket_of(database))).await.unwrap().into_split();
            (Box::new(from), Box::new(to))
        }
        None => {
            let address = (database.get_host(), database.get_port());
            let (from, to) = TcpStream::connect(address).await.unwrap().into_split();
            (Box::new(from), Box::new(to))
        }
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = connect(&shared.database).await;
        let doing = Arc::new(Mutex::new(Doing::default()));
        tokio::spawn(ask(from_client, to_server, Arc::clone(&doing)));
        tokio::spawn(answer(from_server, to_client, doing, Arc::clone(&shared)));
    }
}

async fn ask(mut from: OwnedReadHalf, mut to: ToServer, doing: Arc<Mutex<Doing>>) {
    let mut buffer = vec![0; 1 << 18];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..read]);
        {
            let mut doing = doing.lock().unwrap();
            doing.ends |= text.contains("update conversations") && text.contains("'completed'");
            doing.ends |= text.contains("-- A job by its id alone");
            doing.ends |= text.contains("-- How a try of a delivery ended");
            doing.ends |= text.contains("-- How a try of a push ended");
            doing.renews |= text.contains("j.user_id = any($1) and j.job_id = any($2)");
            doing.commits = text.contains("COMMIT");
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

async fn answer(mut from: FromServer, mut to: OwnedWriteHalf, doing: Arc<Mutex<Doing>>, shared: Arc<Shared>) {
    let mut buffer = vec![0; 1 << 18];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let (is_end, is_renewal) = {
            let doing = doing.lock().unwrap();
            (doing.ends && doing.commits, doing.renews && doing.commits)
        };
        if is_end && !shared.only_once.swap(true, Ordering::SeqCst) {
            shared.met.add_permits(1);
            match shared.answer {
                Answer::Cut => return,
                Answer::Held => shared.go.acquire().await.unwrap().forget(),
            }
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        if is_renewal {
            shared.renewals.fetch_add(1, Ordering::SeqCst);
            shared.renewed.notify_waiters();
        }
    }
}
