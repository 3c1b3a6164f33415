//! Fetching what an app offers: its manifest, and the tools of its MCP server.

use apps::Manifest;
use records::UserId;
use secrecy::SecretString;
use store::{AppFields, KeptManifest};

use crate::{Error, NoManifest, NoMcpTools, app::AppState, read::Problem};

/// What a save was asked with: where its problems are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// A body with the app's addresses.
    Body,
    /// A path with the app's id.
    Path,
}

impl Saved {
    /// 422 with every problem, at `field` of the body or at the id in the path.
    fn refuses<'a>(self, field: &'static str, problems: impl IntoIterator<Item = &'a str>) -> Error {
        let place = match self {
            Self::Body => ["body", field],
            Self::Path => ["path", "app_id"],
        };
        let problem = |text| Problem::rule(place.iter().map(|step| (*step).into()).collect(), text);
        Error::Invalid(problems.into_iter().map(problem).collect())
    }
}

/// What an app with these fields offers, checked; `None` where it names neither a manifest nor an MCP server. Nothing is held
/// while its servers are asked.
///
/// # Errors
/// 422 with everything that is wrong.
pub(super) async fn fetch(
    state: &AppState,
    user: &UserId,
    fields: &AppFields,
    token: Option<&SecretString>,
    saved: Saved,
) -> Result<Option<KeptManifest>, Error> {
    let servers = &state.settings.app_servers;
    let mut manifest = Manifest::default();
    if let Some(url) = &fields.manifest_url {
        let body = servers.manifest(user, url).await;
        let body = body.map_err(|why| saved.refuses("manifest_url", [unread("manifest", why).as_str()]))?;
        let checked = apps::check(&body, fields.home_url.as_deref(), |url| (state.check_url)(url));
        manifest = checked.map_err(|problems| {
            saved.refuses("manifest_url", problems.iter().map(|problem| problem.text.as_str()))
        })?;
    }
    if let Some(url) = &fields.mcp_url {
        let listed = servers.mcp_tools(user, url, token).await;
        let listed = listed.map_err(|why| saved.refuses("mcp_url", [unlisted(why).as_str()]))?;
        apps::add_mcp_tools(&mut manifest, url, &listed).map_err(|problems| {
            saved.refuses("mcp_url", problems.iter().map(|problem| problem.text.as_str()))
        })?;
    }
    let offers = fields.manifest_url.is_some() || fields.mcp_url.is_some();
    Ok(offers.then(|| kept(&manifest)))
}

fn kept(manifest: &Manifest) -> KeptManifest {
    KeptManifest {
        text: manifest.to_text(),
        sha256: manifest.sha256(),
        chat_enabled: manifest.chat_messages.enabled,
        chat_target: manifest.chat_messages.target.as_str(),
        chat_notify: manifest.chat_messages.notify,
    }
}

fn unread(what: &str, why: NoManifest) -> String {
    match why {
        NoManifest::Unreachable => format!("the {what}'s server could not be reached"),
        NoManifest::Timeout => format!("the {what}'s server did not answer within 10 seconds"),
        NoManifest::Redirect => format!(
            "the {what}'s server answered with a redirect, which is not followed: enter the final URL"
        ),
        NoManifest::Status(status) => format!("the {what}'s server answered {status} instead of 200"),
        NoManifest::TooLong => format!("the {what} is longer than 256 KiB"),
        NoManifest::Broken => format!("the {what}'s answer broke off or is compressed"),
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
