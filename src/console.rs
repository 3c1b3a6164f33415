//! The console: what operators see and do in a browser, on the admin address.
//!
//! Pages are made here, of what the ledger tells operators; they read and act without scripts, and with them go on by
//! themselves ([`live`]). Nothing that a user said is ever on one. Who may enter is decided by
//! [`ConsoleAccess`]; every change needs a form of ours ([`auth::Acting`]).

mod apps;
mod assets;
mod audit;
mod auth;
mod chart;
mod confirm;
mod delivery;
mod endpoint;
mod error;
mod extract;
mod filter_form;
mod find;
mod guard;
mod help;
mod job;
mod job_actions;
mod jobs;
mod live;
mod login;
mod outcome;
mod overview;
mod page;
mod queues;
mod replays;
mod run_now;
mod selected_jobs;
mod session;
mod sessions;
mod shards;
mod start_replay;
#[cfg(test)]
mod tests;
mod try_now;
mod visitor;
mod webhooks;
mod words;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Path},
    middleware::from_fn_with_state,
    response::Redirect,
    routing::{get, post},
};
use ledger::Shards;
use serde::Deserialize;

pub(crate) use self::start_replay::PATIENCE;
pub(in crate::console) use self::{
    auth::Acting,
    confirm::{Asked, Confirm},
    error::{Acted, Fault, Shown, Undone, in_time},
    extract::Query,
    live::live_page,
    page::{Frame, render},
    visitor::Visitor,
    words::{Moment, count, query},
};
use self::{live::Parts, session::Sessions};
use crate::config::ConsoleAccess;

/// A form is short.
const LONGEST_FORM: usize = 64 * 1024;

/// How long an order goes on, row by row or batch by batch: it ends, and says so, before the listener gives the answer up. The same form
/// goes on with the rest.
const LONGEST_ORDER: Duration = Duration::from_secs(45);

/// What pages are made of.
#[derive(Clone)]
struct Console {
    /// By their numbers: lists and forms are of all of them, what belongs to a user or a job is where that is.
    shards: Shards,
    access: Arc<ConsoleAccess>,
    sessions: Arc<Sessions>,
    parts: Parts,
    /// Where the boards are.
    boards: Option<Arc<str>>,
}

/// What was just done, as the address says it after a change.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct After {
    done: Option<String>,
    /// How far the drawings of the overview reach back [hours].
    hours: Option<u32>,
}

/// How far drawings may reach back [hours].
const RANGES: [u32; 3] = [1, 6, 24];

impl After {
    /// The range that was asked for, if it is one.
    fn hours(&self) -> u32 {
        self.hours.filter(|hours| RANGES.contains(hours)).unwrap_or(RANGES[0])
    }
}

/// Where a browser means to go that was given the address alone, or one slash too many.
async fn to_overview() -> Redirect {
    Redirect::to("/console")
}

async fn asset(Path(file): Path<String>) -> Shown {
    assets::file(&file).ok_or_else(|| Fault::Missing("There is no such file, or not any more.".to_owned()))
}

/// Everything below `/console`, and the way there. `secret` signs sessions and forms, for as long as this process lives; `boards` is
/// the address of Grafana.
pub(crate) fn router(
    shards: impl Into<Shards>,
    access: ConsoleAccess,
    secret: [u8; 32],
    boards: Option<&str>,
) -> Router {
    let console = Console {
        shards: shards.into(),
        access: Arc::new(access),
        sessions: Arc::new(Sessions::new(secret)),
        parts: Parts::default(),
        boards: boards.map(Arc::from),
    };
    Router::new()
        .route("/", get(to_overview))
        .route("/console/", get(to_overview))
        .route("/console", get(overview::show))
        .route("/console/login", get(login::ask).post(login::enter))
        .route("/console/logout", post(login::leave))
        .route("/console/jobs", get(jobs::list))
        .route("/console/find", get(find::show))
        .route("/console/jobs/selected", get(selected_jobs::ask).post(selected_jobs::act))
        .route("/console/jobs/selected/outcome", get(selected_jobs::show))
        .route("/console/jobs/{id}", get(job::show))
        .route("/console/jobs/{id}/{change}", get(job_actions::ask).post(job_actions::act))
        .route("/console/run-now", get(run_now::ask).post(run_now::act))
        .route("/console/outcome", get(outcome::show))
        .route("/console/queues/{queue}/{change}", get(queues::ask).post(queues::change))
        .route("/console/replays", get(replays::list).post(start_replay::start))
        .route("/console/replays/new", get(start_replay::ask))
        .route("/console/replays/{id}", get(replays::show))
        .route("/console/replays/{id}/{change}", get(replays::ask).post(replays::change))
        .route("/console/webhooks", get(webhooks::list))
        .route("/console/webhooks/endpoint", get(endpoint::show))
        .route("/console/webhooks/delivery", get(delivery::show))
        .route("/console/webhooks/redeliver", get(delivery::ask).post(delivery::redeliver))
        .route("/console/webhooks/enable", get(webhooks::ask_enable).post(webhooks::enable))
        .route("/console/webhooks/recover", get(webhooks::ask_recover).post(webhooks::recover))
        .route("/console/webhooks/try-now", get(try_now::ask).post(try_now::act))
        .route("/console/apps", get(apps::list))
        .route("/console/apps/{id}/{change}", get(apps::ask).post(apps::change))
        .route("/console/help", get(help::list))
        .route("/console/help/{word}", get(help::show))
        .route("/console/sessions", get(sessions::list))
        .route("/console/audit", get(audit::list))
        .route("/console/assets/{file}", get(asset))
        .route("/console/{*other}", get(|| async { Fault::Missing("There is no such page.".to_owned()) }))
        .layer(DefaultBodyLimit::max(LONGEST_FORM))
        .layer(from_fn_with_state(console.clone(), guard::guarded))
        .with_state(console)
}
