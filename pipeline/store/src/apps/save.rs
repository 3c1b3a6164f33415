//! Making, changing and deleting an app.

use db::{Error, lock_user, query, query_scalar, secrets::Context, sql};
use records::UserId;
use secrecy::SecretString;
use sqlx::{Postgres, postgres::PgArguments, query::Query};

use super::{App, AppFields, KeptManifest, one_app};
use crate::Store;

/// How many apps a user may own.
const MOST: i64 = 50;

#[derive(Clone, Debug)]
pub struct NewApp {
    pub id: String,
    pub fields: AppFields,
    /// The token for its MCP server.
    pub mcp_token: Option<SecretString>,
    /// Its manifest, where it has one.
    pub manifest: Option<KeptManifest>,
    /// `whsec_…`: signs what is sent to it.
    pub secret: SecretString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyApps;

/// What came of storing a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The app as it is now.
    Stored(Box<App>),
    /// It was changed since it was read: nothing was stored.
    Changed,
    Gone,
}

impl Store {
    pub async fn create_app(&self, owner: &UserId, new: &NewApp) -> Result<Result<App, TooManyApps>, Error> {
        let secret = self.db.secrets().seal(Context::app(owner.as_str(), &new.id), &new.secret)?;
        let token = self.sealed_token(owner, &new.id, new.mcp_token.as_ref())?;
        let (mut transaction, now) = self.db.begin_creating(&[&new.id]).await?;
        lock_user(&mut transaction, owner).await?;
        let owned: i64 = query_scalar!("apps/count_own.sql", owner).fetch_one(&mut *transaction).await?;
        if owned >= MOST {
            return Ok(Err(TooManyApps));
        }
        let query = query!("apps/insert.sql", owner, &new.id);
        bound(query, &new.fields, token.as_deref(), new.manifest.as_ref())
            .bind(&secret)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        // Read before the commit: after it, its user's deletion may have taken it away.
        let made = one_app(&mut *transaction, owner, &new.id).await?.ok_or(sqlx::Error::RowNotFound)?;
        transaction.commit().await?;
        Ok(Ok(made))
    }

    /// Stores an app whole, over the version that was read before its manifest was fetched; `token` is that for its MCP server.
    pub async fn store_app(
        &self,
        owner: &UserId,
        (id, version): (&str, i64),
        fields: &AppFields,
        token: Option<&SecretString>,
        manifest: Option<&KeptManifest>,
    ) -> Result<Stored, Error> {
        let token = self.sealed_token(owner, id, token)?;
        let (mut transaction, now) = self.db.begin().await?;
        let query = query!("apps/store.sql", owner, id);
        let stored = bound(query, fields, token.as_deref(), manifest)
            .bind(now)
            .bind(version)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        match (stored.rows_affected() > 0, self.app(owner, id).await?) {
            (true, Some(app)) => Ok(Stored::Stored(Box::new(app))),
            (false, Some(_)) => Ok(Stored::Changed),
            (_, None) => Ok(Stored::Gone),
        }
    }

    /// Deletes an app with its keys; what other users have of it is ignored from now on. `false`: the user owns no such app.
    pub async fn delete_app(&self, owner: &UserId, id: &str) -> Result<bool, Error> {
        self.db.delete_of_user(sql!("apps/delete.sql"), owner, id).await
    }

    /// The token of an app of the user's.
    ///
    /// # Errors
    /// When the database does not answer, or no key that is set opens the token.
    pub async fn app_mcp_token(&self, owner: &UserId, id: &str) -> Result<Option<SecretString>, Error> {
        let stored: Option<Option<String>> =
            query_scalar!("apps/mcp_token.sql", owner, id).fetch_optional(self.db.pool()).await?;
        let open = |token: String| self.db.secrets().open(Context::mcp_token(owner.as_str(), id), &token);
        stored.flatten().map(open).transpose()
    }

    /// How the token of an app is stored, if there is one.
    fn sealed_token(
        &self,
        owner: &UserId,
        id: &str,
        token: Option<&SecretString>,
    ) -> Result<Option<String>, Error> {
        token.map(|token| self.db.secrets().seal(Context::mcp_token(owner.as_str(), id), token)).transpose()
    }
}

/// Both statements have the same columns in the same order.
fn bound<'q>(
    query: Query<'q, Postgres, PgArguments>,
    fields: &'q AppFields,
    token: Option<&'q str>,
    manifest: Option<&'q KeptManifest>,
) -> Query<'q, Postgres, PgArguments> {
    query
        .bind(&fields.name)
        .bind(&fields.description)
        .bind(fields.visibility.as_str())
        .bind(fields.home_url.as_deref())
        .bind(fields.manifest_url.as_deref())
        .bind(fields.webhook_url.as_deref())
        .bind(fields.setup_url.as_deref())
        .bind(fields.setup_completed_url.as_deref())
        .bind(fields.summary_prompt.as_deref())
        .bind(manifest.map(|manifest| manifest.text.as_str()))
        .bind(manifest.map(|manifest| manifest.sha256.as_slice()))
        .bind(manifest.is_some_and(|manifest| manifest.chat_enabled))
        .bind(manifest.map_or("app", |manifest| manifest.chat_target))
        .bind(manifest.is_some_and(|manifest| manifest.chat_notify))
        .bind(fields.mcp_url.as_deref())
        .bind(token)
}
