//! Database faults, and a frozen process that holds locks.

use std::{str::FromStr, time::Duration};

use reqwest::{Method, StatusCode};
use rustix::process::Signal;
use serde_json::json;
use sqlx::{ConnectOptions, postgres::PgConnectOptions};
use tokio::time::{Instant, sleep};

use crate::binary;
use crate::client::Client;
use crate::private_server::PrivateServer;
use crate::process::{PATIENCE, Process, until};
use crate::receiver::Receiver;
use crate::world::{GARDEN, World};

/// Passes often, so that a repair is a matter of seconds.
const PASSES: (&str, &str) = ("LISTEN_RECONCILER_CRON", "* * * * * *");

/// A completion that takes its time, so that a process can be stopped in the middle of it.
const SLOW_COMPLETION: &str = "create function slow() returns trigger language plpgsql as $$ \
     begin perform pg_sleep(3); return new; end $$; \
     create trigger slow before update on finalization_jobs for each row \
     when (new.status = 'completed') execute function slow()";

/// Sessions that are in the middle of such a completion.
const IN_COMPLETION: &str = "select count(*) from pg_stat_activity \
     where datname = current_database() and wait_event = 'PgSleep'";

#[tokio::test]
async fn process_frozen_in_a_transaction_blocks_others_for_seconds_only() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let frozen = Process::serve(&world.url, &[]).await;
    let client = world.client(&frozen);
    client.register_webhook(&receiver.url()).await;
    world.run(SLOW_COMPLETION).await;
    let first = client.admit(GARDEN).await;
    until(|| async { world.count(IN_COMPLETION).await > 0 }).await;

    frozen.signal(Signal::STOP);

    // The person's row, the job's and the conversation's are locked by a transaction that will say nothing more.
    world.run("drop trigger slow on finalization_jobs").await;
    let second = Process::serve(&world.url, &[]).await;
    let client = world.client(&second);
    let begun = Instant::now();
    let other = admitted_in_the_end(&client).await;
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    for id in [&first, &other] {
        assert_eq!(client.finished(id).await["status"], "completed");
    }
    frozen.signal(Signal::CONT);
    receiver.posts(2).await;
    receiver.quiet().await;
    assert!(receiver.ids().values().all(|times| *times == 1), "{:?}", receiver.ids());
    assert_eq!(world.count("select count(*) - count(distinct description) from action_items").await, 0);
}

#[tokio::test]
async fn database_crash_under_load_loses_nothing_without_restarts() {
    let server = PrivateServer::start();
    let key = server.with_a_person();
    let settings = [("LISTEN_DEMO_PAUSE_AFTER", "describe=1"), PASSES];
    let processes =
        [Process::serve(&server.url(), &settings).await, Process::serve(&server.url(), &settings).await];
    let clients = processes.each_ref().map(|process| Client::new(&process.api, &key));
    let mut ids = Vec::new();
    for number in 0..12 {
        let client = &clients[number % 2];
        // After a crash each process notices by itself that its sessions died, and may say 503 until it has.
        ids.push(if number < 6 { client.admit(GARDEN).await } else { admitted_in_the_end(client).await });
        if number % 6 == 5 {
            server.crash_and_recover();
            ids.push(admitted_in_the_end(&clients[0]).await);
        }
    }

    for id in &ids {
        let poll = until_found(&clients[1], &format!("/v1/conversations/{id}/finalization")).await;
        assert_eq!(poll["status"], "completed", "{poll}");
    }
    let jobs = binary::jobs(&server.url());
    assert_eq!(jobs.len(), ids.len(), "{jobs:?}");
    assert!(jobs.iter().all(|job| job["attempts"] == json!(0)), "{jobs:?}");
}

/// A password is changed before the processes know the new one, or a rule of the server's is mistaken for a minute.
#[tokio::test]
async fn database_login_refusal_is_an_outage_for_requests_and_runs() {
    const OUT: &str = "do $$ begin execute format('alter role %I nologin', current_database() || '_out'); \
         perform pg_terminate_backend(pid) from pg_stat_activity where usename = current_database() || '_out'; end $$";
    const IN: &str =
        "do $$ begin execute format('alter role %I login', current_database() || '_out'); end $$";
    let world = World::new().await;
    world
        .run("do $$ begin execute format('create role %I login superuser', current_database() || '_out'); end $$")
        .await;
    let options = PgConnectOptions::from_str(&world.url).expect("it is one of ours");
    let role = format!("{}_out", options.get_database().expect("it names one"));
    let url = options.username(&role).to_url_lossy().to_string();
    let process = Process::outliving(&url, &[("LISTEN_DEMO_PAUSE_AFTER", "describe=4")]).await;
    let client = world.client(&process);
    let running = client.admit(GARDEN).await;
    // Of a lease that is not renewed yet, the worker may know nothing: the answer to its claim is under way.
    until(|| async {
        world.count("select count(*) from finalization_jobs where status = 'leased' and version > 2").await
            == 1
    })
    .await;

    world.run(OUT).await;
    sleep(Duration::from_secs(5)).await;
    let (status, told) = client.ask(Method::GET, "/v1/dev/user/conversations", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{told}");
    world.run(IN).await;

    admitted_in_the_end(&client).await;
    let finished = client.finished(&running).await;
    assert_eq!((&finished["status"], &finished["attempt_count"]), (&json!("completed"), &json!(1)));
    assert_eq!(world.count("select sum(crashes)::bigint from finalization_jobs").await, 0, "the run went on");
    drop(process);
    world.run("do $$ begin execute format('drop role %I', current_database() || '_out'); end $$").await;
}

/// Ingests and finalizes, repeating what is answered 503 or not at all as a client does.
async fn admitted_in_the_end(client: &Client) -> String {
    let body = crate::client::deferred(GARDEN);
    let made = repeated(client, Method::POST, "/v1/dev/user/conversations/from-segments", Some(&body)).await;
    let id = made["id"].as_str().expect("a conversation has an id").to_owned();
    repeated(client, Method::POST, &format!("/v1/conversations/{id}/finalize"), None).await;
    id
}

async fn repeated(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&serde_json::Value>,
) -> serde_json::Value {
    let begun = Instant::now();
    loop {
        let (status, told) = client.ask(method.clone(), path, body).await;
        if status.is_success() {
            return told;
        }
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{told}");
        assert!(begun.elapsed() < PATIENCE, "{path} is still unavailable: {told}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// Polls a job until it is terminal; a database that is down for a moment is no answer.
async fn until_found(client: &Client, path: &str) -> serde_json::Value {
    let begun = Instant::now();
    loop {
        let poll = repeated(client, Method::GET, path, None).await;
        if poll["terminal"] == true {
            return poll;
        }
        assert!(begun.elapsed() < PATIENCE, "the job is still {poll}");
        sleep(Duration::from_millis(100)).await;
    }
}
