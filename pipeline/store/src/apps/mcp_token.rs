//! The token with which an app's MCP server is called: written, and never shown again.

use db::{Error, secrets::Context};
use records::UserId;
use secrecy::{ExposeSecret, SecretString};

use crate::Store;

/// What a save does with the token.
#[derive(Clone, Debug, Default)]
pub enum McpToken {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is forgotten.
    Remove,
    Replace(SecretString),
}

impl PartialEq for McpToken {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Replace(one), Self::Replace(other)) => one.expose_secret() == other.expose_secret(),
            (Self::Keep, Self::Keep) | (Self::Remove, Self::Remove) => true,
            _ => false,
        }
    }
}

impl Eq for McpToken {}

impl Store {
    /// The token of an app of the user's.
    ///
    /// # Errors
    /// When the database does not answer, or no key that is set opens the token.
    pub async fn app_mcp_token(&self, owner: &UserId, id: &str) -> Result<Option<SecretString>, Error> {
        let stored: Option<Option<String>> = sqlx::query_scalar(include_str!("../../sql/apps/mcp_token.sql"))
            .bind(owner.as_str())
            .bind(id)
            .fetch_optional(self.db.pool())
            .await?;
        let open = |token: String| self.db.secrets().open(Context::mcp_token(owner.as_str(), id), &token);
        stored.flatten().map(open).transpose()
    }

    /// How the new token of an app is stored, if there is one.
    pub(super) fn sealed_token(
        &self,
        owner: &UserId,
        id: &str,
        token: &McpToken,
    ) -> Result<Option<String>, Error> {
        let McpToken::Replace(token) = token else { return Ok(None) };
        self.db.secrets().seal(Context::mcp_token(owner.as_str(), id), token).map(Some)
    }
}
