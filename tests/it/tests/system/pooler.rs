//! A pooler that hands every transaction to another session, as PgBouncer does in transaction mode without prepared statements: all
//! clients share one session of the server, which a client has until its transaction ends.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Mutex;

use crate::binary;
use crate::client::page;
use crate::process::Process;
use crate::world::World;

const STARTUP: u32 = 196_608;
/// Everybody is let in, and the session is ready.
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

// A command is waited for while the pooler works.
#[tokio::test(flavor = "multi_thread")]
async fn pooler_that_keeps_no_sessions_is_named_and_nothing_runs_behind_it() {
    let world = World::new().await;
    let options = PgConnectOptions::from_str(&world.url).expect("it is one of ours");
    let pooler = start(&options).await;
    let (user, database) = (options.get_username(), options.get_database().unwrap_or_default());
    let pooled = format!("postgresql://{user}@{pooler}/{database}");
    let mut process = Process::serve(&pooled, &[]).await;

    process.line(TOLD, |line| line["level"] == "ERROR").await;
    for _ in 0..3 {
        let (status, told) = page(&format!("{}/readyz", process.admin)).await;
        assert!(status == 503 && told.contains("pool_mode = session"), "{status} {told}");
    }
    assert!(!process.logs().contains("could not be claimed"), "{}", process.logs());
    let doctor = binary::command(&pooled, &["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&doctor.stdout).expect("it is JSON");
    let check =
        found["checks"].as_array().and_then(|all| all.iter().find(|check| check["check"] == "pooler"));
    assert_eq!(check.map(|check| &check["level"]), Some(&Value::from("failure")), "{found}");
}

const TOLD: &str = "a pooler in front of the server hands every transaction to another session: let it keep sessions \
    (PgBouncer: pool_mode = session), or name the server itself in its URL; until then no job is run";

async fn start(server: &PgConnectOptions) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let addr = listener.local_addr().expect("it listens");
    let session = Arc::new(Mutex::new(session(server).await.expect("the server lets us in")));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass(client, Arc::clone(&session)));
        }
    });
    addr
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn session(server: &PgConnectOptions) -> io::Result<Box<dyn Stream>> {
    let mut stream: Box<dyn Stream> = match server.get_socket() {
        Some(folder) => {
            Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{}", server.get_port()))).await?)
        }
        None => Box::new(TcpStream::connect((server.get_host(), server.get_port())).await?),
    };
    let mut words = STARTUP.to_be_bytes().to_vec();
    let database = server.get_database().unwrap_or_default();
    for word in ["user", server.get_username(), "database", database, ""] {
        words.extend(word.bytes().chain([0]));
    }
    stream.write_u32(u32::try_from(words.len() + 4).map_err(io::Error::other)?).await?;
    stream.write_all(&words).await?;
    while message(&mut stream).await?[0] != b'Z' {}
    Ok(stream)
}

/// One client: what it asks is answered by the session, which it holds until a transaction is over.
async fn pass(mut client: TcpStream, session: Arc<Mutex<Box<dyn Stream>>>) -> io::Result<()> {
    let mut words = vec![0; client.read_u32().await? as usize - 4];
    client.read_exact(&mut words).await?;
    if words[..4] != STARTUP.to_be_bytes() {
        client.write_all(b"N").await?;
        return Box::pin(pass(client, session)).await;
    }
    client.write_all(LET_IN).await?;
    loop {
        let mut asked = message(&mut client).await?;
        let mut held = session.lock().await;
        loop {
            if asked[0] == b'X' {
                return Ok(());
            }
            held.write_all(&asked).await?;
            if matches!(asked[0], b'Q' | b'S') {
                let mut told = message(&mut *held).await?;
                client.write_all(&told).await?;
                while told[0] != b'Z' {
                    told = message(&mut *held).await?;
                    client.write_all(&told).await?;
                }
                if told[5] == b'I' {
                    break;
                }
            }
            asked = message(&mut client).await?;
        }
    }
}

async fn message(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let kind = from.read_u8().await?;
    let length = from.read_u32().await?;
    let mut whole = [vec![kind], length.to_be_bytes().to_vec(), vec![0; length as usize - 4]].concat();
    from.read_exact(&mut whole[5..]).await?;
    Ok(whole)
}
