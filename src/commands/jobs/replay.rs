//! `listen jobs replay`: one dead letter at once, or many as an operation that outlives this command.

use ledger::Operation;
use std::process::ExitCode;

use clap::Args;
use job::{Command, JobId, State, Why};
use operations::{JobFilter, Operations, ReplayOrder, ReplayPreview, ReplayView};
use serde_json::json;

use super::{
    but,
    filter::{OF_MANY, Which},
    granted, several,
};
use crate::{
    commands::{
        consent::{Cause, Consent},
        outage,
        over_shards::{each, label},
        replays,
        stderr::note,
        stdout::{plain, reply},
        table::print_json,
    },
    exit::Exit,
    process::new_id,
};

/// One job, or all that a filter finds.
#[derive(Args, Debug)]
pub(super) struct Replay {
    /// Id of a job; without it, all dead letters that the filter finds.
    #[arg(conflicts_with_all = OF_MANY)]
    pub(super) id: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Select all dead letters; required without a filter.
    #[arg(long)]
    all: bool,
    /// Drop all checkpoints: every stage runs, and is paid for, again.
    #[arg(long)]
    from_scratch: bool,
    /// Rate of a bulk replay [jobs per minute].
    #[arg(long, default_value_t = 600, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=60_000))]
    rate: i32,
    /// Maximum number of unfinished jobs of a bulk replay.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=10_000))]
    in_flight: i32,
    /// Do not wait for the end of a bulk replay.
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// Replays one.
pub(super) async fn one(
    operations: &Operations,
    replay: &Replay,
    typed: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let id = &super::whole(operations, typed).await?;
    if replay.consent.dry_run {
        let page = super::page(operations, id).await?;
        let around = &page.around;
        let command = Command::Replay {
            superseded: around.superseded,
            conversation_gone: around.conversation_gone,
            requires_keys: around.user_requires_keys,
        };
        super::foreseen(operations, &page, command).await?;
        let kept = if replay.from_scratch { 0 } else { page.view.checkpoints.len() };
        reply!(as_json, { "job_id": id, "guard": page.why.guard(), "recorded_stages": kept },
            "{}\nrecorded stages that would be kept: {kept}", plain(&page.why))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (job, action) = (JobId::from_text(id.to_owned()), replay.cause.action());
    let operation = Operation::Replay { from_scratch: replay.from_scratch };
    let job = granted(operations, id, operations.operate(&job, operation, &action).await?).await?;
    let parked = matches!(job.state, State::BlockedByok);
    let paused = super::pause_of(operations, id).await;
    reply!(as_json, { "job_id": id, "done": "replayed", "status": job.state.status(),
            "dispatch_generation": job.generation.0, "guard": paused.as_ref().map(Why::guard) },
        "replayed {id}, generation {}{}{}", job.generation,
        if parked { ", parked until its user brings keys" } else { "" }, but(paused.as_ref()))?;
    Ok(ExitCode::SUCCESS)
}

/// Replays all that the filter finds: an operation in every shard in which it finds something.
pub(super) async fn many(shards: &[Operations], replay: &Replay, as_json: bool) -> anyhow::Result<ExitCode> {
    if replay.which.is_empty() && !replay.all {
        return Err(Exit::Usage("name a job, a filter, or --all".to_owned()).into());
    }
    let look = async |shard: &Operations| {
        let filter = replay.which.filter(shard, Some("dead_letter".to_owned()), 0).await?;
        let preview = shard.preview_replay(&filter).await?;
        Ok((filter, preview))
    };
    let looks = each(shards, look).await?;
    let mut preview = ReplayPreview::default();
    looks.of.iter().for_each(|(_, (_, of_shard))| preview.add(of_shard));
    let is_document = as_json && (replay.consent.dry_run || preview.jobs == 0);
    match is_document {
        true => print_json(&preview_json(&preview, replay))?,
        false => tell(&preview, replay),
    }
    let found = || looks.of.iter().filter(|(_, (_, preview))| preview.jobs > 0);
    if looks.of.len() > 1 && !is_document {
        for (shard, (_, preview)) in found() {
            note!("{}{}", label(shard), several(preview.jobs, "dead letter", "dead letters"));
        }
    }
    let of: Vec<&Operations> = found().map(|(shard, _)| shard).collect();
    if !of.is_empty() {
        replays::preflight::warn(&of).await?;
        let question = format!("Replay {}?", several(preview.jobs, "job", "jobs"));
        if !is_document && replay.consent.given(&question)? {
            let parts = found().map(|(shard, (filter, _))| (shard, filter.clone())).collect();
            let code = start(parts, replay, as_json).await?;
            looks.complete()?;
            return Ok(code);
        }
    }
    looks.complete().map(|()| ExitCode::SUCCESS)
}

/// Begins an operation in each of the shards, and watches them one after the other: all are worked off at once.
async fn start(
    parts: Vec<(&Operations, JobFilter)>,
    replay: &Replay,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut begun = Vec::new();
    for (operations, filter) in parts {
        let order = ReplayOrder {
            words: replay.which.words("all dead letters"),
            filter,
            from_scratch: replay.from_scratch,
            per_minute: replay.rate,
            in_flight: replay.in_flight,
        };
        if let Some(view) = begin(operations, &order, &replay.cause).await? {
            // At once: the next shard may fail, and this one's replay goes on.
            note!(
                "{}replay {} of {}; it goes on without this command: `listen replays watch {}`",
                label(operations),
                view.operation_id,
                several(view.items.into(), "job", "jobs"),
                view.operation_id
            );
            begun.push((operations, view));
        }
    }
    if begun.is_empty() {
        return Err(Exit::NotFound("no dead letter matches any more".to_owned()).into());
    }
    let (mut views, mut code) = (Vec::new(), ExitCode::SUCCESS);
    for (operations, view) in begun {
        if replay.detach {
            views.push(view);
            continue;
        }
        let watched = replays::follow(operations, &view.operation_id).await.map_err(|error| {
            let words = format!("do not repeat this command, it would begin another replay: {error}");
            unseen(error, words)
        })?;
        views.extend(watched.view);
        if watched.code != ExitCode::SUCCESS {
            code = watched.code;
        }
        if watched.is_interrupted {
            break;
        }
    }
    replays::print_all(&views, as_json)?;
    Ok(code)
}

/// Begins the operation, once: over a gap of the database it is asked for again by the same name.
async fn begin(
    operations: &Operations,
    order: &ReplayOrder,
    cause: &Cause,
) -> anyhow::Result<Option<ReplayView>> {
    let (id, action) = (new_id(), cause.action());
    let begun = outage::with_retries(async || operations.start_replay(id, order, &action).await).await;
    begun.map_err(|error| {
        let words = format!(
            "whether replay {id} was begun is not known: `listen replays watch {id}` tells, and to repeat this command \
             may begin another"
        );
        unseen(error.into(), words)
    })
}

/// A database that stays away is no reason to repeat a command that has begun something.
fn unseen(error: anyhow::Error, words: String) -> anyhow::Error {
    match error.downcast_ref::<db::Error>() {
        Some(broken) if broken.is_passing() => error.context(Exit::Unseen(words)),
        _ => error,
    }
}

/// What a replay of many would do, on stderr: data goes to stdout.
fn tell(preview: &ReplayPreview, replay: &Replay) {
    note!(
        "{} of {}: {}",
        several(preview.jobs, "dead letter", "dead letters"),
        several(preview.users, "user", "users"),
        replay.which.words("all dead letters")
    );
    for (code, jobs) in &preview.codes {
        note!("  {jobs:>7}  {code}");
    }
    if preview.parked > 0 {
        note!("  {:>7}  will be parked until their users bring keys", preview.parked);
    }
    if preview.jobs == 0 {
        note!("Nothing is to be replayed.");
        return;
    }
    note!("{}", cost(preview, replay));
}

/// What they will cost, by what recent jobs cost: an engine may cost nothing, or be called once for several stages.
fn cost(preview: &ReplayPreview, replay: &Replay) -> String {
    let jobs = preview.jobs;
    let calls = match (preview.recent_jobs, preview.recent_calls) {
        (0, _) => "not known, as no job was completed yet".to_owned(),
        (_, 0) => "no model calls, as recent jobs made none".to_owned(),
        (recent, calls) => {
            let each = calls as f64 / recent as f64;
            format!("about {:.0} model calls, as recent jobs made {each:.1} each", jobs as f64 * each)
        }
    };
    let recorded = match (preview.recorded_stages, replay.from_scratch) {
        (0, _) => String::new(),
        (1, false) => "; 1 recorded stage is kept and not paid for again".to_owned(),
        (many, false) => format!("; {many} recorded stages are kept and not paid for again"),
        (_, true) => "; what was recorded is dropped".to_owned(),
    };
    let minutes = (jobs as f64 / f64::from(replay.rate)).ceil();
    format!("Cost: {calls}{recorded}. At {} a minute at least {minutes} min.", replay.rate)
}

fn preview_json(preview: &ReplayPreview, replay: &Replay) -> serde_json::Value {
    let codes: serde_json::Map<String, serde_json::Value> =
        preview.codes.iter().map(|(code, jobs)| (code.clone(), json!(jobs))).collect();
    json!({
        "jobs": preview.jobs, "users": preview.users, "codes": codes, "parked": preview.parked,
        "recorded_stages": preview.recorded_stages, "from_scratch": replay.from_scratch,
        "recent_jobs": preview.recent_jobs, "recent_calls": preview.recent_calls,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        replay: Replay,
    }

    #[test]
    fn replay_takes_one_job_or_a_filter_not_both() {
        let parses = |words: &[&str]| {
            let words = [&["replay", "--operator", "ann", "--reason", "it is mended"], words].concat();
            Words::try_parse_from(words).is_ok()
        };
        assert!(parses(&["fj_1", "--from-scratch"]) && parses(&["--all", "--code", "model_timeout"]));
        for many in [
            &["--all"][..],
            &["--code", "model_timeout"],
            &["--user", "ada"],
            &["--newer-than", "1d"],
            &["--older-than", "1d"],
            &["--generation", "1"],
        ] {
            assert!(!parses(&[&["fj_1"], many].concat()), "{many:?}");
        }
    }

    #[test]
    fn replay_outcome_is_unknown_only_after_an_outage() {
        let away = db::Error::Contended { doing: "looking" };
        let wrong = db::Error::ImpossibleRow { table: "jobs", id: "7".to_owned(), column: "status" };
        let is_unseen = |error: db::Error| {
            let said = unseen(error.into(), "it goes on".to_owned());
            matches!(said.downcast_ref(), Some(Exit::Unseen(words)) if words == "it goes on")
        };
        assert!(is_unseen(away));
        assert!(!is_unseen(wrong));
    }

    fn shown(recent: (i64, i64), recorded_stages: i64, more: &[&str]) -> String {
        let words = [&["replay", "--all", "--operator", "ann", "--reason", "it is mended"], more].concat();
        let preview = ReplayPreview {
            jobs: 3,
            recorded_stages,
            recent_jobs: recent.0,
            recent_calls: recent.1,
            ..ReplayPreview::default()
        };
        cost(&preview, &Words::try_parse_from(words).unwrap().replay)
    }

    #[test]
    fn replay_cost_is_estimated_from_recent_jobs() {
        assert_eq!(
            shown((10, 0), 0, &[]),
            "Cost: no model calls, as recent jobs made none. At 600 a minute at least 1 min."
        );
        assert!(
            shown((10, 13), 0, &[])
                .starts_with("Cost: about 4 model calls, as recent jobs made 1.3 each. At")
        );
        assert!(shown((0, 0), 0, &[]).starts_with("Cost: not known, as no job was completed yet. At"));
        assert!(
            shown((1, 1), 7, &["--rate=1"]).ends_with(
                "; 7 recorded stages are kept and not paid for again. At 1 a minute at least 3 min."
            )
        );
        assert!(shown((1, 1), 7, &["--from-scratch"]).contains("; what was recorded is dropped. At "));
    }
}
