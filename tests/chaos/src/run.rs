//! One run: set up, load, faults, settling, and the checks.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::fault::{self, Fault};
use crate::fleet::{Fleet, ProcessAddress};
use crate::journal::Journal;
use crate::model::{self, Model};
use crate::people;
use crate::plan::{Dispatch, Plan};
use crate::postgres::Postgres;
use crate::queue::TaskQueue;
use crate::receiver::Receivers;
use crate::report::Report;
use crate::world::World;
use crate::{balance, check, load, operator, program, recovery, settle};

/// Sets up a run, injects faults for as long as the plan says, waits until it settles, and checks the rules.
///
/// # Panics
/// When the kit itself cannot work: no PostgreSQL, no program.
pub async fn run(plan: &Plan) -> Report {
    let world = Arc::new(set_up(plan).await);
    balance::balance(&world);
    let (stop, mut tasks) = (CancellationToken::new(), Vec::new());
    for index in 0..world.people.len() {
        tasks.push(tokio::spawn(load::live(Arc::clone(&world), index, stop.clone())));
    }
    for index in 0..world.writers.len() {
        tasks.push(tokio::spawn(load::writes::write(Arc::clone(&world), index, stop.clone())));
    }
    for index in 0..world.speakers.len() {
        tasks.push(tokio::spawn(load::speech::speak(Arc::clone(&world), index, stop.clone())));
    }
    tasks.push(tokio::spawn(operator::operate(Arc::clone(&world), stop.clone())));
    break_things(&world).await;
    stop.cancel();
    for ended in join_all(tasks).await {
        ended.expect("a client of the kit does not panic");
    }
    let settled = settle::settle(&world).await;
    let leaks = settle::leaks(&world).await;
    join_all((0..world.fleet.len()).map(|slot| world.fleet.stop(slot, Duration::from_secs(15)))).await;
    check::write_down(&world).await;
    let mut breaches = check::all(&world.pool).await;
    breaches.extend(world.journal.breaches.all().into_iter().map(|words| ("seen while it happened", words)));
    breaches
        .extend(leaks.into_iter().map(|place| ("words of a person or a key in a log or a metric", place)));
    if let Some(left) = settled {
        breaches.push(("everything comes to rest once nothing is broken", left));
    }
    let recovery = recovery::measure(&world).await;
    let report =
        Report::new(plan, &world.journal, breaches, recovery, &world.pool, world.queue.as_ref()).await;
    world.pool.close().await;
    report
}

async fn set_up(plan: &Plan) -> World {
    program::path();
    plan.say("a durable PostgreSQL of its own is made");
    let postgres = Arc::new(Postgres::new(plan.keep.as_deref()).await);
    let (code, _) = program::command(&postgres.url("cli"), &["migrate"]).await;
    assert_eq!(code, Some(0), "the schema cannot be made");
    let pool = postgres.pool(6);
    for triggers in [include_str!("history.sql"), include_str!("things.sql")] {
        sqlx::raw_sql(triggers).execute(&pool).await.expect("the kit's triggers can be installed");
    }
    let journal = Arc::new(Journal::new());
    let before: f64 = sqlx::query_scalar("select extract(epoch from clock_timestamp())::float8")
        .fetch_one(&pool)
        .await
        .expect("the server has a clock");
    let origin = before - journal.now();
    let model = Model::start(Arc::clone(&journal), plan.first_failures()).await;
    let receivers = Arc::new(Receivers::start(Arc::clone(&journal)).await);
    let people = people::make(&postgres.url("cli"), plan.clients).await;
    let mut writers = Vec::new();
    for id in ["writer0", "writer1", "writer2"] {
        writers.push(people::one(&postgres.url("cli"), id).await);
    }
    let mut speakers = Vec::new();
    for id in ["speaker0", "speaker1", "speaker2", "speaker3"] {
        speakers.push(people::one(&postgres.url("cli"), id).await);
    }
    let queue = match plan.dispatch {
        Dispatch::Postgres => None,
        Dispatch::CloudTasks => Some(TaskQueue::start().await),
    };
    let settings = settings(plan, &model, queue.as_ref());
    let fleet = Fleet::start(plan, settings, Arc::clone(&postgres), Arc::clone(&journal)).await;
    let world = World {
        plan: plan.clone(),
        postgres,
        pool,
        journal,
        model,
        receivers,
        fleet,
        queue,
        people,
        writers,
        speakers,
        client: Client::new(),
        origin,
    };
    make_endpoints(&world).await;
    world
}

/// What all processes are started with.
fn settings(plan: &Plan, model: &Model, queue: Option<&TaskQueue>) -> Vec<(String, String)> {
    let all = [
        ("LISTEN_ADDR", "127.0.0.1:0".to_owned()),
        ("LISTEN_ADMIN_ADDR", "127.0.0.1:0".to_owned()),
        ("LISTEN_DATABASE_CONNECTIONS", "10".to_owned()),
        ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres".to_owned()),
        ("LISTEN_FINALIZATION_LEASE_SECONDS", plan.lease.0.to_string()),
        ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", plan.lease.1.to_string()),
        ("LISTEN_FINALIZATION_MAX_ATTEMPTS", plan.max_attempts.to_string()),
        ("LISTEN_FINALIZATION_STALE_SECONDS", "5".to_owned()),
        ("LISTEN_RECONCILER_CRON", "*/5 * * * * *".to_owned()),
        ("LISTEN_CREATE_WAIT_SECONDS", "3".to_owned()),
        ("LISTEN_RATE_PER_MINUTE", "0".to_owned()),
        ("LISTEN_ALLOW_OUTGOING", "127.0.0.0/8".to_owned()),
        ("LISTEN_TEXT_ENGINE", "openai".to_owned()),
        ("LISTEN_OPENAI_BASE_URL", model.url.clone()),
        ("LISTEN_OPENAI_API_KEY", model::KEY.to_owned()),
        ("LISTEN_OPENAI_MODEL", "kit".to_owned()),
        ("LISTEN_LOG", "debug".to_owned()),
    ];
    let all = all.into_iter().map(|(name, value)| (name.to_owned(), value));
    all.chain(queue.map(TaskQueue::settings).unwrap_or_default()).collect()
}

/// A steady endpoint and a subscription to pushes for every user; they misbehave when the fault says so.
async fn make_endpoints(world: &World) {
    let addresses = world.fleet.addresses();
    let address: &ProcessAddress = addresses.first().expect("a process is there");
    for person in &world.people {
        let place = format!("hook/{}", person.id);
        let made = people::endpoint(&world.client, &address.api, person, &world.receivers, &place).await;
        let id = made.expect("an endpoint can be made before anything is broken");
        let pushes = people::subscribe(&world.client, &address.api, person, &world.receivers).await;
        let pushes = pushes.expect("a subscription can be made before anything is broken");
        for (note, id) in [
            ("insert into chaos.endpoints values ($1, $2)", &id),
            ("insert into chaos.subscriptions values ($1, $2)", &pushes),
        ] {
            let noted = sqlx::query(note).bind(&person.id).bind(id).execute(&world.pool).await;
            noted.expect("the kit can write its own tables");
        }
    }
}

/// Fault after fault, in rounds that hold each of them once, with a while of peace behind each.
async fn break_things(world: &Arc<World>) {
    let mut chance = StdRng::seed_from_u64(world.plan.seed);
    let mut round: Vec<Fault> = Vec::new();
    let (faults, end) = (fault::of(&world.plan), world.plan.length.as_secs_f64());
    let begun = world.journal.now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    while world.journal.now() - begun < end {
        if round.is_empty() {
            round = faults.clone();
            for last in (1..round.len()).rev() {
                round.swap(last, chance.random_range(0..=last));
            }
        }
        let Some(fault) = round.pop() else { return };
        world.plan.say(&format!("{:>6.1} s  {}", world.journal.now(), fault.name()));
        let broken = fault::inject(fault, world, &mut chance).await;
        world.journal.broken.note(broken);
        world.fleet.look().await;
        tokio::time::sleep(Duration::from_millis(chance.random_range(1_500..4_000))).await;
    }
}
