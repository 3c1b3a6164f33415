//! `listen doctor`: what is wrong with a deployment, and what to do about it.

mod clock;
mod engines;
mod processes;
mod secrets;
mod server;
mod sessions;
mod tasks;

use std::{collections::HashMap, process::ExitCode, time::Duration};

use clap::Args;
use db::{Pooling, Shard, Trouble};
use ledger::Shards;
use operations::{Examination, Operations, SealedSecrets, Workers};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    living::hands_over,
    stdout::{plain, say},
    table::{CommonArgs, print_json, wrapped},
};
use crate::{
    alerts,
    config::{Switch, TasksConfig},
    connections::most_open_files,
    database::{self, is_there},
    durations::lasting,
    exit::{Exit, in_one_line},
    pooler::obstacle,
    schema::refuse_others,
};

/// Examine a deployment: schema, settings, clocks, workers, blocking transactions.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    tasks: TasksConfig,
    /// Whether processes poll only, as `serve` has it.
    #[arg(long, env = "LISTEN_POLL_ONLY", hide = true, default_value = "off", value_name = "SWITCH")]
    poll_only: Switch,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Fine,
    /// Look at it in the morning.
    Warning,
    /// Work stands still, or is in danger.
    Failure,
}

/// What was looked at, and what was seen.
#[derive(Debug, PartialEq)]
struct Remark {
    name: &'static str,
    level: Level,
    words: String,
}

/// What only this side of the connection knows.
#[derive(Default)]
struct Near {
    round_trip: Duration,
    /// How far this machine's clock is ahead of the database's.
    skew: chrono::Duration,
    /// How many files a process may open that is started as this one was.
    open_files: u64,
    /// Queues that are paused, in words.
    paused: Vec<String>,
    /// What needs attention although everything runs.
    alerts: Vec<String>,
    /// How secrets are stored, and whether this command was given their key.
    secrets: Option<(SealedSecrets, bool)>,
    /// How many of several shards are on this one's server.
    shards: Option<i64>,
}

/// What a remark is about.
#[derive(Clone, Debug, PartialEq)]
enum Of {
    /// All shards, or the only one.
    All,
    /// A database in which there may be several shards.
    Server(String),
    Shard(Shard),
}

/// The remarks about one shard, and about the database that it may share with others.
struct Seen {
    is_readable: bool,
    of_server: Vec<Remark>,
    of_shard: Vec<Remark>,
}

/// Examines and prints; 1 when something is broken, 0 with warnings.
pub(crate) async fn run(doctor: Doctor) -> anyhow::Result<ExitCode> {
    let shards = doctor.common.shards()?;
    let ledgers = doctor.common.chosen_of(&shards)?;
    let mut remarks = Vec::new();
    let others = refuse_others(&shards).await;
    if let Err(error) = &others {
        remarks.push((Of::All, remark("shards", Level::Failure, error.to_string())));
    }
    let queue = tasks::queue(&doctor.tasks).await;
    // Whether each server was examined by a shard whose tables could be read: another does not say how many sessions processes open.
    let mut servers: HashMap<String, bool> = HashMap::new();
    for ledger in &ledgers {
        let shard = ledger.db().shard();
        match examine(ledger, &doctor, &shards, &queue).await {
            Ok(seen) if shard.is_only() => {
                let seen = seen.of_server.into_iter().chain(seen.of_shard);
                remarks.extend(seen.map(|remark| (Of::All, remark)));
            }
            Ok(seen) => {
                let address = database::address(ledger);
                if servers.get(&address).is_none_or(|by_readable| !by_readable && seen.is_readable) {
                    servers.insert(address.clone(), seen.is_readable);
                    let server = Of::Server(address);
                    remarks.retain(|(of, _)| *of != server);
                    remarks.extend(seen.of_server.into_iter().map(|remark| (server.clone(), remark)));
                }
                remarks.extend(seen.of_shard.into_iter().map(|remark| (Of::Shard(shard), remark)));
            }
            // It was said above.
            Err(_) if shard.is_only() && others.is_err() => {}
            Err(error) if shard.is_only() => return Err(unavailable(error)),
            // A shard that does not answer is a finding: the others are examined all the same.
            Err(away) => {
                remarks.push((Of::Shard(shard), remark("database", Level::Failure, in_one_line(&away))));
            }
        }
    }
    remarks.extend(queue.into_iter().map(|remark| (Of::All, remark)));
    // Remarks about all shards come first, then those about servers.
    remarks.sort_by_key(|(of, _)| match of {
        Of::All => 0,
        Of::Server(_) => 1,
        Of::Shard(_) => 2,
    });
    let broken = remarks.iter().any(|(_, remark)| remark.level == Level::Failure);
    match doctor.common.json {
        true => {
            let checks = remarks.iter().map(|(of, remark)| to_json(of, remark)).collect::<Value>();
            print_json(&json!({ "ok": !broken, "checks": checks }))
        }
        false => print(&remarks),
    }?;
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A database that refuses a session was not examined, like one that does not answer: the same exit code.
fn unavailable(error: anyhow::Error) -> anyhow::Error {
    let trouble = error.downcast_ref::<db::Error>().and_then(db::Error::trouble);
    match trouble {
        Some(Trouble::Credentials | Trouble::NoDatabase) => {
            let words = error.to_string();
            error.context(Exit::Unavailable(words))
        }
        _ => error,
    }
}

fn print(remarks: &[(Of, Remark)]) -> anyhow::Result<()> {
    let mut last = &Of::All;
    for (of, remark) in remarks {
        match of {
            Of::Server(address) if of != last => say!("database {address}")?,
            Of::Shard(shard) if of != last => say!("shard {shard}")?,
            _ => {}
        }
        last = of;
        let mark = match remark.level {
            Level::Fine => "✓",
            Level::Warning => "!",
            Level::Failure => "✗",
        };
        say!("{}", wrapped(&format!("{mark} {:<14} ", remark.name), &plain(&remark.words)))?;
    }
    Ok(())
}

/// What is to be said of a shard once its server is there; `queue`: what was said of the task queue.
async fn examine(
    operations: &Operations,
    doctor: &Doctor,
    shards: &Shards,
    queue: &[Remark],
) -> anyhow::Result<Seen> {
    is_there(operations).await?;
    // A server that has no two sessions left for the question is examined all the same.
    let pooling = operations.db().pooling().await.unwrap_or(Pooling::Sessions);
    let pooler = pooler(pooling, doctor.poll_only == Switch::On);
    if pooling == Pooling::LosesStatements {
        return Ok(Seen { is_readable: false, of_server: Vec::from_iter(pooler), of_shard: Vec::new() });
    }
    let found = operations.examine().await?;
    let readable = found.has_readable_tables();
    if readable {
        // What the gauges read besides: a view of the server's own that is kept from the role ends the examination, too.
        operations.health("10s").await?;
    }
    let workers = if readable { operations.workers().await? } else { Workers::default() };
    let on_server = database::shards_on_server_of(operations, shards);
    let near = Near {
        shards: (!operations.db().shard().is_only()).then_some(on_server),
        ..look_near(operations, readable, doctor.common.has_secrets_key()).await?
    };
    let mut seen = judge(&found, &workers, &near);
    seen.of_server.extend(pooler);
    if readable {
        seen.of_shard.extend(engines::dispatch(&workers));
        seen.of_shard.extend(engines::engines(&operations.model_servers().await?, &workers));
        // In another mode nothing is handed over: a queued job waits for a slot, and for no task.
        if !queue.is_empty() && hands_over(&workers) {
            let is_broken = queue.iter().any(|remark| remark.level == Level::Failure);
            seen.of_shard.push(tasks::handed(operations.outbox().oldest_unhanded().await?, is_broken));
        }
    }
    Ok(seen)
}

/// The clock is read in the middle of a round trip; the fastest of five counts.
async fn look_near(operations: &Operations, readable: bool, has_key: bool) -> anyhow::Result<Near> {
    let mut best: Option<(Duration, chrono::Duration)> = None;
    for _ in 0..5 {
        let asked = Instant::now();
        let there = operations.db().now().await?;
        let round_trip = asked.elapsed();
        #[expect(clippy::disallowed_methods, reason = "the very clock that is being compared")]
        let here = chrono::Utc::now() - round_trip / 2;
        if best.is_none_or(|(fastest, _)| round_trip < fastest) {
            best = Some((round_trip, here - there));
        }
    }
    let (round_trip, skew) = best.unwrap_or_default();
    let pauses = if readable { operations.pauses().await? } else { Vec::new() };
    let paused = pauses
        .iter()
        .map(|pause| format!("{} by {}: {}", pause.queue, pause.operator, pause.reason))
        .collect();
    let alerts = if readable { read_alerts(operations).await? } else { Vec::new() };
    let secrets = if readable { Some((operations.sealed_secrets().await?, has_key)) } else { None };
    let open_files = most_open_files();
    Ok(Near { round_trip, skew, open_files, paused, alerts, secrets, shards: None })
}

/// The limits of the alerts, and the unsettled dead letters.
async fn read_alerts(operations: &Operations) -> anyhow::Result<Vec<String>> {
    let overview = operations.overview().await?;
    let waiting = alerts::waiting(operations, &overview.gauges).await?;
    let mut words = Vec::from_iter(stands_still(overview.gauges.oldest_ready_age));
    words.extend(alerts::alerts(&waiting).into_iter().map(|alert| alert.words));
    let dead: i64 = overview.dead_letters.iter().map(operations::Cause::waiting).sum();
    if dead > 0 {
        words.push(format!(
            "{dead} dead letters wait for an operator: `listen jobs list --status dead_letter`."
        ));
    }
    Ok(words)
}

fn stands_still(oldest_ready: f64) -> Option<String> {
    (oldest_ready > alerts::STANDS_STILL).then(|| {
        format!(
            "The oldest job that can run was admitted {} ago and does not run: `listen jobs list --status queued`, and \
             `listen jobs why ID` says why.",
            lasting(oldest_ready),
        )
    })
}

/// What the facts mean. Pure.
fn judge(found: &Examination, workers: &Workers, near: &Near) -> Seen {
    let readable = found.has_readable_tables();
    let mut of_shard = vec![schema(found)];
    if readable {
        of_shard.extend([processes::processes(found, workers), queues(near), waiting(near)]);
    }
    if readable && !processes::are_unknown(found, workers) {
        of_shard.extend([
            counted("leases", found.unwatched_leases, "leases ran out over a minute ago and no process watches them: start a process with the role worker or reconciler"),
            counted("owners", found.without_owners, "live jobs have been overdue for a check for an hour: is a reconciler running?"),
            processes::rounds(found, workers),
        ]);
    }
    of_shard.extend(server::locked(found));
    of_shard.extend(clock::set_back(found.ahead, found.writes));
    of_shard.extend(near.secrets.map(|(found, has_key)| secrets::secrets(found, has_key)));
    Seen { is_readable: readable, of_server: server::server(found, workers, near), of_shard }
}

fn remark(name: &'static str, level: Level, words: String) -> Remark {
    Remark { name, level, words }
}

/// Nothing without a pooler, or with one that keeps sessions.
fn pooler(found: Pooling, polls_only: bool) -> Option<Remark> {
    match obstacle(found, polls_only) {
        Some(words) => Some(remark("pooler", Level::Failure, words.to_owned())),
        None if found == Pooling::Sessions => None,
        None => {
            let words = "hands every transaction to another session, and keeps what is prepared: processes poll \
                         (LISTEN_POLL_ONLY=on)";
            Some(remark("pooler", Level::Fine, words.to_owned()))
        }
    }
}

fn schema(found: &Examination) -> Remark {
    let extensions = match found.extensions.as_slice() {
        [] => "no extension is needed".to_owned(),
        some => format!("extensions {} (none is needed)", some.join(", ")),
    };
    match (found.missing_migrations.as_slice(), found.unknown_migrations.as_slice()) {
        ([], []) => remark("schema", Level::Fine, format!("up to date; {extensions}")),
        ([], unknown) => remark(
            "schema",
            Level::Warning,
            format!("newer than this program by {} migrations: a newer one runs elsewhere", unknown.len()),
        ),
        (missing, _) => remark(
            "schema",
            Level::Failure,
            format!("lacks {} migrations: run `listen migrate`", missing.len()),
        ),
    }
}

fn queues(near: &Near) -> Remark {
    match near.paused.as_slice() {
        [] => remark("queues", Level::Fine, "none is paused".to_owned()),
        paused => remark(
            "queues",
            Level::Warning,
            format!("paused: {}; `listen jobs resume QUEUE --reason …` opens it", paused.join("; ")),
        ),
    }
}

fn waiting(near: &Near) -> Remark {
    match near.alerts.as_slice() {
        [] => remark("waiting", Level::Fine, "nothing waits for an operator".to_owned()),
        words => remark("waiting", Level::Warning, words.join(" ")),
    }
}

fn counted(name: &'static str, count: i64, words: &str) -> Remark {
    match count {
        0 => remark(name, Level::Fine, "nothing out of place".to_owned()),
        count => remark(name, Level::Failure, format!("{count} {words}")),
    }
}

fn to_json(of: &Of, remark: &Remark) -> Value {
    let level = match remark.level {
        Level::Fine => "ok",
        Level::Warning => "warning",
        Level::Failure => "failure",
    };
    let mut check = json!({ "check": remark.name, "level": level, "words": remark.words });
    match of {
        Of::All => {}
        Of::Server(address) => check["database"] = json!(address),
        Of::Shard(shard) => check["shard"] = json!(shard.number),
    }
    check
}

#[cfg(test)]
mod tests {
    use operations::OldTransaction;

    use super::*;

    #[test]
    fn doctor_names_the_session_that_keeps_a_shards_table_locked() {
        let (application, state) = ("psql".to_owned(), "idle in transaction".to_owned());
        let forgotten = OldTransaction { pid: 7, application, state, seconds: 61.0 };
        let found = Examination { locking: vec![forgotten], ..processes::tests::found() };
        let seen = judge(&found, &Workers::default(), &Near::default());
        let named = |remark: &Remark| {
            remark.level == Level::Failure
                && remark.words.contains("pid 7 psql is idle in transaction for 61 s")
        };
        assert!(seen.of_shard.iter().any(named), "of the shard: another one of the server may be readable");
        assert!(!seen.is_readable, "what waits for the lock is not asked for");
    }

    /// With a read-only database, doctor asked operators to start workers and a reconciler that were running.
    #[test]
    fn doctor_asks_for_no_process_while_none_can_record_that_it_is_alive() {
        let seen_ago = |seconds| Workers {
            processes: vec![processes::tests::view("host:1", 4, seconds, 1)],
            strays: Vec::new(),
        };
        let failing = |found: &Examination, ago| -> Vec<&str> {
            let seen = judge(
                &Examination { unwatched_leases: 1, ..found.clone() },
                &seen_ago(ago),
                &Near::default(),
            );
            let failing = seen.of_shard.iter().filter(|remark| remark.level == Level::Failure);
            failing.map(|remark| remark.name).collect()
        };
        let found = processes::tests::found();
        let reads_only = Examination { writes: false, ..found.clone() };
        let is_full = Examination { disk_is_full: true, ..found.clone() };
        assert_eq!(failing(&found, 400), ["processes", "leases", "reconciler"]);
        assert_eq!(failing(&reads_only, 400), Vec::<&str>::new());
        assert_eq!(failing(&is_full, 400), Vec::<&str>::new());
        assert!(
            failing(&reads_only, 1).contains(&"leases"),
            "a process was seen: the server is a standby of one that writes"
        );
    }

    #[test]
    fn doctor_tells_of_a_job_that_could_run_and_does_not() {
        assert_eq!(stands_still(300.0), None);
        let told = stands_still(523.0).unwrap_or_default();
        assert!(told.contains("admitted 8 min ago") && told.contains("`listen jobs why ID`"), "{told:?}");
    }
}
