//! `listen dev`: everything on a private database; stays up.

mod kept;

use std::{process::ExitCode, sync::Arc};

use anyhow::Context;
use clap::Args;
use records::UserId;
use secrecy::{ExposeSecret, SecretString};

use self::kept::Kept;
use crate::{
    commands::{migrate::bring_up_to_date, stdout::say},
    config::{Config, Dispatch, Switch, console_access},
    database,
    embedded::Private,
    lifecycle::Lifecycle,
    serve,
    traces::{SpanCounts, TraceSettings},
    wiring::App,
};

/// Run everything on a private database and stay up: for trying it out.
#[derive(Args, Debug)]
pub(crate) struct Dev {
    /// Use an empty private database, whatever DATABASE_URL says, and remove it at the end.
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    config: Config,
}

impl Dev {
    /// Where traces go.
    pub(crate) fn traces(&self) -> &TraceSettings {
        &self.config.traces
    }
}

/// The user that `dev` creates.
const PERSON: &str = "me";

/// Runs everything in one process, in the durable mode, with loopback receivers allowed.
pub(super) async fn run(
    dev: Dev,
    lifecycle: Lifecycle,
    spans: Option<SpanCounts>,
) -> anyhow::Result<ExitCode> {
    let of_this_run = format!("listen_dev_{}", std::process::id());
    let private = async {
        Ok::<_, anyhow::Error>(match (dev.fresh, &dev.config.database_url) {
            (true, _) => Some(Private::start(&of_this_run, true).await?),
            (false, None) => Some(Private::start("listen", false).await?),
            (false, Some(_)) => None,
        })
    };
    let Some(private) = lifecycle.soft.run_until_cancelled(private).await else {
        tracing::info!("stopped");
        return Ok(ExitCode::SUCCESS);
    };
    let private = private?;
    let stayed = stay(dev.config, private.as_ref(), dev.fresh, &lifecycle, spans).await;
    let dropped = match only_for_this_run(private, dev.fresh) {
        Some(private) => private.drop_database().await.context("dropping the fresh database"),
        None => Ok(()),
    };
    stayed.and_then(|code| dropped.map(|()| code))
}

/// The private database that goes with the run: what the next one finds again stays.
fn only_for_this_run<T>(private: Option<T>, fresh: bool) -> Option<T> {
    private.filter(|_| fresh)
}

async fn stay(
    mut config: Config,
    private: Option<&Private>,
    is_fresh: bool,
    lifecycle: &Lifecycle,
    spans: Option<SpanCounts>,
) -> anyhow::Result<ExitCode> {
    durable_on_loopback(&mut config);
    config.live.live_page = Switch::On;
    let hosts = match private {
        Some(private) => private.options().into(),
        None => database::hosts(config.database_url.as_deref())?,
    };
    let kept = Kept::of(Some(database::display_address(&hosts)).filter(|_| !is_fresh).as_deref());
    let desk_key = desk_key(&mut config, &kept);
    let database = match private {
        // Quoted: a shell would take the question mark for a pattern.
        Some(private) => format!("{}\n          export DATABASE_URL='{}'", private.words(), private.url()),
        None => {
            config.database_url.as_deref().and_then(database::shown_url).unwrap_or_default()
                + ", as DATABASE_URL says"
        }
    };
    let addresses = match private {
        Some(private) => vec![private.options().into(); usize::from(config.shards.shards.max(1))],
        None => config.addresses()?,
    };
    let app = Arc::new(App::wire(config, addresses)?);
    app.show_spans(spans)?;
    let migrated = async {
        for ledger in app.shards.iter() {
            bring_up_to_date(ledger).await?;
        }
        anyhow::Ok(())
    };
    let Some(migrated) = lifecycle.soft.run_until_cancelled(migrated).await else {
        tracing::info!("stopped");
        return Ok(ExitCode::SUCCESS);
    };
    migrated?;
    // First: where an address is taken, no user and no key are made.
    let service = serve::start(&app, lifecycle).await?;
    let person = UserId::new(PERSON);
    let ledger = app.shards.of_user(&person);
    ledger.store().create_user(&person, &store::UserChange::default()).await?;
    let key = kept.key(ledger, &person).await?;
    let place = Place {
        api: service.api.map(|addr| format!("http://{addr}")),
        admin: format!("http://{}", service.admin),
        desk_key,
        database,
        key,
    };
    let shown = say!("{}", place.words());
    if shown.is_err() {
        // The key could not be printed: this run is useless, and ends as any other.
        lifecycle.soft.cancel();
    }
    let stopped = service.stopped(&app, lifecycle).await;
    shown.and(stopped).map(|()| ExitCode::SUCCESS)
}

/// What a newcomer needs to know.
struct Place {
    /// `None` where the roles leave it out.
    api: Option<String>,
    admin: String,
    /// `None` where the settings say who may come into the console.
    desk_key: Option<String>,
    /// Which database, and how other commands find it.
    database: String,
    key: SecretString,
}

impl Place {
    fn words(&self) -> String {
        let Self { admin, database, .. } = self;
        let desk_key = self.desk_key.as_ref().map_or(String::new(), |key| format!("  key {key}"));
        let (served, tried) = match &self.api {
            Some(api) => (
                format!(
                    "API       {api}/v1  (described at {api}/docs)\n\
                     Speak     {api}/live  (chat at {api}/live/chat)\n"
                ),
                self.calls(api),
            ),
            None => ("API       not here: LISTEN_ROLES leaves out the role api\n".to_owned(), String::new()),
        };
        format!(
            "\nlisten is up; Ctrl-C stops it.\n\
             {served}\
             Console   {admin}/console{desk_key}\n\
             Metrics   {admin}/metrics\n\
             Database  {database}\n{tried}"
        )
    }

    /// The first calls of a newcomer.
    fn calls(&self, api: &str) -> String {
        let key = self.key.expose_secret();
        format!(
            "\nPaste into another shell; the key is that of the user \"{PERSON}\":\n\
             \x20 API={api}\n\
             \x20 KEY='Authorization: Bearer {key}'\n\
             \x20 curl -s $API/v1/dev/user/conversations -H \"$KEY\" \\\n\
             \x20   --json '{{\"text\": \"I need to call the dentist by Friday. My sister lives in Porto.\"}}'\n\
             \x20 curl -s $API/v1/dev/user/action-items -H \"$KEY\"\n"
        )
    }
}

/// The key of the console, where the settings name none.
fn desk_key(config: &mut Config, kept: &Kept) -> Option<String> {
    if !config.console_keys.is_empty() || config.console_user_header.is_some() {
        return None;
    }
    let key = kept.console_key();
    config.console_keys = vec![console_access::entry("dev", true, &key)];
    Some(key)
}

/// What `dev` and `demo` change of the defaults (DECISIONS §7): jobs are dispatched durably, and users' URLs may
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

#[cfg(test)]
mod tests {
    use super::{Place, only_for_this_run};

    #[test]
    fn dev_without_the_api_prints_no_api_address() {
        let words = |api: Option<&str>| {
            let place = Place {
                api: api.map(str::to_owned),
                admin: "http://127.0.0.1:8081".to_owned(),
                desk_key: None,
                database: "there".to_owned(),
                key: "lsk_1".into(),
            };
            place.words()
        };
        let without = words(None);
        assert!(
            without.contains("LISTEN_ROLES") && !without.contains("/v1") && !without.contains("curl"),
            "{without}"
        );
        let with = words(Some("http://127.0.0.1:8080"));
        assert!(
            with.contains("API       http://127.0.0.1:8080/v1") && with.contains("Bearer lsk_1"),
            "{with}"
        );
    }

    #[test]
    fn dev_keeps_the_persistent_database_at_exit() {
        assert_eq!(only_for_this_run(Some("listen"), false), None);
        assert_eq!(only_for_this_run(Some("listen_dev_1"), true), Some("listen_dev_1"));
        assert_eq!(only_for_this_run::<&str>(None, true), None);
    }
}
