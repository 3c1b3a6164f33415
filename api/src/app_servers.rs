//! What the state asks of apps' servers. Tied to `outside` in `src/app_servers.rs`.

use apps::Manifest;
use futures::future::{BoxFuture, ready};
use records::UserId;
use secrecy::SecretString;
use serde_json::Value;
use store::{AppFields, KeptManifest};

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
pub trait AppServers: Send + Sync {
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

/// Why an app's offers cannot be taken: every problem, and the field that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOffered {
    /// `manifest_url` or `mcp_url`.
    pub field: &'static str,
    /// What is wrong, with its place.
    pub problems: Vec<String>,
}

/// Fetches and checks what an app with these fields offers: the tools of its manifest, and those of its MCP server. `None`
/// where it names neither.
///
/// # Errors
/// When a server does not answer as it should, or something that it offers is wrong.
pub async fn offered(
    servers: &dyn AppServers,
    may_call: &(dyn Fn(&str) -> bool + Send + Sync),
    user: &UserId,
    fields: &AppFields,
    token: Option<&SecretString>,
) -> Result<Option<KeptManifest>, NotOffered> {
    let refused = |field, problems| NotOffered { field, problems };
    let mut manifest = Manifest::default();
    if let Some(url) = &fields.manifest_url {
        let body = servers.manifest(user, url).await;
        let body = body.map_err(|why| refused("manifest_url", vec![unread("manifest", why)]))?;
        let checked = apps::check(&body, fields.home_url.as_deref(), may_call);
        manifest = checked.map_err(|problems| refused("manifest_url", problems))?;
    }
    if let Some(url) = &fields.mcp_url {
        let listed = servers.mcp_tools(user, url, token).await;
        let listed = listed.map_err(|why| refused("mcp_url", vec![unlisted(why)]))?;
        apps::add_mcp_tools(&mut manifest, url, &listed).map_err(|problems| refused("mcp_url", problems))?;
    }
    let offers = fields.manifest_url.is_some() || fields.mcp_url.is_some();
    Ok(offers.then(|| KeptManifest {
        text: manifest.to_text(),
        sha256: manifest.sha256(),
        chat_enabled: manifest.chat_messages.enabled,
        chat_target: manifest.chat_messages.target.as_str(),
        chat_notify: manifest.chat_messages.notify,
    }))
}

fn unread(what: &str, why: NoManifest) -> String {
    match why {
        NoManifest::Unreachable => "the server could not be reached".to_owned(),
        NoManifest::Timeout => "the server did not answer within 10 seconds".to_owned(),
        NoManifest::Redirect => {
            "the server answered with a redirect, which is not followed: enter the final URL".to_owned()
        }
        NoManifest::Status(status) => format!("the server answered {status} instead of 200"),
        NoManifest::TooLong => format!("the {what} is longer than 256 KiB"),
        NoManifest::Broken => "the answer broke off or is compressed".to_owned(),
    }
}

fn unlisted(why: NoMcpTools) -> String {
    match why {
        NoMcpTools::Unread(why) => unread("list of tools", why),
        NoMcpTools::Malformed => "the server does not answer as an MCP server (streamable HTTP)".to_owned(),
        NoMcpTools::Refused(words) if words.is_empty() => {
            "the MCP server refused to list its tools".to_owned()
        }
        NoMcpTools::Refused(words) => format!("the MCP server refused to list its tools: {words}"),
    }
}
