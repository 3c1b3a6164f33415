//! `listen doctor`: what is wrong with a deployment, and what to do about it.

mod clock;
mod engines;
mod processes;
mod secrets;
mod sessions;
mod tasks;

pub(super) use self::engines::hands_over;

use std::{process::ExitCode, time::Duration};

use clap::Args;
use db::{ENCODING, Shard};
use operations::{Examination, Operations, SealedSecrets, Workers};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    stdout::{plain, say},
    table::{CommonArgs, print_json, wrapped},
};
use crate::{
    alerts,
    config::TasksConfig,
    connections::{Limits, most_open_files},
    database::{self, is_there},
    exit::in_one_line,
    schema::refuse_others,
};

/// As many connections as a process keeps by default.
const ENOUGH: usize = 1_024;

/// Examine a deployment: schema, settings, clocks, workers, blocking transactions.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    tasks: TasksConfig,
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

/// Examines and prints; 1 when something is broken, 0 with warnings.
///
/// # Errors
/// When the database does not answer.
pub(crate) async fn run(doctor: Doctor) -> anyhow::Result<ExitCode> {
    let mut remarks = Vec::new();
    let shards = doctor.common.shards()?;
    let ledgers = doctor.common.chosen_of(&shards)?;
    if let Err(error) = refuse_others(&shards).await {
        remarks.push((None, remark("shards", Level::Failure, error.to_string())));
    }
    for ledger in &ledgers {
        let shard = ledger.db().shard();
        if shard.is_only() {
            remarks.extend(
                reached(ledger, &doctor, None).await?.into_iter().map(|remark| (None, remark)),
            );
            continue;
        }
        // A shard that does not answer is a finding: the others are examined all the same.
        let found = reached(ledger, &doctor, Some(database::shards_on_server_of(ledger, &shards))).await;
        let found = found.unwrap_or_else(|away| vec![remark("database", Level::Failure, in_one_line(&away))]);
        remarks.extend(found.into_iter().map(|remark| (Some(shard), remark)));
    }
    let broken = remarks.iter().any(|(_, remark)| remark.level == Level::Failure);
    match doctor.common.json {
        true => {
            let checks = remarks.iter().map(|(shard, remark)| to_json(*shard, remark)).collect::<Value>();
            print_json(&json!({ "ok": !broken, "checks": checks }))
        }
        false => print(&remarks),
    }?;
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(remarks: &[(Option<Shard>, Remark)]) -> anyhow::Result<()> {
    let mut last = None;
    for (shard, remark) in remarks {
        if let Some(shard) = shard.filter(|shard| Some(*shard) != last) {
            last = Some(shard);
            say!("shard {shard}")?;
        }
        let mark = match remark.level {
            Level::Fine => "✓",
            Level::Warning => "!",
            Level::Failure => "✗",
        };
        say!("{}", wrapped(&format!("{mark} {:<14} ", remark.name), &plain(&remark.words)))?;
    }
    Ok(())
}

/// The same once its server is there.
async fn reached(ledger: &Operations, doctor: &Doctor, shards: Option<i64>) -> anyhow::Result<Vec<Remark>> {
    is_there(ledger).await?;
    examine(ledger, doctor, shards).await
}

/// What is to be said of one database; `shards`, as of [`Near`].
async fn examine(
    operations: &Operations,
    doctor: &Doctor,
    shards: Option<i64>,
) -> anyhow::Result<Vec<Remark>> {
    let found = operations.examine().await?;
    let migrated = found.missing_migrations.is_empty();
    let workers = if migrated { operations.workers().await? } else { Workers::default() };
    let near = Near { shards, ..look_near(operations, migrated, doctor.common.has_secrets_key()).await? };
    let mut remarks = judge(&found, &workers, &near);
    if migrated {
        remarks.extend(engines::dispatch(&workers));
        remarks.extend(engines::engines(&operations.model_servers().await?, &workers));
        let hands_over = engines::hands_over(&workers);
        remarks.extend(tasks::tasks(&doctor.tasks, operations, hands_over).await?);
    }
    Ok(remarks)
}

/// The clock is read in the middle of a round trip; the fastest of five counts.
async fn look_near(operations: &Operations, migrated: bool, has_key: bool) -> anyhow::Result<Near> {
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
    let pauses = if migrated { operations.pauses().await? } else { Vec::new() };
    let paused = pauses
        .iter()
        .map(|pause| format!("{} by {}: {}", pause.queue, pause.operator, pause.reason))
        .collect();
    let alerts = if migrated { read_alerts(operations).await? } else { Vec::new() };
    let secrets = if migrated { Some((operations.sealed_secrets().await?, has_key)) } else { None };
    let open_files = most_open_files();
    Ok(Near { round_trip, skew, open_files, paused, alerts, secrets, shards: None })
}

/// The limits of the alerts, and the unsettled dead letters.
async fn read_alerts(operations: &Operations) -> anyhow::Result<Vec<String>> {
    let overview = operations.overview().await?;
    let waiting = alerts::waiting(operations, &overview.gauges).await?;
    let mut words: Vec<String> = alerts::alerts(&waiting).into_iter().map(|alert| alert.words).collect();
    let dead: i64 = overview.dead_letters.iter().map(|letters| letters.waiting).sum();
    if dead > 0 {
        words.push(format!(
            "{dead} dead letters wait for an operator: `listen jobs list --status dead_letter`."
        ));
    }
    Ok(words)
}

/// What the facts mean. Pure.
fn judge(found: &Examination, workers: &Workers, near: &Near) -> Vec<Remark> {
    let mut remarks = vec![
        database(&found.server, near.round_trip),
        encoding(&found.encoding),
        writes(found.writes),
        schema(found),
        settings(found),
        clock::clock(near.skew),
        connections(found),
        open_files(near.open_files),
    ];
    if found.missing_migrations.is_empty() {
        remarks.extend([
            processes::processes(found, workers),
            sessions::sessions(found, workers, near.shards),
            queues(near),
            waiting(near),
            counted("leases", found.unwatched_leases, "leases ran out over a minute ago and no process watches them: start a process with the role worker or reconciler"),
            counted("owners", found.without_owners, "live jobs should have been looked at an hour ago: is a reconciler running?"),
            processes::rounds(found, workers),
        ]);
    }
    remarks.extend(near.secrets.map(|(found, has_key)| secrets::secrets(found, has_key)));
    remarks.extend([transactions(found), locks(found), bloat(found)]);
    remarks
}

fn remark(name: &'static str, level: Level, words: String) -> Remark {
    Remark { name, level, words }
}

fn database(version: &str, round_trip: Duration) -> Remark {
    let words = format!("PostgreSQL {version}, a round trip takes {:.1} ms", round_trip.as_secs_f64() * 1e3);
    let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse().ok());
    match major.is_some_and(|major: u32| major < embedded::OLDEST_MAJOR) {
        false => remark("database", Level::Fine, words),
        true => {
            let oldest = embedded::OLDEST_MAJOR;
            let words =
                format!("{words}; versions before {oldest} are not tested with listen: upgrade the server");
            remark("database", Level::Warning, words)
        }
    }
}

fn encoding(found: &str) -> Remark {
    match found == ENCODING {
        true => remark("encoding", Level::Fine, format!("texts are stored as {found}")),
        false => remark(
            "encoding",
            Level::Failure,
            format!(
                "texts are stored as {found}, so some are refused and searches miss words: dump the database, and restore \
                 it into one that was made with `create database … encoding 'UTF8' template template0`"
            ),
        ),
    }
}

fn writes(accepts: bool) -> Remark {
    match accepts {
        true => remark("writes", Level::Fine, "are accepted".to_owned()),
        false => remark(
            "writes",
            Level::Failure,
            "are refused, so nothing is stored and nothing processed: the server is a standby, or \
             default_transaction_read_only is on, which providers set when its disk is full"
                .to_owned(),
        ),
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

fn settings(found: &Examination) -> Remark {
    match found.unsafe_settings.as_slice() {
        [] => remark("durability", Level::Fine, "what is committed survives a crash".to_owned()),
        off => remark(
            "durability",
            Level::Warning,
            format!("{}: a crash of the server may lose what was committed", off.join(", ")),
        ),
    }
}

fn connections(found: &Examination) -> Remark {
    let (used, most) = found.connections;
    let level = if used * 10 > most * 9 {
        Level::Failure
    } else if used * 10 > most * 7 {
        Level::Warning
    } else {
        Level::Fine
    };
    remark("connections", level, format!("{used} of {most} in use"))
}

/// Each connection to the public address is an open file.
fn open_files(files: u64) -> Remark {
    let keeps = Limits::public(Limits { all: ENOUGH, per_address: ENOUGH }, files, 0).all;
    match keeps < ENOUGH {
        false => remark("open files", Level::Fine, "a process started from here may open enough".to_owned()),
        true => remark(
            "open files",
            Level::Warning,
            format!(
                "a process started from here may open {files}, enough for {keeps} connections: raise it to 4096 \
                 (`ulimit -Hn`, `LimitNOFILE=`)"
            ),
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

fn transactions(found: &Examination) -> Remark {
    let mut words: Vec<String> = found
        .old_transactions
        .iter()
        .map(|old| format!("pid {} {} is {} for {:.0} s", old.pid, old.application, old.state, old.seconds))
        .collect();
    words.extend(found.holding_back.iter().cloned());
    let unseen = found.blind_role.as_ref().map(|role| {
        format!("those of other roles are not seen, nor by ListenVacuumHeldBack: `grant pg_read_all_stats to {role}`")
    });
    let seen = (!words.is_empty()).then(|| {
        format!("hold back vacuum: {}; `select pg_terminate_backend(pid)` ends one", words.join(", "))
    });
    match [seen, unseen].into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [] => remark("transactions", Level::Fine, "none is old enough to hold back vacuum".to_owned()),
        told => remark("transactions", Level::Warning, told.join("; ")),
    }
}

fn locks(found: &Examination) -> Remark {
    let level = if found.waiting_for_locks > 0 { Level::Warning } else { Level::Fine };
    remark("locks", level, format!("{} sessions wait for one longer than 5 s", found.waiting_for_locks))
}

fn bloat(found: &Examination) -> Remark {
    let tables: Vec<String> = found
        .bloated
        .iter()
        .map(|(table, share)| format!("{table} {share:.1} dead rows per live one"))
        .collect();
    match tables.as_slice() {
        [] => remark("vacuum", Level::Fine, "keeps up".to_owned()),
        tables => remark("vacuum", Level::Warning, format!("falls behind: {}", tables.join(", "))),
    }
}

fn to_json(shard: Option<Shard>, remark: &Remark) -> Value {
    let level = match remark.level {
        Level::Fine => "ok",
        Level::Warning => "warning",
        Level::Failure => "failure",
    };
    let mut check = json!({ "check": remark.name, "level": level, "words": remark.words });
    if let (Some(shard), Some(fields)) = (shard, check.as_object_mut()) {
        fields.insert("shard".to_owned(), json!(shard.number));
    }
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_warns_of_a_server_older_than_the_oldest_tested_version() {
        let level = |version| database(version, Duration::ZERO).level;
        assert_eq!(level("13.23"), Level::Warning);
        assert_eq!(level("14.0"), Level::Fine);
        assert_eq!(level("18.4 (Debian 18.4-1.pgdg130+1)"), Level::Fine);
        assert_eq!(level("19devel"), Level::Fine);
    }

    #[test]
    fn doctor_names_a_file_limit_too_small_for_the_connections() {
        let small = open_files(1_024);
        assert_eq!(small.level, Level::Warning);
        assert!(small.words.contains("1024") && small.words.contains("768 connections"), "{}", small.words);
        assert_eq!(open_files(4_096).level, Level::Fine);
        assert_eq!(open_files(u64::MAX).level, Level::Fine);
    }

    #[test]
    fn doctor_does_not_deny_long_transactions_it_cannot_see() {
        let seeing = processes::tests::found();
        assert_eq!(transactions(&seeing).level, Level::Fine);
        let blind = transactions(&Examination { blind_role: Some("listen".to_owned()), ..seeing });
        assert_eq!(blind.level, Level::Warning);
        assert!(blind.words.contains("`grant pg_read_all_stats to listen`"), "{}", blind.words);
    }
}
