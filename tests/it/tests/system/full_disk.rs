//! Full disks and closed pipes: commands that cannot write stdout fail with one message and revoke secrets that were never
//! shown; the service continues without its log.

use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use testbed::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::binary;
use crate::client::page;
use crate::process::{PATIENCE, until};
use crate::world::World;

/// Exit code, and what was said on stderr.
fn ends(database: &str, words: &[&str], stdout: Stdio) -> (Option<i32>, String) {
    let mut command = Command::new(binary::path());
    command.args(words).env("DATABASE_URL", database).stdout(stdout).stderr(Stdio::piped());
    // Of which the program would say that it is no setting.
    command.env_remove("LISTEN_BINARY");
    let Output { status, stderr, .. } =
        command.spawn().and_then(|child| child.wait_with_output()).expect("the program can be run");
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

/// Where every write fails for want of space.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("the device is there").into()
}

/// A pipe without a reader.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    writer.into()
}

/// Where a write waits for ever, as long as the other end is kept.
fn hung() -> (UnixStream, Stdio) {
    let (reader, mut writer) = UnixStream::pair().expect("a pair can be made");
    writer.set_nonblocking(true).expect("a socket takes it");
    while writer.write(&[b'\n'; 1_024]).is_ok() {}
    writer.set_nonblocking(false).expect("a socket takes it");
    (reader, OwnedFd::from(writer).into())
}

#[tokio::test]
async fn stdout_write_failure_is_an_error_and_a_closed_pipe_is_not() {
    let database = TestDatabase::new().await;
    for words in [
        &["jobs", "list", "--json"][..],
        &["jobs", "watch", "--looks", "1"],
        &["jobs", "watch", "--looks", "1", "--json"],
        &["audit", "list", "--json"],
        &["verify"],
        &["doctor"],
        &["config"],
        &["openapi"],
    ] {
        let (code, said) = ends(&database.url(), words, full());
        assert_eq!(code, Some(1), "{words:?}: {said}");
        assert!(said.starts_with("error: writing ") && said.contains("No space left"), "{words:?}: {said}");
        let (code, said) = ends(&database.url(), words, unread());
        assert!(code != Some(101) && !said.contains("writing"), "{words:?}: {code:?} {said}");
    }
}

/// A note on stderr is no result: where it cannot be written, the command ends with the code that it has anyway.
#[tokio::test]
async fn stderr_write_failure_changes_no_exit_code() {
    let database = TestDatabase::new().await;
    for words in [&["jobs", "list"][..], &["users", "list"], &["audit", "list"], &["apps", "list"]] {
        for stderr in [full(), unread()] {
            let mut command = Command::new(binary::path());
            command.args(words).env("DATABASE_URL", database.url()).stdout(Stdio::piped()).stderr(stderr);
            assert_eq!(command.output().expect("the program can be run").status.code(), Some(0), "{words:?}");
        }
    }
}

/// A disk is full of its own log as a rule, and who reads a pipe may die, or hang: the service is for others.
#[tokio::test]
async fn service_survives_a_log_that_cannot_be_written() {
    let database = TestDatabase::new().await;
    let (_hangs, hung) = hung();
    for log in [full(), unread(), hung] {
        // Where it listens cannot be read from its log.
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [api, admin] = free.each_ref().map(|free| free.local_addr().expect("it has an address"));
        drop(free);
        let mut serve = tokio::process::Command::new(binary::path());
        serve.arg("serve").env("DATABASE_URL", database.url()).env("LISTEN_DATABASE_CONNECTIONS", "5");
        serve.env("LISTEN_ADDR", api.to_string()).env("LISTEN_ADMIN_ADDR", admin.to_string());
        let mut serve = serve.stderr(log).kill_on_drop(true).spawn().expect("the program can be started");
        let admin = admin.to_string();
        let is_ready = || {
            let asked = Command::new(binary::path()).args(["healthcheck", "--admin-addr", &admin]).output();
            asked.is_ok_and(|output| output.status.success())
        };

        until(async || is_ready()).await;

        // What it does writes a line, and the process is still there.
        let (status, _) = page(&format!("http://{api}/v1/dev/user/nothing")).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(is_ready());
        let id = serve.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).expect("it still runs");
        kill_process(id, Signal::TERM).expect("a child can be signalled");
        let ended = tokio::time::timeout(PATIENCE, serve.wait()).await.expect("it ends in time");
        assert_eq!(ended.expect("its end can be waited for").code(), Some(0));
    }
}

/// Nothing happens in this database: no second line would find out that the pipe is closed.
#[tokio::test]
async fn watch_exits_cleanly_when_its_reader_closes() {
    let database = TestDatabase::new().await;
    for words in [&["jobs", "watch", "--json"][..], &["jobs", "watch"]] {
        let mut command = tokio::process::Command::new(binary::path());
        command.args(words).env("DATABASE_URL", database.url()).kill_on_drop(true);
        let mut watch = command.stdout(Stdio::piped()).spawn().expect("the program can be run");
        let mut told = BufReader::new(watch.stdout.take().expect("it is piped")).lines();
        assert!(told.next_line().await.expect("it is text").is_some(), "{words:?} said nothing");

        drop(told);

        let ended = tokio::time::timeout(PATIENCE, watch.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("{words:?} goes on for nobody"));
        assert_eq!(ended.expect("its end can be waited for").code(), Some(0), "{words:?}");
    }
}

#[tokio::test]
async fn key_that_could_not_be_printed_is_revoked() {
    let world = World::new().await;

    let (code, said) = ends(&world.url, &["keys", "create", "--user", "u1", "--name", "unseen"], full());

    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("could not be shown and was revoked again"), "{said}");
    let live = "select count(*) from developer_keys where name = 'unseen' and revoked_at is null";
    let revoked = "select count(*) from developer_keys where name = 'unseen' and revoked_at is not null";
    assert_eq!((world.count(live).await, world.count(revoked).await), (0, 1));
}

#[tokio::test]
async fn app_secret_that_could_not_be_printed_is_revoked() {
    let world = World::new().await;

    let (code, said) = ends(&world.url, &["apps", "create", "--user", "u1", "Unseen"], full());

    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("could not be shown, and the app was deleted again"), "{said}");
    assert_eq!(world.count("select count(*) from apps").await, 0);

    let mut create = Command::new(binary::path());
    let made =
        create.args(["apps", "create", "--user", "u1", "Seen"]).env("DATABASE_URL", &world.url).output();
    let made = String::from_utf8(made.expect("the program can be run").stdout).expect("it is text");
    let id = made.lines().next().expect("the app is made");
    let (code, said) = ends(&world.url, &["apps", "keys", "create", id], full());

    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("could not be shown and was revoked again"), "{said}");
    assert_eq!(world.count("select count(*) from app_keys where revoked_at is null").await, 0);
    assert_eq!(world.count("select count(*) from app_keys").await, 1);
}
