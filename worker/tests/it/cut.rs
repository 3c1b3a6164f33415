//! A line to the database that can be cut, or held, between the commit of a run's end, or of a try's, and its answer.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, Semaphore};

/// What becomes of the answer to the commit of an end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is dropped, and the connection with it.
    Cut,
    /// It waits until the line is let go.
    Held,
}

/// A line between a ledger and its database.
pub(crate) struct Line {
    pub(crate) options: PgConnectOptions,
    shared: Arc<Shared>,
    folder: PathBuf,
}

struct Shared {
    database: PathBuf,
    answer: Answer,
    /// Ends whose commit was answered by the server, and not yet by us.
    met: Semaphore,
    go: Semaphore,
    renewals: AtomicU32,
    renewed: Notify,
    only_once: AtomicBool,
}

impl Line {
    /// Only for a server on a socket of this machine, as the tests' own is.
    pub(crate) fn new(options: PgConnectOptions, answer: Answer) -> Option<Self> {
        let socket = format!(".s.PGSQL.{}", options.get_port());
        let database = options.get_socket()?.join(&socket);
        let folder = testbed::empty_directory("line");
        let listener = UnixListener::bind(folder.join(&socket)).unwrap();
        let shared = Arc::new(Shared {
            database,
            answer,
            met: Semaphore::new(0),
            go: Semaphore::new(0),
            renewals: AtomicU32::new(0),
            renewed: Notify::new(),
            only_once: AtomicBool::new(false),
        });
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Some(Self { options: options.socket(&folder), shared, folder })
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

impl Drop for Line {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// What one connection is about to do.
#[derive(Default)]
struct Doing {
    /// Completes a run or settles one otherwise, or ends a try to tell somebody.
    ends: bool,
    renews: bool,
    commits: bool,
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let server = UnixStream::connect(&shared.database).await.unwrap();
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let doing = Arc::new(Mutex::new(Doing::default()));
        tokio::spawn(ask(from_client, to_server, Arc::clone(&doing)));
        tokio::spawn(answer(from_server, to_client, doing, Arc::clone(&shared)));
    }
}

async fn ask(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, doing: Arc<Mutex<Doing>>) {
    let mut buffer = vec![0; 1 << 18];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..read]);
        {
            let mut doing = doing.lock().unwrap();
            doing.ends |= text.contains("update conversations") && text.contains("'completed'");
            doing.ends |= text.contains("from finalization_jobs where job_id = $1");
            doing.ends |= text.contains("deliveries d set status = $5");
            doing.ends |= text.contains("update push_deliveries set status = $5");
            doing.renews |= text.contains("j.user_id = any($1) and j.job_id = any($2)");
            doing.commits = text.contains("COMMIT");
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

async fn answer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    doing: Arc<Mutex<Doing>>,
    shared: Arc<Shared>,
) {
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
