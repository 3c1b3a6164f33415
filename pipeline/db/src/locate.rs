//! Where sessions are opened: of several addresses, at the server that accepts writes.
//!
//! The driver knows one address. Here the servers of a list are asked, at the start ([`Db::locate`]) and whenever an operation
//! fails in a way that a failover could explain, and the pools are given the address of the one that writes: every session of a process is
//! opened with the options of its pool. Where that server has Citus and there are several shards, it is the address of the node that
//! holds the shard, and is asked for again and again: a shard that was moved refuses nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use parking_lot::Mutex;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::{sync::Notify, time::timeout};

use crate::{
    Db, Error, Shard,
    deadline::SuspectConnections,
    error::reason,
    query_scalar,
    shard::{Owner, at_owner, owner},
    sql,
};

/// How long one server may take to let a session in and to say whether it writes.
const ANSWER: Duration = Duration::from_secs(2);

/// The time between two searches, so that a database that is away for long is not flooded with connections.
const AGAIN: Duration = Duration::from_secs(1);

/// How often it is asked whether the shard is still where its sessions are opened.
const LOOK: Duration = Duration::from_secs(10);

/// The addresses of one database, in the order in which they were written: of its only server, or of several of which one
/// accepts writes and the others follow it.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    first: PgConnectOptions,
    others: Vec<PgConnectOptions>,
}

impl Hosts {
    /// Several addresses. There is at least one.
    pub fn new(first: PgConnectOptions, others: Vec<PgConnectOptions>) -> Self {
        Self { first, others }
    }

    pub fn first(&self) -> &PgConnectOptions {
        &self.first
    }

    pub fn iter(&self) -> impl Iterator<Item = &PgConnectOptions> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether there is something to look for.
    fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// The same addresses for other sessions.
    pub(crate) fn map(self, change: impl Fn(PgConnectOptions) -> PgConnectOptions) -> Self {
        Self { first: change(self.first), others: self.others.into_iter().map(change).collect() }
    }
}

impl From<PgConnectOptions> for Hosts {
    fn from(only: PgConnectOptions) -> Self {
        Self::new(only, Vec::new())
    }
}

/// What a process knows of where its database may be. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Locator(Arc<Inner>);

struct Inner {
    hosts: Hosts,
    shard: Shard,
    suspects: SuspectConnections,
    /// Wakes the search in the background.
    wanted: Notify,
    /// The server was seen to have Citus: a shard may be at any of its nodes.
    is_divided: AtomicBool,
    /// The server that was found last, whichever node holds the shard.
    writer: Mutex<Option<PgConnectOptions>>,
}

impl Locator {
    pub(crate) fn new(hosts: Hosts, shard: Shard, suspects: SuspectConnections) -> Self {
        Self(Arc::new(Inner {
            hosts,
            shard,
            suspects,
            wanted: Notify::new(),
            is_divided: AtomicBool::new(false),
            writer: Mutex::new(None),
        }))
    }

    /// Whether the server that a session belongs to may be another one than it was.
    fn searches(&self) -> bool {
        self.0.hosts.are_several() || self.0.is_divided.load(Ordering::Relaxed)
    }

    /// How the server is reached that was found last, whichever node holds the shard: what changes the schema is said there.
    pub(crate) fn writer(&self) -> PgConnectOptions {
        let writer = self.0.writer.lock();
        writer.clone().unwrap_or_else(|| self.0.hosts.first().clone())
    }

    /// Starts a search, or has the one that runs look once more.
    pub(crate) fn seek(&self) {
        self.0.wanted.notify_one();
    }

    /// What is asked at the beginning of every session, where there are several addresses.
    ///
    /// # Errors
    /// When the server only reads: the pool opens another session, at the server that is found meanwhile.
    pub(crate) async fn check(&self, session: &mut PgConnection) -> Result<(), sqlx::Error> {
        if !self.0.hosts.are_several() || writes(session).await? {
            return Ok(());
        }
        self.seek();
        Err(sqlx::Error::Configuration("the server only reads".into()))
    }

    /// Searches when it is asked to, until the pools are closed.
    pub(crate) fn watch(&self, pools: [PgPool; 2]) {
        let has_nodes = !self.0.shard.is_only();
        if !has_nodes && !self.0.hosts.are_several() {
            return;
        }
        let locator = self.clone();
        tokio::spawn(async move {
            let mut closed = pools[0].close_event();
            let searches = async {
                let mut is_told = false;
                loop {
                    let wanted = timeout(LOOK, locator.0.wanted.notified()).await.is_ok();
                    let is_due = match wanted {
                        true => locator.searches(),
                        false => has_nodes && locator.has_left(&pools[0]).await,
                    };
                    if !is_due {
                        continue;
                    }
                    let begun = Instant::now();
                    match locator.point(&pools).await {
                        Ok(_) => is_told = false,
                        Err(error) => {
                            if !std::mem::replace(&mut is_told, true) {
                                tracing::warn!(shard = %locator.0.shard, %error, "no server accepts writes: it is looked for until one does");
                            }
                            locator.seek();
                        }
                    }
                    tokio::time::sleep(AGAIN.saturating_sub(begun.elapsed())).await;
                }
            };
            // It ends with the first of both.
            let _ = closed.do_until(searches).await;
        });
    }

    /// Finds the server, and has the pools open their sessions there from now on.
    ///
    /// # Errors
    /// When none accepts writes: the pools stay as they are.
    async fn point(&self, pools: &[PgPool; 2]) -> Result<bool, sqlx::Error> {
        let Inner { hosts, shard, suspects, .. } = &*self.0;
        let found = writer(hosts).await?;
        let known = self.0.writer.lock().replace(found.clone());
        let [before, _] = pools.each_ref().map(PgPool::connect_options);
        let found = if shard.is_only() { found } else { self.owner(found, &before).await };
        if host_and_port(&before) == host_and_port(&found) {
            return Ok(false);
        }
        for pool in pools {
            pool.set_connect_options(found.clone());
        }
        // What is open is right as long as it lives, but at another place.
        suspects.replan();
        // A command says nothing of where it found its shards.
        let server = host_and_port(&found);
        match known {
            None => tracing::debug!(%shard, server, "sessions are opened at this server"),
            Some(_) => tracing::info!(%shard, server, "sessions are opened at this server from now on"),
        }
        Ok(true)
    }
}

impl Locator {
    /// How the node is reached that holds the shard; `server`, where that is itself, is not known, or never let a session in. One
    /// that did (`before`) is waited for: when it is down, no other has its rows.
    async fn owner(&self, server: PgConnectOptions, before: &PgConnectOptions) -> PgConnectOptions {
        let shard = self.0.shard;
        let asked = async {
            let mut session = server.connect().await?;
            let found = owner(&mut session).await?;
            leave(session).await;
            Ok::<_, sqlx::Error>(found)
        };
        let owner = timeout(ANSWER, asked).await;
        let Ok(Ok(owner)) = owner else { return server };
        self.0.is_divided.store(owner != Owner::Undivided, Ordering::Relaxed);
        let Owner::Node(name, port) = owner else { return server };
        // A socket's directory would be taken for the node's, too.
        if server.get_socket().is_some() {
            return server;
        }
        let opened = timeout(ANSWER, at_owner((&name, port), shard, &server)).await;
        match opened.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))) {
            Ok(options) => options,
            Err(_) if before.get_host() == name && before.get_port() == port => before.clone(),
            Err(error) => {
                tracing::warn!(
                    %shard, node = format!("{name}:{port}"), why = why(&error), server = host_and_port(&server),
                    "the node that holds the shard lets no session in: its sessions are opened at the server that was named, \
                     which is slower"
                );
                server
            }
        }
    }

    /// Whether the shard was moved away from the node to which the pool's sessions lead. One that does not answer has not said so.
    async fn has_left(&self, pool: &PgPool) -> bool {
        let asked = timeout(ANSWER, async {
            let mut session = pool.acquire().await?;
            owner(&mut session).await
        });
        let Ok(Ok(owner)) = asked.await else { return false };
        self.0.is_divided.store(owner != Owner::Undivided, Ordering::Relaxed);
        matches!(owner, Owner::Node(..))
    }
}

impl Db {
    /// Waits until it is known where sessions are to be opened. Where there is one address and one shard, that is known.
    ///
    /// # Errors
    /// When no server of the list accepts writes: says of each why.
    pub async fn locate(&self) -> Result<(), Error> {
        if self.locator.searches() || !self.shard.is_only() {
            self.locator.point(&[self.pool.clone(), self.renewals.clone()]).await?;
        }
        Ok(())
    }
}

/// A session at a server, and whether it accepts writes.
struct Asked {
    session: PgConnection,
    writes: bool,
}

/// The server that accepts writes. Of several that do, the one that was promoted last: the others were left behind by a
/// failover and came back. Of equals, the first.
async fn writer(hosts: &Hosts) -> Result<PgConnectOptions, sqlx::Error> {
    let asked = join_all(hosts.iter().map(|host| timeout(ANSWER, ask(host)))).await;
    let (mut writers, mut silent) = (Vec::new(), Vec::new());
    for (host, asked) in hosts.iter().zip(asked) {
        match asked.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))) {
            Ok(Asked { session, writes: true }) => writers.push((host, session)),
            Ok(Asked { session, writes: false }) => {
                silent.push(format!("{} only reads", host_and_port(host)));
                leave(session).await;
            }
            Err(error) => silent.push(format!("{}: {}", host_and_port(host), why(&error))),
        }
    }
    let are_several = writers.len() > 1;
    let mut best: Option<(&PgConnectOptions, i64)> = None;
    for (host, mut session) in writers {
        let promoted = if are_several { timeline(&mut session).await } else { 0 };
        if best.is_some_and(|(_, newest)| newest != promoted) {
            tracing::error!(
                server = host_and_port(host),
                "two servers of the list accept writes, and one of them is older: a failover left it behind; stop it"
            );
        }
        if best.is_none_or(|(_, newest)| promoted > newest) {
            best = Some((host, promoted));
        }
        leave(session).await;
    }
    let found = best.map(|(host, _)| host.clone());
    found.ok_or_else(|| {
        sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::NotConnected, silent.join("; ")))
    })
}

async fn ask(host: &PgConnectOptions) -> Result<Asked, sqlx::Error> {
    let mut session = host.connect().await?;
    let writes = writes(&mut session).await?;
    Ok(Asked { session, writes })
}

/// Whether the server accepts writes of this session, as libpq asks for `target_session_attrs=read-write`.
pub async fn writes(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    query_scalar!("servers/writes.sql").fetch_one(session).await
}

/// How often a server's history was promoted; 0 where the server does not say.
async fn timeline(session: &mut PgConnection) -> i64 {
    const TIMELINE: &str = sql!("servers/timeline.sql");
    match timeout(ANSWER, sqlx::query_scalar(TIMELINE).fetch_one(session)).await {
        Ok(Ok(number)) => number,
        _ => 0,
    }
}

/// A server that is silent is not waited for.
async fn leave(session: PgConnection) {
    let _ = timeout(ANSWER, session.close()).await;
}

/// The host, or the socket's directory, and the port.
fn host_and_port(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(directory) => format!("{}:{}", directory.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

fn why(error: &sqlx::Error) -> String {
    reason(error).unwrap_or_else(|| "no session".to_owned())
}
