//! `listen dev`: everything on a private database; stays up.

use std::{process::ExitCode, sync::Arc};

use anyhow::Context;
use rand::RngExt;
use records::UserId;
use secrecy::ExposeSecret;
use worker::Unwatched;

use super::{keys, serve, users};
use crate::{
    config::{Config, Dispatch},
    console::door,
    embedded::Private,
    lifecycle::Lifecycle,
    traces::SpanCounts,
    wiring::{App, chance, database},
};

/// The person that `dev` makes.
const PERSON: &str = "me";

/// Runs everything in one process, in the durable mode, with loopback receivers allowed.
///
/// # Errors
/// When the private database cannot be started or an address cannot be listened on.
pub(super) async fn run(config: Config, spans: Option<SpanCounts>) -> anyhow::Result<ExitCode> {
    let mut config = config;
    durable_on_loopback(&mut config);
    let desk_key = desk_key(&mut config);
    let private = match &config.database_url {
        Some(_) => None,
        None => Some(Private::start("listen", false).await?),
    };
    let options = match &private {
        Some(private) => private.options(),
        None => database(config.database_url.as_deref())?,
    };
    let app = App::wire(config, options)?;
    app.show_spans(spans)?;
    app.ledger.migrate().await?;
    let person = UserId::new(PERSON);
    users::create(&app.ledger, &person, &ledger::UserChange::default()).await?;
    let (_, key) = keys::create(&app.ledger, &person, "dev", api::keys::Scope::ALL).await?;
    let lifecycle = Lifecycle::of_signals().context("listening for signals")?;
    let service = serve::start(&app, &lifecycle, Arc::new(Unwatched)).await?;
    let base = service.api.map(|addr| format!("http://{addr}")).unwrap_or_default();
    let key = key.expose_secret();
    anstream::println!(
        "listen is up. API {base}, metrics http://{}/metrics{}\nConsole http://{}/console{desk_key}\n\nA developer key of the person \"{PERSON}\":\n  {key}\n\nTry:\n\
         \x20 curl -s {base}/v1/dev/user/conversations -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\\n\
         \x20   -d '{{\"text\": \"I need to call the dentist by Friday. My sister lives in Porto.\"}}'\n\
         \x20 curl -s {base}/v1/dev/user/conversations -H 'Authorization: Bearer {key}'\n\
         \x20 curl -s {base}/v1/dev/user/action-items -H 'Authorization: Bearer {key}'\n\nCtrl-C stops it.",
        service.admin,
        private
            .as_ref()
            .map(|private| format!(", {}\nDATABASE_URL={}", private.words(), private.url()))
            .unwrap_or_default(),
        service.admin,
    );
    service.stopped(&app, &lifecycle).await;
    Ok(ExitCode::SUCCESS)
}

/// A key of the console for this run, where the settings say nobody's; in words.
fn desk_key(config: &mut Config) -> String {
    if !config.console_keys.is_empty() || config.console_user_header.is_some() {
        return String::new();
    }
    let key = format!("{:032x}", chance().random::<u128>());
    config.console_keys = vec![door::entry("dev", true, &key)];
    format!(" (key {key})")
}

/// What `dev` and `demo` change of the defaults (DECISIONS §7): work is announced durably, and users' URLs may
/// reach this machine.
pub(crate) fn durable_on_loopback(config: &mut Config) {
    if config.finalization_dispatch_mode == Dispatch::Inline {
        config.finalization_dispatch_mode = Dispatch::Postgres;
    }
    if config.allow_outgoing.is_empty() {
        config.allow_outgoing =
            [LOOPBACK_V4, LOOPBACK_V6].iter().filter_map(|range| range.parse().ok()).collect();
    }
}

const LOOPBACK_V4: &str = "127.0.0.0/8";
const LOOPBACK_V6: &str = "::1/128";
