//! `listen keys`: developer keys. The first key of a user comes from here.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ledger::Ledger;
use operations::IdKind;
use rand::RngExt;
use records::{Timestamp, UserId};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use store::{Key, NewKey};

use super::{
    ids::{self, must_exist},
    named,
    stdout::reply,
    table::{self, Column, CommonArgs, id, text, word},
    times::{ago, time},
};
use crate::{
    exit::Exit,
    process::{chance, new_id},
};

/// Developer keys.
#[derive(Args, Debug)]
pub(crate) struct Keys {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a key; its text is printed once and never again.
    Create {
        /// Id of the user.
        #[arg(long)]
        user: String,
        /// Name of the key.
        #[arg(long, default_value = "key", value_parser = named::name)]
        name: String,
        /// Scopes, separated by commas; all by default.
        #[arg(long, value_delimiter = ',')]
        scopes: Option<Vec<String>>,
    },
    /// List a user's keys.
    List {
        /// Id of the user.
        #[arg(long)]
        user: String,
    },
    /// Revoke a key at once.
    Revoke {
        /// Id of the user.
        #[arg(long)]
        user: String,
        /// Id of the key.
        id: String,
    },
}

pub(crate) async fn run(keys: Keys) -> anyhow::Result<ExitCode> {
    let (common, as_json) = (&keys.common, keys.common.json);
    match keys.verb {
        Verb::Create { user, name, scopes } => {
            let (operations, user) = ids::place_user(common, user).await?;
            let (id, key) = create(&operations, &user, &name, &scopes_named(scopes)?).await?;
            let shown = reply!(as_json, { "id": id, "key": key.expose_secret() }, "{}", key.expose_secret());
            if let Err(error) = shown {
                return Err(error.context(unseen(&operations, &user, &id).await));
            }
        }
        Verb::List { user } => {
            let (operations, user) = ids::find_user(common, &user).await?;
            list(&operations, &user, as_json).await?;
        }
        Verb::Revoke { user, id } => {
            let (operations, user, id) = ids::place_of_user(common, user, IdKind::Key, &id).await?;
            if !operations.store().revoke_key(&user, &id).await? {
                return Err(Exit::NotFound(format!("the user has no live key {id}")).into());
            }
            reply!(as_json, { "id": id, "revoked": true }, "revoked {id}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes a key and stores its hash; the text is in the answer and nowhere else.
pub(crate) async fn create(
    ledger: &Ledger,
    user: &UserId,
    name: &str,
    scopes: &[api::keys::Scope],
) -> anyhow::Result<(String, SecretString)> {
    store(ledger, user, name, scopes, api::keys::generate(chance().random(), ledger.db().shard())).await
}

/// The same with a text that was drawn before.
pub(crate) async fn store(
    ledger: &Ledger,
    user: &UserId,
    name: &str,
    scopes: &[api::keys::Scope],
    text: api::keys::NewKeyText,
) -> anyhow::Result<(String, SecretString)> {
    let id = new_id().to_string();
    let key = NewKey {
        id: id.clone(),
        name: name.to_owned(),
        prefix: text.hint,
        sha256: text.sha256,
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        expires_at: None,
    };
    if !ledger.store().create_key(user, &key).await? {
        return Err(
            Exit::NotFound(format!("there is no user {user}: `listen users create` makes one")).into()
        );
    }
    Ok((id, text.plaintext))
}

/// A key that was never shown is useless, and lives: it is revoked. Reports the outcome.
async fn unseen(ledger: &Ledger, user: &UserId, id: &str) -> String {
    match ledger.store().revoke_key(user, id).await {
        Ok(_) => format!("the key {id} could not be shown and was revoked again"),
        Err(_) => format!("the key {id} could not be shown and lives: `listen keys revoke` ends it"),
    }
}

/// The scopes of those names; an operator who names none grants all.
fn scopes_named(names: Option<Vec<String>>) -> anyhow::Result<Vec<api::keys::Scope>> {
    let Some(names) = names else { return Ok(api::keys::Scope::ALL.to_vec()) };
    let mut scopes = Vec::new();
    for name in &names {
        match api::keys::Scope::from_name(name) {
            Some(scope) => scopes.push(scope),
            None => {
                let known: Vec<&str> = api::keys::Scope::ALL.iter().map(|scope| scope.as_str()).collect();
                let words = format!("there is no scope {name}; there are {}", known.join(", "));
                return Err(Exit::Usage(words).into());
            }
        }
    }
    Ok(scopes)
}

async fn list(ledger: &Ledger, user: &UserId, as_json: bool) -> anyhow::Result<()> {
    let keys = ledger.store().keys(user).await?;
    if keys.is_empty() {
        must_exist(ledger, user).await?;
    }
    if as_json {
        let keys: Vec<_> = keys
            .iter()
            .map(|key| {
                json!({
                    "id": key.id, "name": key.name, "key_prefix": key.prefix, "scopes": key.scopes,
                    "created_at": time(key.created_at), "last_used_at": key.last_used_at.map(time),
                    "expires_at": key.expires_at.map(time), "revoked_at": key.revoked_at.map(time),
                })
            })
            .collect();
        return table::print_page("keys", keys, None);
    }
    let now = ledger.db().now().await?;
    let or_never = |at: Option<Timestamp>| at.map_or("never".to_owned(), |at| ago(at, now));
    let rows = keys
        .into_iter()
        .map(|key| {
            let (state, scopes) = (state(&key, now).to_owned(), words(&key.scopes));
            let (expires, used) = (or_never(key.expires_at), or_never(key.last_used_at));
            vec![key.id, key.name, key.prefix, state, expires, used, scopes]
        })
        .collect();
    table::print(&COLUMNS, rows)
}

/// Which key, and whether it lives.
pub(crate) const COLUMNS: [Column; 7] = [
    id("id", 0),
    text("name", 2),
    word("key", 3),
    word("state", 1),
    word("expires", 5),
    word("last used", 4),
    text("scopes", 6),
];

/// Whether a key lets anybody in at `now`, in a word.
fn state(key: &Key, now: Timestamp) -> &'static str {
    match (key.revoked_at, key.expires_at) {
        (Some(_), _) => "revoked",
        (None, Some(at)) if at <= now => "expired",
        (None, _) => "live",
    }
}

/// The scopes as a person reads them.
fn words(scopes: &[String]) -> String {
    match api::keys::Scope::ALL.iter().all(|scope| scopes.iter().any(|own| own == scope.as_str())) {
        true => "all".to_owned(),
        false => scopes.join(" "),
    }
}
