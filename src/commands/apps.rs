//! `listen apps`: apps of third parties.

mod create;
pub(crate) mod keys;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use operations::{IdKind, Operations, OperatorApp};
use records::{Timestamp, UserId};
use serde_json::{Value, json};
use store::InstallRefusal;

use super::{
    consent::Cause,
    ids::{self, must_exist},
    paging::{Paging, cursor},
    stderr::note,
    stdout::{reply, say},
    table::{self, Column, CommonArgs, List, field, id, number, print_json, text, word},
    times::{ago, time},
};
use crate::{exit::Exit, lists};

/// Apps of third parties: their manifests, who installed them, and their keys.
#[derive(Args, Debug)]
pub(crate) struct Apps {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List apps, newest first: all, or a user's.
    List {
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an app: what it gets, its tools, and how its server answers.
    Show {
        /// Id of the app.
        id: String,
    },
    /// Make an app for a user; prints its id and its signing secret, which is not shown again.
    Create(Box<create::Create>),
    /// Install an app for a user. What the app asks of its users itself is not checked.
    Install {
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: String,
        /// Id of the app.
        id: String,
    },
    /// Uninstall an app for a user.
    Uninstall {
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: String,
        /// Id of the app.
        id: String,
    },
    /// Keys with which an app writes to its users.
    Keys(keys::Keys),
    /// Switch an app off for all users: it is not called and may not write.
    SwitchOff {
        /// Id of the app.
        id: String,
        #[command(flatten)]
        cause: Cause,
    },
    /// Switch an app on again.
    SwitchOn {
        /// Id of the app.
        id: String,
        #[command(flatten)]
        cause: Cause,
    },
}

pub(crate) async fn run(apps: Apps) -> anyhow::Result<ExitCode> {
    let (common, as_json) = (&apps.common, apps.common.json);
    match apps.verb {
        Verb::List { user, paging } => {
            let (shards, user) = ids::shards_and_user(common, user.as_deref()).await?;
            list(&shards, user.as_ref(), &paging, as_json).await
        }
        Verb::Show { id } => {
            let (operations, id) = ids::find(common, IdKind::App, &id).await?;
            show(&find(&operations, &id).await?, as_json)
        }
        Verb::Create(create) => {
            let operations = ids::place(common, IdKind::User, &create.user).await?;
            create::run(&operations, *create, as_json).await
        }
        Verb::Install { user, id } => {
            let (operations, user) = ids::place_user(common, user).await?;
            install(&operations, &user, &whole(&operations, &id).await?, as_json).await
        }
        Verb::Uninstall { user, id } => {
            let (operations, user) = ids::place_user(common, user).await?;
            uninstall(&operations, &user, &whole(&operations, &id).await?, as_json).await
        }
        Verb::Keys(keys) => keys::run(common, keys).await,
        Verb::SwitchOff { id, cause } => switch(common, &id, false, &cause).await,
        Verb::SwitchOn { id, cause } => switch(common, &id, true, &cause).await,
    }?;
    Ok(ExitCode::SUCCESS)
}

async fn list(
    shards: &[Operations],
    user: Option<&UserId>,
    paging: &Paging,
    as_json: bool,
) -> anyhow::Result<()> {
    let before = paging.position()?;
    let mut found = lists::apps::<anyhow::Error>(shards, user, before.as_ref(), paging.limit + 1).await?;
    let next = found.cut(paging.limit).map(|app| cursor(app.created_at, &app.id));
    let list = List { name: "apps", none: "there are no apps", columns: &COLUMNS, to_json, row };
    list.print(&found, next.as_deref(), as_json)
}

fn row(app: &OperatorApp, now: Timestamp) -> Vec<String> {
    vec![
        app.id.clone(),
        app.owner.clone(),
        app.name.clone(),
        app.visibility.clone(),
        state(app),
        app.failing_since.map(|since| ago(since, now)).unwrap_or_default(),
        app.installs.to_string(),
    ]
}

/// Which app, what its owner called it, and how it is.
pub(crate) const COLUMNS: [Column; 7] = [
    id("app", 0),
    id("owner", 3),
    text("name", 1),
    word("visibility", 6),
    text("state", 2),
    word("failing for", 5),
    number("installs", 4),
];

/// What the assistant may call.
pub(crate) const TOOLS: [Column; 4] =
    [word("tool", 0), word("method", 2), text("host", 1), text("parameters", 3)];

async fn find(operations: &Operations, id: &str) -> anyhow::Result<OperatorApp> {
    operations.operator_apps(None, Some(id), None, 1).await?.pop().ok_or_else(|| unknown(id).into())
}

async fn whole(operations: &Operations, id: &str) -> anyhow::Result<String> {
    ids::whole(operations, IdKind::App, None, id).await
}

fn unknown(id: &str) -> Exit {
    Exit::NotFound(format!("there is no app {id}"))
}

fn show(app: &OperatorApp, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print_json(&to_json(app));
    }
    let manifest = app.manifest.as_deref().and_then(apps::Manifest::from_text).unwrap_or_default();
    let none = || "(none)".to_owned();
    for (name, value) in [
        ("app", app.id.clone()),
        ("owner", app.owner.clone()),
        ("name", app.name.clone()),
        ("visibility", app.visibility.clone()),
        ("state", state(app)),
        ("installs", app.installs.to_string()),
        ("manifest", app.manifest_url.clone().unwrap_or_else(none)),
        ("fetched", app.manifest_fetched_at.map_or_else(none, time)),
        ("conversations to", app.webhook_url.as_deref().and_then(apps::origin).unwrap_or_else(none)),
        ("writes to chats", manifest.chat_messages.enabled.to_string()),
        ("failing since", app.failing_since.map_or_else(none, time)),
    ] {
        field(name, &value)?;
    }
    say!("")?;
    let rows = manifest.tools.iter().map(|tool| {
        let parameters: Vec<&str> = tool.parameters.iter().map(|one| one.name.as_str()).collect();
        let host = apps::origin(&tool.endpoint).unwrap_or_default();
        vec![tool.name.clone(), tool.method.as_str().to_owned(), host, parameters.join(" ")]
    });
    table::print(&TOOLS, rows.collect())
}

async fn install(operations: &Operations, user: &UserId, id: &str, as_json: bool) -> anyhow::Result<()> {
    must_exist(operations, user).await?;
    operations.store().install_app(user, id).await?.map_err(|refusal| match refusal {
        InstallRefusal::NoSuchApp => Exit::NotFound(format!("{user} sees no app {id}")),
        InstallRefusal::SwitchedOff => Exit::Refused(format!("{id} is switched off")),
        InstallRefusal::TooMany => Exit::Refused(format!("{user} has 50 installed apps already")),
    })?;
    reply!(as_json, { "app": id, "user_id": user.as_str(), "installed": true },
        "{id} is installed for {user}")
}

async fn uninstall(operations: &Operations, user: &UserId, id: &str, as_json: bool) -> anyhow::Result<()> {
    let changed = operations.store().uninstall_app(user, id).await?;
    match as_json {
        true => print_json(
            &json!({ "app": id, "user_id": user.as_str(), "installed": false, "changed": changed }),
        ),
        false if changed => say!("{id} is uninstalled for {user}"),
        false => say!("{id} was not installed for {user}"),
    }
}

async fn switch(common: &CommonArgs, id: &str, is_on: bool, cause: &Cause) -> anyhow::Result<()> {
    let (operations, id) = ids::find(common, IdKind::App, id).await?;
    if !operations.switch_app(&id, is_on, &cause.action()).await? {
        return Err(unknown(&id).into());
    }
    // The webhooks of its users follow: no delivery is sent while it is off.
    if let Err(error) = follow(&operations, &id).await {
        // The app is switched all the same.
        note!("the webhooks of its users follow with the next repair pass: {error}");
    }
    match (common.json, is_on) {
        (true, is_on) => print_json(&json!({ "app": id, "switched": if is_on { "on" } else { "off" } })),
        (false, true) => {
            say!("{id} is switched on; users who got its conversations by webhook must install it again")
        }
        (false, false) => say!("{id} is switched off"),
    }
}

/// Each call ends after a few seconds, with what it has done.
async fn follow(operations: &Operations, id: &str) -> Result<(), db::Error> {
    while operations.store().follow_apps(Some(id)).await? > 0 {}
    Ok(())
}

fn state(app: &OperatorApp) -> String {
    match (&app.switched_off_reason, app.failing_since) {
        (Some(reason), _) => format!("off: {reason}"),
        (None, Some(_)) => "failing".to_owned(),
        (None, None) => "on".to_owned(),
    }
}

fn to_json(app: &OperatorApp) -> Value {
    let manifest = app.manifest.as_deref().and_then(apps::Manifest::from_text).unwrap_or_default();
    json!({
        "app": app.id, "owner": app.owner, "name": app.name, "visibility": app.visibility,
        "home_url": app.home_url, "manifest_url": app.manifest_url,
        "conversations_to": app.webhook_url.as_deref().and_then(apps::origin),
        "tools": manifest.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        "chat_messages": manifest.chat_messages.enabled, "manifest_fetched_at": app.manifest_fetched_at.map(time),
        "failing_since": app.failing_since.map(time), "switched_off_at": app.switched_off_at.map(time),
        "switched_off_reason": app.switched_off_reason, "installs": app.installs, "created_at": time(app.created_at),
    })
}
