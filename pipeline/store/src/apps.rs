//! Apps of third parties: what their owners set, what their manifests say, and who installed them.
//!
//! An app belongs to its owner's rows, an install to those of the user who installed it: no transaction writes both. An install
//! whose app is gone, switched off or no longer public is ignored, and pruned by the round.

use db::{Error, query, query_as, secrets::Context};
use records::{Timestamp, UserId};
use secrecy::SecretString;
use sqlx::{PgExecutor, Postgres, postgres::PgArguments, query::QueryAs};

use crate::{Store, paging::load_within};

mod install;
mod keys;
mod save;

pub use install::InstallRefusal;
pub use keys::{AppKey, AppKeyOwner, AppKeyRefusal, NewAppKey};
pub use save::{NewApp, Stored, TooManyApps};

job::named! {
    /// Who sees an app, and may install it.
    #[derive(Default)]
    AppVisibility {
        /// Its owner alone.
        #[default]
        Private = "private",
        /// Every user of this instance.
        Public = "public",
    }
}

/// What an owner sets; every URL was checked by the guard.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct AppFields {
    pub name: String,
    pub description: String,
    #[sqlx(try_from = "String")]
    pub visibility: AppVisibility,
    /// What paths of its manifest are resolved against.
    pub home_url: Option<String>,
    pub manifest_url: Option<String>,
    pub webhook_url: Option<String>,
    pub setup_url: Option<String>,
    /// What says whether a user has.
    pub setup_completed_url: Option<String>,
    /// The prompt of a summary that it writes of every conversation.
    pub summary_prompt: Option<String>,
    /// An MCP server whose tools it lends.
    pub mcp_url: Option<String>,
}

/// A checked manifest as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptManifest {
    /// The manifest, every default written out.
    pub text: String,
    pub sha256: [u8; 32],
    /// Whether the app may write to its users.
    pub chat_enabled: bool,
    /// `app` or `main`.
    pub chat_target: &'static str,
    /// Whether a push is sent, too.
    pub chat_notify: bool,
}

/// An app as a user sees it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct App {
    #[sqlx(rename = "app_id")]
    pub id: String,
    #[sqlx(rename = "user_id")]
    pub owner: UserId,
    #[sqlx(flatten)]
    pub fields: AppFields,
    pub manifest: Option<String>,
    pub manifest_fetched_at: Option<Timestamp>,
    /// Raised by every change.
    pub version: i64,
    /// Since when its server has not answered.
    pub failing_since: Option<Timestamp>,
    pub switched_off_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Whether the user who asks has installed it.
    pub installed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AppFilter {
    /// Installed ones only, or the others only.
    pub installed: Option<bool>,
    /// The user's own only, or the others only.
    pub mine: Option<bool>,
    pub limit: i64,
    pub offset: i64,
}

/// An installed app, with what calling its tools needs.
#[derive(Clone, Debug)]
pub struct InstalledApp {
    pub id: String,
    pub owner: UserId,
    pub name: String,
    pub manifest: Option<String>,
    pub setup_url: Option<String>,
    pub summary_prompt: Option<String>,
    /// The token for its MCP server.
    pub mcp_token: Option<SecretString>,
    /// Signs what is sent to it; `None` when no key that is set opens it.
    pub secret: Option<SecretString>,
    /// The database's clock at the reading.
    pub now: Timestamp,
}

impl Store {
    /// Apps that `user` sees: their own and public ones, newest first. `reserve` is asked for the memory of their manifests as they
    /// are loaded; returns its refusal.
    pub async fn apps_within<R>(
        &self,
        user: &UserId,
        filter: &AppFilter,
        reserve: impl FnMut(usize) -> Result<(), R>,
    ) -> Result<Result<Vec<App>, R>, Error> {
        let rows = listed(user, None, filter).fetch(self.db.pool());
        load_within(rows, Ok, words, reserve).await
    }

    /// One app, if `user` sees it.
    pub async fn app(&self, user: &UserId, id: &str) -> Result<Option<App>, Error> {
        Ok(one_app(self.db.pool(), user, id).await?)
    }

    /// The apps that a user installed and may use, in the order in which they were installed.
    pub async fn installed_apps(&self, user: &UserId) -> Result<Vec<InstalledApp>, Error> {
        self.list_installed(user, None).await
    }

    /// Their ids and names alone: what calling them needs may be megabytes.
    pub async fn installed_app_names(&self, user: &UserId) -> Result<Vec<(String, String)>, Error> {
        Ok(query_as!("apps/installed_names.sql", user).fetch_all(self.db.pool()).await?)
    }

    /// One of them.
    pub async fn installed_app(&self, user: &UserId, id: &str) -> Result<Option<InstalledApp>, Error> {
        Ok(self.list_installed(user, Some(id)).await?.pop())
    }

    async fn list_installed(&self, user: &UserId, id: Option<&str>) -> Result<Vec<InstalledApp>, Error> {
        let rows: Vec<InstalledRow> =
            query_as!("apps/installed.sql", user, id).fetch_all(self.db.pool()).await?;
        Ok(rows.into_iter().map(|row| row.app(self)).collect())
    }

    /// Notes whether an app's server answers. Written only where that changes.
    pub async fn note_app_outcome(&self, owner: &UserId, id: &str, failing: bool) -> Result<(), Error> {
        query!("apps/note_outcome.sql", owner, id, failing).execute(self.db.pool()).await?;
        Ok(())
    }
}

async fn one_app(db: impl PgExecutor<'_>, user: &UserId, id: &str) -> Result<Option<App>, sqlx::Error> {
    let one = AppFilter { limit: 1, ..AppFilter::default() };
    listed(user, Some(id), &one).fetch_optional(db).await
}

fn listed<'q>(
    user: &'q UserId,
    id: Option<&'q str>,
    filter: &AppFilter,
) -> QueryAs<'q, Postgres, App, PgArguments> {
    query_as!("apps/list.sql", user, id, filter.installed, filter.mine, filter.limit, filter.offset)
}

/// The bytes of what an app's owner and server wrote at length.
fn words(app: &App) -> usize {
    let long = [&app.manifest, &app.fields.summary_prompt];
    app.fields.description.len() + long.into_iter().flatten().map(String::len).sum::<usize>()
}

#[derive(sqlx::FromRow)]
struct InstalledRow {
    app_id: String,
    user_id: String,
    name: String,
    manifest: Option<String>,
    setup_url: Option<String>,
    secret: String,
    mcp_token: Option<String>,
    summary_prompt: Option<String>,
    now: Timestamp,
}

impl InstalledRow {
    fn app(self, store: &Store) -> InstalledApp {
        let (secrets, owner, id) = (store.db.secrets(), &*self.user_id, &*self.app_id);
        let token =
            self.mcp_token.map(|token| secrets.open(Context::mcp_token(owner, id), &token)).transpose();
        let secret = secrets.open(Context::app(owner, id), &self.secret).ok().filter(|_| token.is_ok());
        if secret.is_none() {
            tracing::error!(
                app_id = self.app_id,
                "the secret of an app cannot be opened with LISTEN_SECRETS_KEY"
            );
        }
        InstalledApp {
            id: self.app_id,
            owner: UserId::new(self.user_id),
            name: self.name,
            manifest: self.manifest,
            setup_url: self.setup_url,
            summary_prompt: self.summary_prompt,
            mcp_token: token.ok().flatten(),
            secret,
            now: self.now,
        }
    }
}
