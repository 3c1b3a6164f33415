//! Fetching what an app offers when it is saved.

use records::UserId;
use secrecy::SecretString;
use store::{AppFields, KeptManifest};

use crate::{AppState, Error, Problem, app_servers::offered};

/// What a save was asked with: where its problems are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// A body with the app's addresses.
    Body,
    /// A path with the app's id.
    Path,
}

/// What an app with these fields offers, checked; `None` where it names neither a manifest nor an MCP server. Nothing is held
/// while its servers are asked.
///
/// # Errors
/// 422 with everything that is wrong, at its field of the body or at the id in the path.
pub(super) async fn fetch(
    state: &AppState,
    user: &UserId,
    fields: &AppFields,
    token: Option<&SecretString>,
    saved: Saved,
) -> Result<Option<KeptManifest>, Error> {
    let servers = state.settings.app_servers.as_ref();
    offered(servers, &|url| (state.check_url)(url), user, fields, token).await.map_err(|not| {
        let place = match saved {
            Saved::Body => ["body", not.field],
            Saved::Path => ["path", "app_id"],
        };
        let problem = |text: &String| Problem::rule(place.iter().map(|step| (*step).into()).collect(), text);
        Error::Invalid(not.problems.iter().map(problem).collect())
    })
}
