//! A pooler that hands every transaction to another session, as PgBouncer does in transaction mode: all clients share one session of
//! the server, which a client has until its transaction ends. It keeps prepared statements, or it does not.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgListener};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Mutex;

use crate::binary;
use crate::client::page;
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::{GARDEN, World};

const STARTUP: u32 = 196_608;
/// Everybody is let in, and the session is ready.
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// The statement without a name is closed: another session would not have it.
const FORGET: &[u8] = b"C\0\0\0\x06S\0S\0\0\0\x04";
/// What a client that is gone has left is undone.
const UNDO: &[u8] = b"S\0\0\0\x04Q\0\0\0\x0drollback\0";

// A command is waited for while the pooler works.
#[tokio::test(flavor = "multi_thread")]
async fn pooler_that_keeps_no_sessions_is_named_and_nothing_runs_behind_it() {
    let world = World::new().await;
    let pooled = start(&world, false).await;
    let mut process = Process::serve(&pooled, &[]).await;

    process.line(LOSES, |line| line["level"] == "ERROR").await;
    for _ in 0..3 {
        let (status, told) = page(&format!("{}/readyz", process.admin)).await;
        assert!(status == 503 && told.contains("pool_mode = session"), "{status} {told}");
    }
    assert!(!process.logs().contains("could not be claimed"), "{}", process.logs());
    assert_eq!(found_by_doctor(&pooled, "off")["level"], "failure");
}

const LOSES: &str = "a pooler in front of the server hands every transaction to another session, and prepared statements are lost: let \
    it keep sessions (PgBouncer: pool_mode = session), or prepared statements (PgBouncer since 1.21: max_prepared_statements) with \
    LISTEN_POLL_ONLY=on, or name the server itself in its URL; until then no job is run";

#[tokio::test(flavor = "multi_thread")]
async fn process_that_polls_only_works_behind_a_pooler_in_transaction_mode() {
    let world = World::new().await;
    let pooled = start(&world, true).await;
    let mut heard = PgListener::connect(&world.url).await.expect("the server lets us in");
    heard.listen("listen_wake").await.expect("it takes a listener");
    let listens = Process::serve(&pooled, &[]).await;
    let (status, told) = page(&format!("{}/readyz", listens.admin)).await;
    assert!(status == 503 && told.contains("LISTEN_POLL_ONLY=on"), "{status} {told}");
    listens.kill().await;
    let process = Process::serve(&pooled, &[("LISTEN_POLL_ONLY", "on")]).await;
    let client = world.client(&process);
    let receiver = Receiver::start().await;
    client.register_webhook(&receiver.url()).await;

    let id = client.admit(GARDEN).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    receiver.posts(1).await;
    // Its statements are planned anew each time, and have no names.
    let (status, found) = client.ask(Method::GET, "/v1/dev/user/search?q=garden", None).await;
    assert_eq!(status, 200, "{found}");
    // No notification was sent before this.
    world.run("select pg_notify('listen_wake', 'the end')").await;
    assert_eq!(heard.recv().await.expect("it is notified").payload(), "the end");
    assert_eq!(found_by_doctor(&pooled, "on")["level"], "ok");
    assert_eq!(found_by_doctor(&pooled, "off")["level"], "failure");
    let migrate = binary::command(&pooled, &["migrate"]);
    assert!(migrate.status.code() == Some(4), "{}", String::from_utf8_lossy(&migrate.stderr));
}

/// What `listen doctor` says of the pooler.
fn found_by_doctor(pooled: &str, poll_only: &str) -> Value {
    let doctor = binary::command_with(pooled, &[("LISTEN_POLL_ONLY", poll_only)], &["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&doctor.stdout).expect("it is JSON");
    let all = found["checks"].as_array().expect("checks");
    all.iter().find(|check| check["check"] == "pooler").expect("the pooler is found").clone()
}

/// A pooler in front of a world's database. Answers the URL of the database behind it.
async fn start(world: &World, keeps_statements: bool) -> String {
    let server = PgConnectOptions::from_str(&world.url).expect("it is one of ours");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let addr: SocketAddr = listener.local_addr().expect("it listens");
    let session = Arc::new(Mutex::new(session(&server).await.expect("the server lets us in")));
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((client, _)) = listener.accept().await else { return };
            // Messages are passed on one by one.
            let Ok(()) = client.set_nodelay(true) else { return };
            let prefix = keeps_statements.then(|| format!("client {number} "));
            tokio::spawn(pass(client, Arc::clone(&session), prefix));
        }
    });
    format!("postgresql://{}@{addr}/{}", server.get_username(), server.get_database().unwrap_or_default())
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn session(server: &PgConnectOptions) -> io::Result<Box<dyn Stream>> {
    let mut stream: Box<dyn Stream> = match server.get_socket() {
        Some(folder) => {
            Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{}", server.get_port()))).await?)
        }
        None => {
            let stream = TcpStream::connect((server.get_host(), server.get_port())).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    };
    let mut words = STARTUP.to_be_bytes().to_vec();
    let database = server.get_database().unwrap_or_default();
    for word in ["user", server.get_username(), "database", database, ""] {
        words.extend(word.bytes().chain([0]));
    }
    stream.write_u32(u32::try_from(words.len() + 4).map_err(io::Error::other)?).await?;
    stream.write_all(&words).await?;
    until_ready(&mut stream).await?;
    Ok(stream)
}

/// Reads until the session is ready for the next question.
async fn until_ready(session: &mut (impl AsyncRead + Unpin + ?Sized)) -> io::Result<()> {
    while message(session).await?[0] != b'Z' {}
    Ok(())
}

/// One client: what it asks is answered by the session, which it holds until a transaction is over.
async fn pass(
    mut client: TcpStream,
    session: Arc<Mutex<Box<dyn Stream>>>,
    prefix: Option<String>,
) -> io::Result<()> {
    let mut words = vec![0; client.read_u32().await? as usize - 4];
    client.read_exact(&mut words).await?;
    if words[..4] != STARTUP.to_be_bytes() {
        client.write_all(b"N").await?;
        return Box::pin(pass(client, session, prefix)).await;
    }
    client.write_all(LET_IN).await?;
    loop {
        let first = message(&mut client).await?;
        let mut held = session.lock().await;
        if let Err(gone) = transact(first, &mut client, &mut **held, prefix.as_deref()).await {
            held.write_all(UNDO).await?;
            until_ready(&mut **held).await?;
            until_ready(&mut **held).await?;
            return Err(gone);
        }
        if prefix.is_some() {
            held.write_all(FORGET).await?;
            until_ready(&mut **held).await?;
        }
    }
}

/// A client's transaction, whose first message is `asked`.
///
/// # Errors
/// When the client has gone before its end.
async fn transact(
    mut asked: Vec<u8>,
    client: &mut TcpStream,
    session: &mut (dyn Stream + '_),
    prefix: Option<&str>,
) -> io::Result<()> {
    loop {
        if asked[0] == b'X' {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        session.write_all(&named(asked.clone(), prefix)).await?;
        if matches!(asked[0], b'Q' | b'S') {
            loop {
                let told = message(&mut *session).await?;
                let is_gone = client.write_all(&told).await.is_err();
                match told[0] {
                    b'Z' if told[5] == b'I' => return Ok(()),
                    b'Z' if is_gone => return Err(io::ErrorKind::ConnectionAborted.into()),
                    b'Z' => break,
                    _ => {}
                }
            }
        }
        asked = message(client).await?;
    }
}

/// The message with `prefix` before the name of its statement, if it names one.
fn named(mut message: Vec<u8>, prefix: Option<&str>) -> Vec<u8> {
    let name = match message[0] {
        b'P' => 5,
        // Behind the name of the portal.
        b'B' => 6 + message[5..].iter().position(|byte| *byte == 0).unwrap_or_default(),
        b'D' | b'C' if message[5] == b'S' => 6,
        _ => return message,
    };
    if let Some(prefix) = prefix.filter(|_| message[name] != 0) {
        message.splice(name..name, prefix.bytes());
        let length = u32::try_from(message.len() - 1).unwrap_or_default();
        message[1..5].copy_from_slice(&length.to_be_bytes());
    }
    message
}

async fn message(from: &mut (impl AsyncRead + Unpin + ?Sized)) -> io::Result<Vec<u8>> {
    let kind = from.read_u8().await?;
    let length = from.read_u32().await?;
    let mut whole = [vec![kind], length.to_be_bytes().to_vec(), vec![0; length as usize - 4]].concat();
    from.read_exact(&mut whole[5..]).await?;
    Ok(whole)
}
