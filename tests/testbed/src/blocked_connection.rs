//! A proxy between a process and its database that can silence open connections.

use std::path::PathBuf;

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

use crate::empty_directory;

/// Stands between a process and its database, and stops carrying what is open when the test says so: both ends stay open, and
/// nothing is carried any more, as behind a firewall that forgot them.
#[derive(Debug)]
pub struct Wall {
    dir: PathBuf,
    silenced: watch::Sender<u64>,
}

impl Wall {
    /// A wall before the server of `upstream`, and the options that lead through it.
    ///
    /// # Panics
    /// Where no socket can be made among the temporary files.
    pub fn between(upstream: &PgConnectOptions) -> (Self, PgConnectOptions) {
        let dir = empty_directory("wall");
        let socket = dir.join(format!(".s.PGSQL.{}", upstream.get_port()));
        let listener = UnixListener::bind(socket).expect("the wall's socket");
        let silenced = watch::Sender::new(0);
        let through = upstream.clone().socket(&dir).ssl_mode(PgSslMode::Disable);
        let (told, upstream) = (silenced.clone(), upstream.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut silenced = told.subscribe();
                silenced.mark_unchanged();
                let upstream = upstream.clone();
                tokio::spawn(async move {
                    // Dropped with this task alone: both ends stay open.
                    let mut carrying = std::pin::pin!(carry(client, upstream));
                    tokio::select! {
                        () = &mut carrying => {}
                        _ = silenced.changed() => std::future::pending::<()>().await,
                    }
                });
            }
        });
        (Self { dir, silenced }, through)
    }

    /// From now on what is open carries nothing; what is opened later does.
    pub fn silence_what_is_open(&self) {
        self.silenced.send_modify(|times| *times += 1);
    }
}

impl Drop for Wall {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.dir);
    }
}

async fn carry(mut client: UnixStream, upstream: PgConnectOptions) {
    let ended = match upstream.get_socket() {
        Some(dir) => {
            let path = dir.join(format!(".s.PGSQL.{}", upstream.get_port()));
            let mut server = UnixStream::connect(path).await.expect("the server behind the wall");
            tokio::io::copy_bidirectional(&mut client, &mut server).await
        }
        None => {
            let place = (upstream.get_host().to_owned(), upstream.get_port());
            let mut server = TcpStream::connect(place).await.expect("the server behind the wall");
            tokio::io::copy_bidirectional(&mut client, &mut server).await
        }
    };
    drop(ended);
}
