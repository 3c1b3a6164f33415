//! Fetching what an app offers when it is saved.

use apps::MAX_MANIFEST_BYTES;
use secrecy::SecretString;
use store::{AppFields, KeptManifest};

use crate::{AppState, Caller, Error, Problem, app_servers::offered};

/// The memory that a manifest and a list of tools take while they are fetched and checked: of a byte of JSON values of 90 bytes are
/// made at most.
const FETCHED: usize = 2 * 90 * MAX_MANIFEST_BYTES;

/// What a save was asked with: where its problems are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// A body with the app's addresses.
    Body,
    /// A path with the app's id.
    Path,
}

/// What an app with these fields offers, checked; `None` where it names neither a manifest nor an MCP server. No lock and no
/// session is held while its servers are asked; a user has room for two that are asked at once.
///
/// # Errors
/// 422 with everything that is wrong, at its field of the body or at the id in the path; 503 without room.
pub(super) async fn fetch(
    state: &AppState,
    caller: &Caller,
    fields: &AppFields,
    token: Option<&SecretString>,
    saved: Saved,
) -> Result<Option<KeptManifest>, Error> {
    let asks = fields.manifest_url.is_some() || fields.mcp_url.is_some();
    let bytes = if asks { FETCHED.min(caller.account.most() / 5 * 2) } else { 0 };
    let _held = caller.account.hold(bytes)?;
    let servers = state.settings.app_servers.as_ref();
    offered(servers, &|url| (state.check_url)(url), &caller.user, fields, token).await.map_err(|not| {
        let place = match saved {
            Saved::Body => ["body", not.field],
            Saved::Path => ["path", "app_id"],
        };
        let problem = |text: &String| Problem::rule(place.iter().map(|step| (*step).into()).collect(), text);
        Error::Invalid(not.problems.iter().map(problem).collect())
    })
}
