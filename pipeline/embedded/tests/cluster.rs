//! A private PostgreSQL is there when it is wanted, once, and gone when it is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use embedded::{Cluster, Error, Running};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tokio::sync::Barrier;
use tokio::time::{sleep, timeout};

/// Where the second process of a test finds the cluster.
const DIRECTORY: &str = "EMBEDDED_TEST_DIRECTORY";

fn cluster(name: &str) -> Cluster {
    // In memory where that has room: these tests make a dozen clusters of 40 MB.
    const ROOM: u64 = 1 << 30;
    let memory = PathBuf::from("/dev/shm");
    let has_room =
        rustix::fs::statvfs(&memory).is_ok_and(|found| found.f_blocks.saturating_mul(found.f_frsize) >= ROOM);
    let parent = if has_room { memory } else { std::env::temp_dir() };
    let dir = parent.join(format!("embedded-{}-{name}", std::process::id()));
    Cluster { dir, durable: false, linger: Duration::ZERO }
}

async fn connect(running: &Running) -> PgConnection {
    running.options().connect().await.unwrap()
}

async fn ask(running: &Running, question: &'static str) -> String {
    sqlx::query_scalar(question).fetch_one(&mut connect(running).await).await.unwrap()
}

/// The number of the server's process.
fn process(running: &Running) -> u32 {
    let lock = fs::read_to_string(running.data_dir().join("postmaster.pid")).unwrap();
    lock.lines().next().unwrap().parse().unwrap()
}

fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Waits until no server answers on the socket.
async fn gone(socket_dir: &Path) {
    let socket = socket_dir.join(".s.PGSQL.5432");
    let poll = async {
        while tokio::net::UnixStream::connect(&socket).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(30), poll).await.unwrap();
}

/// Lets the server stop by itself, and removes everything.
async fn clean_up(cluster: &Cluster, running: Running) {
    let (socket_dir, data_dir) = (running.socket_dir().to_owned(), running.data_dir().to_owned());
    drop(running);
    gone(&socket_dir).await;
    // The socket goes first, the lock last.
    while data_dir.join("postmaster.pid").exists() {
        sleep(Duration::from_millis(10)).await;
    }
    fs::remove_dir_all(&cluster.dir).unwrap();
}

#[tokio::test]
async fn fresh_cluster_starts_and_supports_unicode_letters() {
    let cluster = cluster("fresh");
    let running = cluster.ensure().await.unwrap();
    assert_eq!(ask(&running, "SELECT lower('É') || current_setting('timezone')").await, "éUTC");
    assert_eq!(ask(&running, "SELECT (to_tsvector('simple', 'ÉTÉ') @@ 'été'::tsquery)::text").await, "true");
    assert!(running.bin_dir().join("postgres").is_file());
    let by_url = PgConnection::connect(&running.url()).await.unwrap();
    drop(by_url);
    clean_up(&cluster, running).await;
}

#[tokio::test]
async fn durable_cluster_syncs_and_refuses_a_non_durable_directory() {
    let durable = Cluster { durable: true, ..cluster("durable") };
    let running = durable.ensure().await.unwrap();
    assert_eq!(ask(&running, "SELECT current_setting('fsync')").await, "on");
    clean_up(&durable, running).await;

    let careless = cluster("careless");
    let running = careless.ensure().await.unwrap();
    assert_eq!(ask(&running, "SELECT current_setting('fsync')").await, "off");
    let refused = Cluster { durable: true, ..careless.clone() }.ensure().await;
    assert!(matches!(refused, Err(Error::NotDurable(_))));
    clean_up(&careless, running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_concurrent_starts_share_one_server() {
    let (cluster, barrier) = (cluster("eight"), Arc::new(Barrier::new(8)));
    let starts = (0..8).map(|_| {
        let (cluster, barrier) = (cluster.clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            barrier.wait().await;
            cluster.ensure().await.unwrap()
        })
    });
    let mut all = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        all.push(start.await.unwrap());
    }
    let first = process(&all[0]);
    for running in &all {
        assert_eq!(ask(running, "SELECT 'here'").await, "here");
        assert_eq!(process(running), first);
    }
    let reapers = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'reaper'";
    assert_eq!(ask(&all[0], reapers).await, "1");
    let last = all.pop().unwrap();
    drop(all);
    clean_up(&cluster, last).await;
}

#[tokio::test]
async fn server_survives_its_killed_starter_while_in_use() {
    let cluster = cluster("processes");
    let mut other = tokio::process::Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "child_process_that_uses_the_cluster", "--ignored"]).env(DIRECTORY, &cluster.dir);
    let mut other = other.kill_on_drop(true).spawn().unwrap();
    let ready = cluster.dir.join("ready");
    let started = async {
        while !ready.exists() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(90), started).await.unwrap();
    let running = cluster.ensure().await.unwrap();
    let server = process(&running);
    assert_eq!(fs::read_to_string(&ready).unwrap(), server.to_string());
    other.kill().await.unwrap();
    // Several looks of the reaper, whose linger is zero.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ask(&running, "SELECT 'here'").await, "here");
    assert_eq!(process(&running), server);
    clean_up(&cluster, running).await;
}

/// The second process of the test above: starts the server, says so, and waits to be killed.
#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn child_process_that_uses_the_cluster() {
    let dir = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let cluster = Cluster { dir: dir.clone(), durable: false, linger: Duration::ZERO };
    let running = cluster.ensure().await.unwrap();
    fs::write(dir.join("ready.tmp"), process(&running).to_string()).unwrap();
    fs::rename(dir.join("ready.tmp"), dir.join("ready")).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn killed_server_is_replaced_without_losing_commits() {
    let cluster = Cluster { durable: true, ..cluster("killed") };
    let running = cluster.ensure().await.unwrap();
    let table = "CREATE TABLE kept AS SELECT 'kept' AS word";
    sqlx::raw_sql(table).execute(&mut connect(&running).await).await.unwrap();
    let killed = process(&running);
    send("-KILL", killed);
    gone(running.socket_dir()).await;

    let again = cluster.ensure().await.unwrap();
    assert_ne!(process(&again), killed);
    assert_eq!(ask(&again, "SELECT word FROM kept").await, "kept");
    drop(running);
    clean_up(&cluster, again).await;
}

#[tokio::test]
async fn stale_lock_file_of_a_reused_pid_does_not_block_the_start() {
    let cluster = cluster("stale");
    let running = cluster.ensure().await.unwrap();
    let locks = [running.data_dir().join("postmaster.pid"), running.socket_dir().join(".s.PGSQL.5432.lock")];
    let contents: Vec<String> = locks.iter().map(|lock| fs::read_to_string(lock).unwrap()).collect();
    let server = process(&running).to_string();
    send("-KILL", process(&running));
    gone(running.socket_dir()).await;
    drop(running);
    // As after a restart of a container: the number now is that of a process that is alive.
    let stranger = std::process::id().to_string();
    for (lock, content) in locks.iter().zip(contents) {
        fs::write(lock, content.replacen(&server, &stranger, 1)).unwrap();
    }
    let again = cluster.ensure().await.unwrap();
    assert_eq!(ask(&again, "SELECT 'here'").await, "here");
    clean_up(&cluster, again).await;
}

#[tokio::test]
async fn disposable_cluster_is_recreated_when_damaged() {
    let cluster = cluster("damaged");
    let running = cluster.ensure().await.unwrap();
    let control = running.data_dir().join("global/pg_control");
    send("-KILL", process(&running));
    gone(running.socket_dir()).await;
    drop(running);
    fs::write(control, "damaged").unwrap();
    let again = cluster.ensure().await.unwrap();
    assert_eq!(ask(&again, "SELECT 'here'").await, "here");
    clean_up(&cluster, again).await;
}

#[tokio::test]
async fn durable_cluster_is_not_discarded_when_damaged() {
    let cluster = Cluster { durable: true, ..cluster("kept") };
    let running = cluster.ensure().await.unwrap();
    let data = running.data_dir().to_owned();
    send("-KILL", process(&running));
    gone(running.socket_dir()).await;
    drop(running);
    fs::write(data.join("global/pg_control"), "damaged").unwrap();
    let refused = cluster.ensure().await;
    assert!(matches!(refused, Err(Error::Start { .. })), "{refused:?}");
    assert!(data.join("PG_VERSION").is_file());
    assert_eq!(fs::read_to_string(data.join("global/pg_control")).unwrap(), "damaged");
    fs::remove_dir_all(&cluster.dir).unwrap();
}

#[tokio::test]
async fn joining_while_the_server_stops_succeeds() {
    let cluster = cluster("moment");
    for round in 0..16 {
        let running = cluster.ensure().await.unwrap();
        assert_eq!(ask(&running, "SELECT 'here'").await, "here");
        drop(running);
        // The reaper looks every 250 ms, and stopping takes some milliseconds more.
        sleep(Duration::from_millis(200 + 15 * round)).await;
    }
    let running = cluster.ensure().await.unwrap();
    clean_up(&cluster, running).await;
}

#[tokio::test]
async fn killed_reaper_is_replaced_by_the_next_user() {
    let cluster = cluster("reaper");
    let running = cluster.ensure().await.unwrap();
    let end = "SELECT pg_terminate_backend(pid, 5000)::text FROM pg_stat_activity WHERE application_name = 'reaper'";
    assert_eq!(ask(&running, end).await, "true");
    let again = cluster.ensure().await.unwrap();
    drop(again);
    // It would not stop without one.
    clean_up(&cluster, running).await;
}

#[tokio::test]
async fn full_server_is_distinguished_from_a_missing_one() {
    let cluster = Cluster { durable: true, ..cluster("full") };
    let running = cluster.ensure().await.unwrap();
    let mut taken = Vec::new();
    while let Ok(session) = running.options().connect().await {
        taken.push(session);
    }
    assert!(taken.len() > 190, "{}", taken.len());
    let refused = cluster.ensure().await;
    assert!(matches!(refused, Err(Error::Full(_))));
    drop(taken);
    clean_up(&cluster, running).await;
}

#[tokio::test]
async fn cluster_with_a_long_path_works() {
    let mut cluster = cluster("long");
    cluster.dir = cluster.dir.join("x".repeat(100));
    let running = cluster.ensure().await.unwrap();
    assert_ne!(running.socket_dir(), cluster.dir);
    assert_eq!(ask(&running, "SELECT 'here'").await, "here");
    let (above, short) = (cluster.dir.parent().unwrap().to_owned(), running.socket_dir().to_owned());
    clean_up(&cluster, running).await;
    fs::remove_dir_all(above).unwrap();
    fs::remove_dir_all(short).unwrap();
}

#[tokio::test]
async fn server_log_contains_no_rows_or_statements() {
    let cluster = cluster("log");
    let running = cluster.ensure().await.unwrap();
    let mut session = connect(&running).await;
    sqlx::raw_sql("CREATE TABLE said (word text PRIMARY KEY)").execute(&mut session).await.unwrap();
    for succeeds in [true, false] {
        let said = sqlx::raw_sql(AssertSqlSafe("INSERT INTO said VALUES ('a secret')".to_owned()));
        assert_eq!(said.execute(&mut session).await.is_ok(), succeeds);
    }
    drop(session);
    let log = fs::read_to_string(cluster.dir.join("server.log")).unwrap();
    assert!(log.contains("duplicate key"), "the log is not where it was looked for: {log}");
    assert!(!log.contains("secret"), "{log}");
    clean_up(&cluster, running).await;
}
