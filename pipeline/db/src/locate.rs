//! Where sessions are opened: of several addresses, at the server that accepts writes.
//!
//! The driver knows one address. Here the servers of a list are asked, at the start ([`Db::locate`]) and whenever an operation
//! fails in a way that a failover could explain, and the pools are given the address of the one that writes: every session of a process is
//! opened with the options of its pool.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::{sync::Notify, time::timeout};

use crate::{Db, Error, Shard, error::Doing};

/// How long one server may take to let a session in and to say whether it writes.
const ANSWER: Duration = Duration::from_secs(2);

/// The time between two searches, so that a database that is away for long is not flooded with connections.
const AGAIN: Duration = Duration::from_secs(1);

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

    /// The first of them.
    pub fn first(&self) -> &PgConnectOptions {
        &self.first
    }

    /// All of them.
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
    /// Wakes the search in the background.
    wanted: Notify,
}

impl Locator {
    pub(crate) fn new(hosts: Hosts, shard: Shard) -> Self {
        Self(Arc::new(Inner { hosts, shard, wanted: Notify::new() }))
    }

    /// Whether the server that a session belongs to must be looked for.
    fn searches(&self) -> bool {
        self.0.hosts.are_several()
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
        if !self.searches() || writes(session).await? {
            return Ok(());
        }
        self.seek();
        Err(sqlx::Error::Configuration("the server only reads".into()))
    }

    /// Searches when it is asked to, until the pools are closed.
    pub(crate) fn watch(&self, pools: [PgPool; 2]) {
        if !self.searches() {
            return;
        }
        let locator = self.clone();
        tokio::spawn(async move {
            let mut closed = pools[0].close_event();
            let searches = async {
                let mut is_lost = false;
                loop {
                    locator.0.wanted.notified().await;
                    let begun = Instant::now();
                    let found = locator.point(&pools).await;
                    if let Err(error) = &found {
                        if !is_lost {
                            tracing::warn!(shard = %locator.0.shard, %error, "no server of the list accepts writes");
                        }
                        locator.seek();
                    }
                    is_lost = found.is_err();
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
    async fn point(&self, pools: &[PgPool; 2]) -> Result<(), sqlx::Error> {
        let Inner { hosts, shard, .. } = &*self.0;
        let found = writer(hosts).await?;
        let [before, _] = pools.each_ref().map(PgPool::connect_options);
        if host_and_port(&before) != host_and_port(&found) {
            for pool in pools {
                pool.set_connect_options(found.clone());
            }
            tracing::info!(%shard, server = host_and_port(&found), "sessions are opened at this server from now on");
        }
        Ok(())
    }
}

impl Db {
    /// Waits until it is known where sessions are to be opened. Where there is one address, that is known.
    ///
    /// # Errors
    /// When no server of the list accepts writes: says of each why.
    pub async fn locate(&self) -> Result<(), Error> {
        const DOING: &str = "looking for the server that accepts writes";
        if self.locator.searches() {
            self.locator.point(&[self.pool.clone(), self.renewals.clone()]).await.doing(DOING)?;
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
            Err(error) => silent.push(format!("{}: {}", host_and_port(host), reason(&error))),
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

/// As libpq asks for `target_session_attrs=read-write`.
async fn writes(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select current_setting('transaction_read_only') = 'off'").fetch_one(session).await
}

/// How often a server's history was promoted; 0 where the server does not say.
async fn timeline(session: &mut PgConnection) -> i64 {
    const TIMELINE: &str =
        "select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint";
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

/// Why a server was not asked, without what it was asked with.
fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Io(error) => error.kind().to_string(),
        sqlx::Error::Tls(_) => "its certificate is not accepted".to_owned(),
        sqlx::Error::Database(refusal) => format!("refused ({})", refusal.code().unwrap_or_default()),
        _ => "no session".to_owned(),
    }
}
