//! Apps of third parties: whose, where users' words go, how its server answers; and the switch.

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Redirect;
use job::Timestamp;
use operations::{Operations, OperatorApp};
use serde::Deserialize;

use super::{
    Acted, Acting, Asked, Confirm, Console, Fault, Frame, Moment, Query, Shown, Undone, Visitor,
    extract::Path,
    extract::read_place,
    query, render,
    shards::{user, without},
    words::segment,
};
use crate::{commands::paging::cursor, lists, over_shards::each_alone};

/// Apps on a page.
const PAGE: i64 = 50;

/// Whose, from which place on, and what was just done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    user: String,
    before: String,
    done: Option<String>,
}

#[derive(Template)]
#[template(path = "apps.html")]
struct Page {
    frame: Frame,
    without: Option<String>,
    which: Which,
    apps: Vec<Line>,
    next: Option<String>,
}

struct Line {
    app: OperatorApp,
    state: &'static str,
    words: String,
    hosts: String,
    tools: usize,
    failing: Option<Moment>,
}

impl Line {
    fn new(app: OperatorApp, now: Timestamp) -> Self {
        let manifest = app.manifest.as_deref().and_then(apps::Manifest::from_text).unwrap_or_default();
        let endpoints = manifest.tools.iter().map(|tool| tool.endpoint.as_str());
        let hosts: BTreeSet<String> =
            endpoints.chain(app.webhook_url.as_deref()).filter_map(apps::origin).collect();
        let (state, words) = match (&app.switched_off_reason, app.failing_since) {
            (Some(reason), _) => ("dead_letter", format!("off: {reason}")),
            (None, Some(_)) => ("blocked_byok", "failing".to_owned()),
            (None, None) => ("completed", "on".to_owned()),
        };
        Self {
            state,
            words,
            hosts: hosts.into_iter().collect::<Vec<_>>().join(" "),
            tools: manifest.tools.len(),
            failing: app.failing_since.map(|since| Moment::new(since, now)),
            app,
        }
    }
}

pub(super) async fn list(visitor: Visitor, console: Console, Query(which): Query<Which>) -> Shown {
    let user = user(&which.user);
    let before = read_place(&which.before)?;
    let shards = console.shards_of(user.as_ref());
    let apps = lists::apps::<db::Error>(&shards, user.as_ref(), before.as_ref(), PAGE + 1);
    let mut found = apps.await?;
    let next = found
        .cut(PAGE)
        .map(|last| query(&[("user", &which.user), ("before", &cursor(last.created_at, &last.id))]));
    let frame = Frame::of(visitor, "apps", "Apps").after(which.done.as_deref());
    let apps = found.rows.into_iter().map(|app| Line::new(app, found.now)).collect();
    let without = without(found.away);
    Ok(render(&Page { frame, without, which, apps, next }))
}

pub(super) async fn ask(visitor: Visitor, Path((id, change)): Path<(String, String)>) -> Asked {
    let is_off = reads_off(&change)?;
    let (sentence, button) = match is_off {
        true => (
            "No tool of the app is called, it may not write, and it is sent no conversation of any user, until \
             it is switched on again. Its users and its owner see the reason.",
            "Switch off",
        ),
        false => (
            "Its tools are called and it may write again. Users whose conversations it was sent install it again.",
            "Switch on",
        ),
    };
    Ok(Confirm {
        sentences: vec![sentence.to_owned()],
        action: format!("/console/apps/{}/{change}", segment(&id)),
        subject: id,
        button,
        back: "/console/apps".to_owned(),
        ..Confirm::new(visitor, "apps", format!("{button} this app?"))
    })
}

pub(super) async fn change(
    console: Console,
    Path((id, change)): Path<(String, String)>,
    acting: Acting,
) -> Acted {
    let is_off = reads_off(&change)?;
    let action = acting.action()?;
    let (id, action) = (id.as_str(), &action);
    let switch = |shard: Operations| async move {
        let found = shard.db().in_time(shard.switch_app(id, !is_off, action)).await?;
        if found && let Err(error) = shard.db().in_time(shard.store().follow_apps(Some(id))).await {
            // The app is switched all the same.
            tracing::warn!(%error, "the webhooks of an app are left to the round");
        }
        Ok::<_, db::Error>(found)
    };
    // One of the shards has it.
    let (mut is_switched, mut errors) = (false, Vec::new());
    for (_, answer) in each_alone(&console.all(), switch).await {
        match answer {
            Ok(found) => is_switched |= found,
            Err(error) => errors.push(Undone::from(error)),
        }
    }
    if !is_switched {
        let missing = || Fault::Missing(format!("There is no app {id}.")).into();
        return Err(Undone::worst(errors).unwrap_or_else(missing));
    }
    let word = if is_off { "switched-off" } else { "switched-on" };
    Ok(Redirect::to(&format!("/console/apps?{}", query(&[("done", word)]))))
}

fn reads_off(change: &str) -> Result<bool, Fault> {
    match change {
        "switch-off" => Ok(true),
        "switch-on" => Ok(false),
        _ => Err(Fault::Missing("There is no such change.".to_owned())),
    }
}
