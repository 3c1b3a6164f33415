//! `listen apps keys`: with one of them an app writes to its users.

use clap::{Args, Subcommand};
use operations::{IdKind, Operations};
use rand::RngExt;
use records::UserId;
use secrecy::ExposeSecret;
use serde_json::json;
use store::{AppKeyRefusal, NewAppKey};

use super::{
    super::{
        ids, named,
        stdout::reply,
        table::{self, Column, CommonArgs, id, text, word},
        times::ago,
    },
    find, unknown,
};
use crate::{
    exit::Exit,
    process::{chance, new_id},
};

/// Keys of apps.
#[derive(Args, Debug)]
pub(super) struct Keys {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a key; its text is printed once and never again.
    Create {
        /// Id of the app.
        app: String,
        /// Name of the key.
        #[arg(long, default_value = "key", value_parser = named::name)]
        label: String,
    },
    /// List an app's keys.
    List {
        /// Id of the app.
        app: String,
    },
    /// Revoke a key at once.
    Revoke {
        /// Id of the app.
        app: String,
        /// Id of the key.
        id: String,
    },
}

/// A key that was never shown is useless, and lives: it is revoked. Reports the outcome.
async fn unseen(operations: &Operations, owner: &UserId, app: &str, id: &str) -> String {
    match operations.store().revoke_app_key(owner, app, id).await {
        Ok(_) => format!("the key {id} could not be shown and was revoked again"),
        Err(_) => format!("the key {id} could not be shown and lives: `listen apps keys revoke` ends it"),
    }
}

/// Which key, and whether it lives.
pub(crate) const COLUMNS: [Column; 6] =
    [id("id", 0), text("label", 2), word("key", 3), word("state", 1), word("last used", 4), word("age", 5)];

pub(super) async fn run(common: &CommonArgs, keys: Keys) -> anyhow::Result<()> {
    let (Verb::Create { app, .. } | Verb::List { app } | Verb::Revoke { app, .. }) = &keys.verb;
    let (operations, app) = ids::find(common, IdKind::App, app).await?;
    let owner = UserId::new(find(&operations, &app).await?.owner);
    let as_json = common.json;
    match keys.verb {
        Verb::Create { label, .. } => {
            let text = api::keys::generate_app_key(chance().random(), operations.db().shard());
            let id = new_id().to_string();
            let key = NewAppKey { id, label, prefix: text.hint, sha256: text.sha256 };
            let made =
                operations.store().create_app_key(&owner, &app, &key).await?.map_err(
                    |refusal| match refusal {
                        AppKeyRefusal::NoSuchApp => unknown(&app),
                        AppKeyRefusal::TooMany => Exit::Refused(format!("{app} has 20 live keys already")),
                    },
                )?;
            let shown = reply!(as_json, { "id": made.id, "key": text.plaintext.expose_secret() },
                "{}", text.plaintext.expose_secret());
            match shown {
                Ok(()) => Ok(()),
                Err(error) => Err(error.context(unseen(&operations, &owner, &app, &made.id).await)),
            }
        }
        Verb::List { .. } => {
            let keys = operations.store().app_keys(&owner, &app).await?;
            if as_json {
                return table::print_page(
                    "keys",
                    keys.iter().map(|key| json!(api::shapes::app_key(key))).collect(),
                    None,
                );
            }
            let now = operations.db().now().await?;
            let never = || "never".to_owned();
            let rows = keys.into_iter().map(|key| {
                let state = if key.revoked_at.is_some() { "revoked" } else { "live" };
                vec![
                    key.id,
                    key.label,
                    key.prefix,
                    state.to_owned(),
                    key.last_used_at.map_or_else(never, |at| ago(at, now)),
                    ago(key.created_at, now),
                ]
            });
            table::print(&COLUMNS, rows.collect())
        }
        Verb::Revoke { id, .. } => {
            let id = ids::whole(&operations, IdKind::AppKey, Some(&owner), &id).await?;
            if !operations.store().revoke_app_key(&owner, &app, &id).await? {
                return Err(Exit::NotFound(format!("{app} has no live key {id}")).into());
            }
            reply!(as_json, { "id": id, "revoked": true }, "revoked {id}")
        }
    }
}
