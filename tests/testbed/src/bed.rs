//! Shared by the tests of one process: a runtime, the server, a few connections.

use std::str::FromStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use embedded::{Cluster, Running};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use crate::{directory, leftovers};

/// The server, as this process uses it.
#[derive(Debug)]
pub(crate) struct Bed {
    server: Server,
    /// For creating and dropping databases; connected to `postgres`.
    pub(crate) admin: PgPool,
    /// For looking at other sessions; connected from the beginning: what a test looks for may last for two seconds.
    pub(crate) watcher: PgPool,
    /// Says that the databases of this process are in use; see [`leftovers`].
    _claim: PgConnection,
    /// The number in the names of this process's databases.
    process: i32,
    made: AtomicU32,
}

#[derive(Debug)]
enum Server {
    Private(Box<Running>),
    Given(Box<PgConnectOptions>),
}

/// The runtime of everything that outlives a test.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .worker_threads(1)
            .thread_name("testbed")
            .enable_all()
            .build()
            .expect("no thread for the testbed")
    });
    &RUNTIME
}

/// The bed, made at first use. Only on [`runtime`].
pub(crate) async fn get() -> &'static Bed {
    static BED: OnceCell<Bed> = OnceCell::const_new();
    BED.get_or_init(Bed::make).await
}

impl Bed {
    async fn make() -> Self {
        let server = Server::find().await;
        let options = server.options();
        let mut claim = options.connect().await.expect("the tests' PostgreSQL takes no connection");
        let process = leftovers::claim(&mut claim).await;
        leftovers::drop_all(&mut claim, process).await;
        // Few: nextest has a process for each test, and the server 600 connections. Many tests may be waiting for them at once.
        let few = PgPoolOptions::new().max_connections(2).acquire_timeout(Duration::from_secs(120));
        let admin = few.clone().idle_timeout(Duration::from_secs(2));
        let watcher = few.idle_timeout(None).test_before_acquire(false).connect_with(options.clone()).await;
        Self {
            server,
            admin: admin.connect_lazy_with(options),
            watcher: watcher.expect("the tests' PostgreSQL takes no connection"),
            _claim: claim,
            process,
            made: AtomicU32::new(0),
        }
    }

    /// A name that no other database of the server has.
    pub(crate) fn next_name(&self) -> String {
        format!("t_{}_{}", self.process, self.made.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn options(&self) -> PgConnectOptions {
        self.server.options()
    }

    pub(crate) fn url_of(&self, database: &str) -> String {
        match &self.server {
            Server::Private(running) => running.url_of(database),
            Server::Given(options) => options.as_ref().clone().database(database).to_url_lossy().to_string(),
        }
    }
}

impl Server {
    async fn find() -> Self {
        if let Ok(url) = std::env::var("TEST_DATABASE_URL")
            && !url.is_empty()
        {
            let options =
                PgConnectOptions::from_str(&url).expect("TEST_DATABASE_URL is not a URL of PostgreSQL");
            return Self::Given(Box::new(options));
        }
        let cluster =
            Cluster { dir: directory::cluster_directory(), durable: false, linger: Duration::from_secs(10) };
        match cluster.ensure().await {
            Ok(running) => Self::Private(Box::new(running)),
            Err(error) => panic!("no PostgreSQL for the tests (TEST_DATABASE_URL can name one): {error}"),
        }
    }

    /// How to connect to the database that databases are made from.
    fn options(&self) -> PgConnectOptions {
        match self {
            Self::Private(running) => running.options(),
            Self::Given(options) => options.as_ref().clone(),
        }
    }
}
