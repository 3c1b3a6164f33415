//! `listen demo`: the main job on real input, watched from start to end, with processes killed in the middle.

mod child;
mod client;
mod live;
mod page;
mod receiver;
mod recovery;
mod report;
mod samples;
mod screen;

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Args;
use records::UserId;
use serde_json::json;
use store::UserChange;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use self::{
    client::Client,
    receiver::Receiver,
    report::{Card, Report},
    samples::{Route, Sample},
    screen::Screen,
};
use crate::{
    commands::{keys, migrate::bring_up_to_date},
    config::{Config, Dispatch, Role},
    dev::durable_on_loopback,
    embedded::Private,
    lifecycle::{Interruption, Lifecycle},
    serve,
    wiring::App,
};

/// Show the whole thing at work on real conversations, on a private database, and exit.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Print one JSON document instead of the page.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: Config,
}

/// How long the demo waits for one conversation before it calls that a surprise.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs the demo. Code 0: everything came out as promised; 1: something did not, and it says what. A signal ends it
/// early, and its database goes all the same.
pub(super) async fn run(demo: Demo) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let mut interruption = Interruption::listen().context("listening for signals")?;
    let screen = Screen::new(demo.json);
    let name = format!("listen_demo_{}", std::process::id());
    let private = tokio::select! {
        private = Private::start(&name, true) => private?,
        code = interruption.heard() => return Ok(code),
    };
    let config = prepare(demo.config);
    screen.opening(&private.words(), &config);
    let shown = tokio::select! {
        shown = show(&private, config, &screen) => Ok(shown),
        code = interruption.heard() => Err(code),
    };
    tokio::select! {
        dropped = private.drop_database() => dropped.context("dropping the demo's database")?,
        // Who asks twice does not want to wait for that either.
        code = interruption.heard() => return Ok(code),
    }
    let mut report = match shown {
        Ok(report) => report?,
        Err(code) => {
            screen.still();
            return Ok(code);
        }
    };
    report.seconds = begun.elapsed().as_secs_f64();
    screen.closing(&report)?;
    Ok(ExitCode::from(u8::from(!report.surprises.is_empty())))
}

/// The demo's own settings, whatever the shell has for a service: what can be seen of them stands on the screen.
fn prepare(mut config: Config) -> Config {
    config.roles = vec![Role::Api, Role::Worker, Role::Reconciler];
    config.finalization_dispatch_mode = Dispatch::Postgres;
    durable_on_loopback(&mut config);
    config.user_conversations_per_day = 0;
    config.user_waiting_jobs = 0;
    config.addr = ([127, 0, 0, 1], 0).into();
    config.admin_addr = ([127, 0, 0, 1], 0).into();
    config.finalization_lease_seconds = 3;
    config.finalization_heartbeat_seconds = 1;
    config.rate_per_minute = 0;
    config.shards.shards = 1;
    config
}

async fn show(private: &Private, config: Config, screen: &Screen) -> anyhow::Result<Report> {
    let app = App::wire(config, vec![private.options().into()])?;
    let ledger = app.shards.first();
    bring_up_to_date(ledger).await?;
    let person = UserId::new("demo");
    let settings = UserChange {
        name: Some(Some("Alex".to_owned())),
        time_zone: Some(page::ZONE.name().to_owned()),
        apps: Some(vec!["minutes".to_owned(), "decisions".to_owned(), "questions".to_owned()]),
        ..UserChange::default()
    };
    ledger.store().create_user(&person, &settings).await?;
    let (_, key) = keys::create(ledger, &person, "demo", api::keys::Scope::ALL).await?;

    let tasks = TaskTracker::new();
    let (front, receiver) = (Lifecycle::default(), Receiver::start(&tasks).await?);
    app.start_keyed(&tasks, &front);
    app.start_live(&tasks, &front);
    app.start_repair(ledger, &tasks, &front)?;
    let addr = serve::listen(&tasks, app.config.addr, app.router(), front.soft.clone(), app.shutdown_grace())
        .await?;
    let client = Client::new(format!("http://{addr}"), key)?;
    let secret = client.create_webhook(&receiver.url()).await?;
    let mut report = Report::default();

    let first = Lifecycle::default();
    let first_tasks = TaskTracker::new();
    app.start_worker(ledger, &first_tasks, &first, Arc::new(screen.clone()))?;
    for sample in samples::all() {
        let card =
            finish(&client, screen, &sample).await.with_context(|| format!("running {}", sample.name))?;
        screen.card(&card);
        card.check(&sample, &mut report.surprises);
        report.conversations.push(card);
    }
    let talk = live::speak(private, &app, &client, screen).await.context("speaking a live conversation")?;
    screen.spoken(&talk);
    talk.check(&mut report.surprises);
    report.live = Some(talk);
    receiver.settled(&secret, report.expected_deliveries(), PATIENCE).await;
    first.soft.cancel();
    first_tasks.close();
    first_tasks.wait().await;

    let interrupted =
        recovery::interrupt(private, &app, &client, screen).await.context("interrupting a run")?;
    let second = Lifecycle::default();
    app.start_worker(ledger, &tasks, &second, Arc::new(screen.clone()))?;
    let recovery = interrupted.finished(&app, &client).await.context("recovering a run")?;
    screen.recovered(&recovery);
    recovery.check(&mut report.surprises);
    report.recovery = Some(recovery);
    report.deliveries = receiver.settled(&secret, report.expected_deliveries(), PATIENCE).await;
    report.check_deliveries();
    second.soft.cancel();
    front.soft.cancel();
    ledger.db().close().await;
    Ok(report)
}

/// Takes one sample through the service, as a client would, and waits for its end.
async fn finish(client: &Client, screen: &Screen, sample: &Sample) -> anyhow::Result<Card> {
    screen.begins(sample.name);
    let begun = Instant::now();
    let id = match &sample.route {
        Route::Outbox(segments) => {
            let id = client.ingest(segments).await?;
            client.finalize(&id).await?;
            id
        }
        Route::Create(text) => client.create(&json!({ "text": text })).await?,
    };
    let poll = client.wait(&id, PATIENCE).await?;
    let elapsed = begun.elapsed();
    let conversation = client.conversation(&id).await?;
    let memories = client.memories(&id).await?;
    Ok(Card::new(sample, &conversation, memories, &poll, screen.stages_of(&id), elapsed))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn demo_ignores_settings_of_the_shell() {
        let words = ["listen", "demo", "--roles", "worker", "--finalization-dispatch-mode", "cloud_tasks"];
        let limits =
            ["--user-conversations-per-day", "1", "--user-waiting-jobs", "1", "--rate-per-minute", "1"];
        let cli = Cli::try_parse_from(words.into_iter().chain(limits));
        let Ok(Cli { command: Command::Demo(demo), .. }) = cli else { unreachable!("it is the demo") };

        let config = prepare(demo.config);

        assert!(config.has(Role::Api) && config.has(Role::Worker) && config.has(Role::Reconciler));
        assert_eq!(config.finalization_dispatch_mode, Dispatch::Postgres);
        assert_eq!(
            (config.user_conversations_per_day, config.user_waiting_jobs, config.rate_per_minute),
            (0, 0, 0)
        );
    }
}
