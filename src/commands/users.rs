//! `listen users`: people whose conversations are kept.

mod delete;
pub(crate) mod limits;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ledger::{Ledger, UserChange};
use records::UserId;
use serde_json::json;

use super::{
    named,
    stdout::say,
    table::{Asked, print_json},
};
use crate::{exit::Exit, wiring::chance};

/// People whose conversations are kept.
#[derive(Args, Debug)]
pub(crate) struct Users {
    #[command(flatten)]
    asked: Asked,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a person.
    Create {
        /// An id of your own; else one is made.
        #[arg(long, value_parser = named::id)]
        id: Option<String>,
        #[command(flatten)]
        settings: Settings,
    },
    /// Change a person's settings.
    Set {
        /// The person.
        id: String,
        /// Only runs that hold the person's own keys are allowed.
        #[arg(long)]
        requires_byok: Option<bool>,
        #[command(flatten)]
        settings: Settings,
        /// Switch all summarization apps off.
        #[arg(long, conflicts_with = "apps")]
        no_apps: bool,
        /// What the person may use up: conversations-per-day=N, bytes=SIZE (such as 2GiB), waiting-jobs=N. 0 is no limit;
        /// `default` gives one back to the service's setting.
        #[arg(long, value_delimiter = ',', value_name = "NAME=N,…", value_parser = limits::limit)]
        limits: Vec<limits::Limit>,
    },
    /// Show a person's settings, limits and what is used of them.
    Show {
        /// The person.
        id: String,
    },
    /// Delete a user with everything that belongs to them. It cannot be undone.
    Delete(delete::Delete),
}

#[derive(Args, Debug)]
struct Settings {
    /// The person's name.
    #[arg(long, value_parser = named::name)]
    name: Option<String>,
    /// An IANA time zone, for example Europe/Berlin: in it "by Friday" is resolved.
    #[arg(long, value_parser = time_zone)]
    time_zone: Option<String>,
    /// Summarization apps: minutes, decisions, questions.
    #[arg(long, value_delimiter = ',', value_parser = records::APPS)]
    apps: Option<Vec<String>>,
}

/// Runs one verb.
///
/// # Errors
/// When the database does not answer, the id is taken, or there is no such user.
pub(crate) async fn run(users: Users) -> anyhow::Result<ExitCode> {
    let ledger = users.asked.ledger()?;
    let (id, change) = match users.verb {
        Verb::Create { id, settings } => {
            let id = UserId::new(id.unwrap_or_else(fresh_id));
            if !create(&ledger, &id, &settings.change(None)).await? {
                return Err(Exit::Refused(format!("there is a person {id} already")).into());
            }
            (id, None)
        }
        Verb::Set { id, requires_byok, settings, no_apps, limits } => {
            let mut change = settings.change(requires_byok);
            change.limits = limits::change(&limits);
            if no_apps {
                change.apps = Some(Vec::new());
            }
            if change == UserChange::default() {
                let words = "nothing to change was named; there are --name, --time-zone, --requires-byok, --apps, \
                             --no-apps and --limits";
                return Err(Exit::Usage(words.to_owned()).into());
            }
            (UserId::new(id), Some(change))
        }
        Verb::Show { id } => return limits::show(&ledger, &UserId::new(id), users.asked.json).await,
        Verb::Delete(delete) => return delete::run(&ledger, &delete, users.asked.json).await,
    };
    if let Some(change) = &change
        && ledger.change_user(&id, change).await?.is_none()
    {
        return Err(nobody(&id).into());
    }
    match users.asked.json {
        true => print_json(&json!({ "id": id.as_str() })),
        false => say!("{id}"),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Creates a person; `false` when the id is taken.
///
/// # Errors
/// When the database does not answer.
pub(crate) async fn create(ledger: &Ledger, id: &UserId, change: &UserChange) -> anyhow::Result<bool> {
    Ok(ledger.create_user(id, change).await?)
}

/// What is said of a person who is not there.
pub(super) fn nobody(user: &UserId) -> Exit {
    Exit::NotFound(format!("there is no person {user}"))
}

impl Settings {
    fn change(&self, requires_byok: Option<bool>) -> UserChange {
        UserChange {
            name: self.name.clone().map(Some),
            time_zone: self.time_zone.clone(),
            requires_byok,
            apps: self.apps.clone(),
            ..UserChange::default()
        }
    }
}

fn fresh_id() -> String {
    use rand::RngExt;
    uuid::Builder::from_random_bytes(chance().random()).into_uuid().to_string()
}

fn time_zone(name: &str) -> Result<String, String> {
    name.parse::<chrono_tz::Tz>()
        .map(|zone| zone.name().to_owned())
        .map_err(|_| "not an IANA time zone".to_owned())
}
