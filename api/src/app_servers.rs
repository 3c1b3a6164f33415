//! What the state asks of apps' servers. Tied to `outside` in `src/app_servers.rs`.

use std::fmt;

use futures::future::{BoxFuture, ready};
use records::UserId;

/// Why no manifest was read. Answers name it; they hold nothing that a server wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoManifest {
    /// No such name, no connection, no valid TLS, or an address that may not be called: users are to see no difference.
    Unreachable,
    /// No answer within 10 seconds.
    Timeout,
    /// A redirect, which is not followed.
    Redirect,
    /// A status other than 200.
    Status(u16),
    /// More than 256 KiB.
    TooLong,
    /// Compressed, or broken off.
    Broken,
}

/// Calls apps' servers when an app is saved or installed.
pub trait AppServers: fmt::Debug + Send + Sync {
    /// What the server answers at `url`, on behalf of `user`.
    fn manifest<'a>(&'a self, user: &'a UserId, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, NoManifest>>;

    /// Whether the app says at `url` that `user` is connected to it.
    fn is_set_up<'a>(&'a self, user: &'a UserId, url: &'a str) -> BoxFuture<'a, bool>;
}

/// Where nothing outside is called, no server is reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAppServers;

impl AppServers for NoAppServers {
    fn manifest<'a>(&'a self, _: &'a UserId, _: &'a str) -> BoxFuture<'a, Result<Vec<u8>, NoManifest>> {
        Box::pin(ready(Err(NoManifest::Unreachable)))
    }

    fn is_set_up<'a>(&'a self, _: &'a UserId, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(ready(false))
    }
}
