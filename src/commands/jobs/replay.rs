//! `listen jobs replay`: one dead letter at once, or many as an operation that outlives this command.

use std::process::ExitCode;

use clap::Args;
use job::{JobId, State};
use ledger::{JobFilter, Ledger, ReplayOrder, ReplayPreview, Started};
use rand::RngExt;
use serde_json::json;

use super::{filter::Which, no_job, several};
use crate::{
    commands::{
        consent::{Cause, Consent},
        replays,
        table::print_json,
    },
    exit::Exit,
    wiring::chance,
};

/// One job, or all that a filter finds.
#[derive(Args, Debug)]
pub(super) struct Replay {
    /// A job; without one, the filter says which dead letters.
    id: Option<String>,
    #[command(flatten)]
    which: Which,
    /// All dead letters: said when no filter is.
    #[arg(long)]
    all: bool,
    /// Pay for all stages again: what they recorded is dropped.
    #[arg(long)]
    from_scratch: bool,
    /// Jobs a minute, of many.
    #[arg(long, default_value_t = 600, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=60_000))]
    rate: i32,
    /// Replayed jobs that may be unfinished at once, of many.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=10_000))]
    in_flight: i32,
    /// Do not wait for the end of many.
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// Replays.
pub(super) async fn run(ledger: &Ledger, replay: &Replay, as_json: bool) -> anyhow::Result<ExitCode> {
    match &replay.id {
        Some(id) => one(ledger, replay, id, as_json).await,
        None if replay.which.is_empty() && !replay.all => {
            Err(Exit::Usage("name a job, a filter, or --all".to_owned()).into())
        }
        None => many(ledger, replay, as_json).await,
    }
}

async fn one(ledger: &Ledger, replay: &Replay, id: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    if replay.consent.dry_run {
        let page = super::page(ledger, id).await?;
        let kept = if replay.from_scratch { 0 } else { page.view.checkpoints.len() };
        match as_json {
            true => print_json(&json!({ "job_id": id, "guard": page.why.guard(), "recorded_stages": kept })),
            false => anstream::println!("{}\nrecorded stages that would be kept: {kept}", page.why),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (job, action) = (JobId::from_text(id.to_owned()), replay.cause.action());
    let answer = match replay.from_scratch {
        true => ledger.replay_from_scratch(&job, &action).await?,
        false => ledger.replay(&job, &action).await?,
    };
    match answer {
        None => Err(no_job(id)),
        Some(Err(refusal)) => Err(Exit::Refused(super::refused(ledger, id, refusal).await).into()),
        Some(Ok(job)) => {
            let parked = matches!(job.state, State::BlockedByok);
            match as_json {
                true => print_json(&json!({ "job_id": id, "done": "replayed", "status": job.state.status(),
                    "dispatch_generation": job.generation.0 })),
                false => anstream::println!(
                    "replayed {id}, generation {}{}",
                    job.generation,
                    if parked { ", parked until its user brings keys" } else { "" }
                ),
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn many(ledger: &Ledger, replay: &Replay, as_json: bool) -> anyhow::Result<ExitCode> {
    let filter = replay.which.filter(ledger, Some("dead_letter".to_owned()), 0).await?;
    let preview = ledger.preview_replay(&filter).await?;
    if as_json && (replay.consent.dry_run || preview.jobs == 0) {
        print_json(&preview_json(&preview, replay));
        return Ok(ExitCode::SUCCESS);
    }
    tell(&preview, replay);
    if preview.jobs == 0 || !replay.consent.given(&format!("Replay {} jobs?", preview.jobs))? {
        return Ok(ExitCode::SUCCESS);
    }
    start(ledger, replay, filter, as_json).await
}

async fn start(
    ledger: &Ledger,
    replay: &Replay,
    filter: JobFilter,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let order = ReplayOrder {
        words: replay.which.words(),
        filter,
        from_scratch: replay.from_scratch,
        per_minute: replay.rate,
        in_flight: replay.in_flight,
    };
    let id = uuid::Builder::from_random_bytes(chance().random()).into_uuid();
    match ledger.start_replay(id, &order, &replay.cause.action()).await? {
        Started::Nothing => Err(Exit::NotFound("nothing is left to be replayed".to_owned()).into()),
        Started::Running(view) if replay.detach => {
            replays::print_one(&view, as_json);
            Ok(ExitCode::SUCCESS)
        }
        Started::Running(view) => {
            anstream::eprintln!(
                "replay {} of {} jobs; it goes on without this command: `listen replays watch {}`",
                view.operation_id,
                view.items,
                view.operation_id
            );
            replays::watch(ledger, &view.operation_id, as_json).await
        }
    }
}

/// What a replay of many would do, on stderr: data goes to stdout.
fn tell(preview: &ReplayPreview, replay: &Replay) {
    let plenty = preview.jobs - preview.superseded - preview.conversation_gone;
    anstream::eprintln!(
        "{} of {}: {}",
        several(preview.jobs, "dead letter", "dead letters"),
        several(preview.users, "person", "people"),
        replay.which.words()
    );
    for (code, jobs) in &preview.codes {
        anstream::eprintln!("  {jobs:>7}  {code}");
    }
    for (count, what) in [
        (preview.superseded, "will be refused: a newer revision of the conversation exists"),
        (preview.conversation_gone, "will be refused: the conversation was deleted"),
        (preview.parked, "will be parked until their users bring keys"),
    ] {
        if count > 0 {
            anstream::eprintln!("  {count:>7}  {what}");
        }
    }
    if preview.jobs == 0 {
        anstream::eprintln!("Nothing is to be replayed.");
        return;
    }
    let recorded = if replay.from_scratch { 0 } else { preview.recorded_stages };
    let minutes = (plenty as f64 / f64::from(replay.rate)).ceil();
    anstream::eprintln!(
        "Cost: about {} stages to be run; {recorded} that are recorded are kept. At {} a minute at least {minutes} min.",
        (plenty * STAGES - recorded).max(0),
        replay.rate,
    );
}

/// Stages of a run that cost something: describe, items, memories, embed, apps.
const STAGES: i64 = 5;

fn preview_json(preview: &ReplayPreview, replay: &Replay) -> serde_json::Value {
    let codes: serde_json::Map<String, serde_json::Value> =
        preview.codes.iter().map(|(code, jobs)| (code.clone(), json!(jobs))).collect();
    json!({
        "jobs": preview.jobs, "users": preview.users, "codes": codes, "superseded": preview.superseded,
        "conversation_gone": preview.conversation_gone, "parked": preview.parked,
        "recorded_stages": preview.recorded_stages, "from_scratch": replay.from_scratch,
    })
}
