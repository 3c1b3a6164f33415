//! What the state asks of apps' servers. Tied to `outside` in `src/app_servers.rs`.

use std::fmt;

use futures::future::{BoxFuture, ready};
use records::UserId;
use secrecy::SecretString;
use serde_json::Value;

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

/// Why no tools of an MCP server were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoMcpTools {
    /// It did not answer as it should.
    Unread(NoManifest),
    /// What it answered is no MCP.
    Malformed,
    /// It refused, in words that were made fit to be shown.
    Refused(String),
}

/// Calls apps' servers when an app is saved or installed.
pub trait AppServers: fmt::Debug + Send + Sync {
    /// What the server answers at `url`, on behalf of `user`.
    fn manifest<'a>(&'a self, user: &'a UserId, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, NoManifest>>;

    /// The tools that the MCP server at `url` lists, unchecked, one more than an app may have at most.
    fn mcp_tools<'a>(
        &'a self,
        user: &'a UserId,
        url: &'a str,
        token: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Value>, NoMcpTools>>;

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

    fn mcp_tools<'a>(
        &'a self,
        _: &'a UserId,
        _: &'a str,
        _: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Value>, NoMcpTools>> {
        Box::pin(ready(Err(NoMcpTools::Unread(NoManifest::Unreachable))))
    }

    fn is_set_up<'a>(&'a self, _: &'a UserId, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(ready(false))
    }
}
