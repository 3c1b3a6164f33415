//! `listen webhooks`: endpoints in trouble, and what was given up.

mod try_now;

pub(crate) use try_now::words;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use operations::{Enabled, EndpointView, IdKind, Operations};
use records::{Timestamp, UserId};
use serde_json::{Value, json};

use super::{
    consent::Cause,
    ids,
    jobs::several,
    paging::Paging,
    stdout::{reply, say},
    table::{self, Column, CommonArgs, List, field, id, number, print_json, text, word},
    times::{age, ago, time},
};
use crate::{exit::Exit, lists};

/// Webhook endpoints: which are in trouble, and how to repair them.
#[derive(Args, Debug)]
pub(crate) struct Webhooks {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List endpoints that fail, are slow, or were disabled because they failed; with --user, all of that user's.
    List {
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show one endpoint and its newest deliveries.
    Show {
        #[command(flatten)]
        which: Which,
        /// Maximum number of deliveries.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(i64).range(0..=1000))]
        limit: i64,
    },
    /// Send deliveries again that were given up, or cancelled by a 410, since a time.
    Recover {
        #[command(flatten)]
        which: Which,
        /// Age of the oldest event to recover: 90s, 15m, 2h, 7d.
        #[arg(long, value_name = "AGE", value_parser = age)]
        since: chrono::Duration,
        #[command(flatten)]
        cause: Cause,
    },
    /// Try deliveries at once that wait for their next try: one, or all of an endpoint that is back.
    TryNow {
        #[command(flatten)]
        which: Which,
        /// Id of one delivery; without it, all that wait.
        #[arg(long, value_name = "ID")]
        delivery: Option<String>,
        #[command(flatten)]
        cause: Cause,
    },
    /// Enable an endpoint that was disabled because it failed; its waiting deliveries are sent at once.
    Enable {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        cause: Cause,
    },
}

#[derive(Args, Debug)]
struct Which {
    /// Id of the user.
    #[arg(long, value_name = "ID")]
    user: String,
    /// Id of the endpoint.
    id: String,
}

/// An endpoint that is meant, and its user.
struct Meant {
    user: UserId,
    id: String,
}

impl Which {
    /// The endpoint to be changed, in its shard: its user is named by the whole id.
    async fn find(self, common: &CommonArgs) -> anyhow::Result<(Operations, Meant)> {
        let (operations, user, id) =
            ids::place_of_user(common, self.user, IdKind::Endpoint, &self.id).await?;
        Ok((operations, Meant { user, id }))
    }
}

pub(crate) async fn run(webhooks: Webhooks) -> anyhow::Result<ExitCode> {
    let (common, as_json) = (&webhooks.common, webhooks.common.json);
    match webhooks.verb {
        Verb::List { user, paging } => {
            let (shards, user) = ids::shards_and_user(common, user.as_deref()).await?;
            list(&shards, user.as_ref(), &paging, as_json).await
        }
        Verb::Show { which, limit } => {
            let (operations, user) = ids::find_user(common, &which.user).await?;
            let id = ids::whole(&operations, IdKind::Endpoint, Some(&user), &which.id).await?;
            show(&operations, &Meant { user, id }, limit, as_json).await
        }
        Verb::Recover { which, since, cause } => {
            let (operations, endpoint) = which.find(common).await?;
            recover(&operations, &endpoint, since, &cause, as_json).await
        }
        Verb::TryNow { which, delivery, cause } => {
            let (operations, endpoint) = which.find(common).await?;
            try_now::run(&operations, &endpoint, delivery, &cause, as_json).await
        }
        Verb::Enable { which, cause } => {
            let (operations, endpoint) = which.find(common).await?;
            enable(&operations, &endpoint, &cause, as_json).await
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

async fn list(
    shards: &[Operations],
    user: Option<&UserId>,
    paging: &Paging,
    as_json: bool,
) -> anyhow::Result<()> {
    let mut found = lists::endpoints::<anyhow::Error>(shards, user, paging.rows()?).await?;
    let next;
    (found.rows, next) = paging.page(found.rows)?;
    let none = match user {
        Some(_) => "the user has no endpoints",
        None => "no endpoint fails or is slow, and none was disabled because it failed",
    };
    let list = List { name: "endpoints", none, columns: &COLUMNS, to_json, row };
    list.print(&found, next.as_deref(), as_json)
}

fn row(view: &EndpointView, now: Timestamp) -> Vec<String> {
    vec![
        view.endpoint_id.clone(),
        view.user_id.clone(),
        view.host.clone(),
        state(view),
        view.consecutive_failures.to_string(),
        view.failing_since.map(|since| ago(since, now)).unwrap_or_default(),
        view.waiting.to_string(),
        view.try_ms.map(try_seconds).unwrap_or_default(),
    ]
}

/// The endpoint, its user and its state; the host's name is the user's own text.
pub(crate) const COLUMNS: [Column; 8] = [
    id("endpoint", 0),
    id("user", 1),
    text("host", 3),
    word("state", 2),
    number("failures", 6),
    word("for", 5),
    number("waiting", 4),
    number("try", 7),
];

/// How long a try takes.
pub(crate) fn try_seconds(ms: i64) -> String {
    format!("{:.1} s", ms as f64 / 1_000.0)
}

/// What was sent to it.
pub(crate) const DELIVERIES: [Column; 7] = [
    id("delivery", 0),
    word("event", 3),
    word("status", 1),
    number("tries", 4),
    number("answer", 5),
    word("error", 2),
    word("age", 6),
];

async fn find(operations: &Operations, endpoint: &Meant) -> anyhow::Result<EndpointView> {
    let mut found = operations.endpoint_views(Some(&endpoint.user), Some(&endpoint.id), 1).await?;
    found.pop().ok_or_else(|| none(endpoint))
}

fn none(endpoint: &Meant) -> anyhow::Error {
    Exit::NotFound(format!("{} has no endpoint {}", endpoint.user, endpoint.id)).into()
}

async fn show(operations: &Operations, endpoint: &Meant, limit: i64, as_json: bool) -> anyhow::Result<()> {
    let view = find(operations, endpoint).await?;
    let newest = outbox::DeliveryPage::first(limit);
    let deliveries = operations.outbox().deliveries(&endpoint.user, &endpoint.id, &newest).await?;
    if as_json {
        let mut all = to_json(&view);
        all["deliveries"] = deliveries.iter().map(delivery_json).collect();
        return print_json(&all);
    }
    let moment = |at: Option<Timestamp>| at.map_or("never".to_owned(), time);
    for (name, value) in [
        ("endpoint", view.endpoint_id.clone()),
        ("user", view.user_id.clone()),
        ("host", view.host.clone()),
        ("state", state(&view)),
        ("failing since", moment(view.failing_since)),
        ("last success", moment(view.last_success_at)),
        ("waiting", view.waiting.to_string()),
        ("a try takes", view.try_ms.map_or("unknown".to_owned(), try_seconds)),
    ] {
        field(name, &value)?;
    }
    let now = operations.db().now().await?;
    let rows = deliveries.iter().map(|delivery| {
        vec![
            delivery.id.clone(),
            delivery.event.clone(),
            delivery.status.clone(),
            delivery.tries.to_string(),
            delivery.last_status.map(|status| status.to_string()).unwrap_or_default(),
            delivery.last_error.clone().unwrap_or_default(),
            ago(delivery.created_at, now),
        ]
    });
    say!("")?;
    table::print(&DELIVERIES, rows.collect())
}

/// Batch by batch, so that no rows are locked for long.
async fn recover(
    operations: &Operations,
    endpoint: &Meant,
    since: chrono::Duration,
    cause: &Cause,
    as_json: bool,
) -> anyhow::Result<()> {
    let Meant { user, id } = endpoint;
    let now = operations.db().now().await?;
    let since = now - since;
    let before = find(operations, endpoint).await?;
    let mut all: i64 = 0;
    loop {
        let batch = operations.recover_deliveries(user, id, since, now, 500, &cause.action()).await?;
        match batch.ok_or_else(|| none(endpoint))? {
            0 => break,
            some => all = all.saturating_add_unsigned(some),
        }
    }
    reply!(as_json, { "endpoint": id, "recovered": all },
        "{} due again", several(all, "delivery is", "deliveries are"))?;
    try_now::hint(&before, endpoint);
    Ok(())
}

async fn enable(
    operations: &Operations,
    endpoint: &Meant,
    cause: &Cause,
    as_json: bool,
) -> anyhow::Result<()> {
    let Meant { user, id } = endpoint;
    let enabled = operations.enable_endpoint(user, id, &cause.action()).await?;
    let enabled = enabled.ok_or_else(|| none(endpoint))?;
    let words = match enabled {
        Enabled::Enabled => "enabled; what waited for it is due now",
        Enabled::Already => "was enabled already; nothing changed",
        Enabled::ByOwner => {
            let words = format!("{id}: its owner switched it off; only they switch it on");
            return Err(Exit::Refused(words).into());
        }
    };
    reply!(as_json, { "endpoint": id, "changed": enabled == Enabled::Enabled }, "{id} {words}")
}

fn state(view: &EndpointView) -> String {
    match (&view.disabled_reason, view.failing_since) {
        (Some(reason), _) => format!("disabled: {reason}"),
        (None, Some(_)) => "failing".to_owned(),
        (None, None) if view.is_slow() => "slow".to_owned(),
        (None, None) => "enabled".to_owned(),
    }
}

fn to_json(view: &EndpointView) -> Value {
    json!({ "endpoint": view.endpoint_id, "user_id": view.user_id, "host": view.host, "enabled": view.enabled,
        "disabled_reason": view.disabled_reason, "failing_since": view.failing_since.map(time),
        "consecutive_failures": view.consecutive_failures, "open_until": view.open_until.map(time),
        "last_success_at": view.last_success_at.map(time), "waiting": view.waiting,
        "try_ms": view.try_ms })
}

fn delivery_json(delivery: &outbox::DeliveryView) -> Value {
    json!({ "id": delivery.id, "event": delivery.event, "status": delivery.status, "tries": delivery.tries,
        "last_status": delivery.last_status, "last_error": delivery.last_error,
        "next_at": delivery.next_at.map(time), "created_at": time(delivery.created_at),
        "finished_at": delivery.finished_at.map(time),
        "history": delivery.history.iter().map(|tried| json!({
            "try": tried.number, "at": time(tried.at), "status": tried.status, "error": tried.error,
            "ms": tried.millis,
        })).collect::<Vec<_>>() })
}
