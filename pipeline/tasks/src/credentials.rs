//! How this process says who it is: by Google's application default credentials, or not at all.
//!
//! `google-cloud-auth` finds them (metadata server, `GOOGLE_APPLICATION_CREDENTIALS` with a service account, workload identity federation
//! or impersonation), keeps tokens and renews them before they expire.

use google_cloud_auth::credentials::{Builder, CacheableResource, Credentials};
use reqwest::header::HeaderMap;

/// What tokens are asked for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// How requests to the task queue are authorized.
#[derive(Clone, Debug)]
pub enum Access {
    /// With a token of this process's service account.
    Google(Credentials),
    /// Not at all: an emulator on this machine.
    Open,
}

/// The credentials that are configured cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCredentials;

impl Access {
    /// The application default credentials of this process. Must be called within a runtime; no token is fetched yet.
    ///
    /// # Errors
    /// When `GOOGLE_APPLICATION_CREDENTIALS` names a file that cannot be read or understood.
    pub fn google() -> Result<Self, NoCredentials> {
        Builder::default().with_scopes([SCOPE]).build().map(Self::Google).map_err(|_| NoCredentials)
    }

    /// The headers that authorize a request.
    ///
    /// # Errors
    /// When no token can be had at the moment.
    pub(crate) async fn headers(&self) -> Result<HeaderMap, NoCredentials> {
        let credentials = match self {
            Self::Google(credentials) => credentials,
            Self::Open => return Ok(HeaderMap::new()),
        };
        match credentials.headers(Default::default()).await {
            Ok(CacheableResource::New { data, .. }) => Ok(data),
            // Only an answer to a caller that has shown a tag, which is not done here.
            Ok(CacheableResource::NotModified) | Err(_) => Err(NoCredentials),
        }
    }
}
