//! `listen jobs`: what operators ask of jobs and do to them.

pub(crate) mod causes;
pub(crate) mod filter;
mod given;
pub(crate) mod list;
mod orders;
mod pause;
mod replay;
pub(crate) mod show;
mod watch;
mod why;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use job::{Command, Job, JobId, Policy, Refusal, Why};
use ledger::Answer;
use operations::{IdKind, JobPage, Operations, OrderOfMany};

use super::{ids, stdout::plain, table::CommonArgs};
use crate::exit::Exit;

/// Look at finalization jobs and repair them.
#[derive(Args, Debug)]
pub(crate) struct Jobs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List jobs, newest first.
    List(list::List),
    /// Show one job: its state, the reason for it, its timeline and what operators did.
    Show {
        /// Id, or a unique beginning or end of it.
        id: String,
    },
    /// Say in one sentence why a job is not running.
    Why {
        /// Id, or a unique beginning or end of it.
        id: String,
    },
    /// Watch the queues, or one job, as they change.
    Watch(watch::Watch),
    /// Run dead letters again: one, or all that a filter finds.
    Replay(replay::Replay),
    /// End the wait of jobs that back off or wait for a model server: some, or all that a filter finds.
    RunNow(orders::RunNow),
    /// End live jobs, some or all that a filter finds: each becomes a dismissed dead letter, and its conversation fails.
    Cancel(orders::Cancel),
    /// Dismiss dead letters, which then need no more attention: some, or all that a filter finds.
    #[command(alias = "discard")]
    Dismiss(orders::Dismiss),
    /// Stop claiming from a queue; runs that have begun go on.
    Pause(pause::Switch),
    /// Claim from a paused queue again.
    Resume(pause::Switch),
}

/// Runs one verb: of a job where it is, of many in every shard.
pub(crate) async fn run(jobs: Jobs) -> anyhow::Result<ExitCode> {
    let (common, as_json) = (&jobs.common, jobs.common.json);
    match jobs.verb {
        Verb::List(list) => {
            let (shards, user) = ids::shards_and_user(common, list.which.user.as_deref()).await?;
            list::run(&shards, user.as_ref(), &list, as_json).await?
        }
        Verb::Show { id } => show::print(&page(&shard_of(common, &id).await?, &id).await?, as_json)?,
        Verb::Why { id } => why::print(&page(&shard_of(common, &id).await?, &id).await?, as_json)?,
        Verb::Watch(watch) => match &watch.id {
            Some(id) => watch::job(&shard_of(common, id).await?, &watch, id, as_json).await?,
            None => watch::queues(&common.chosen()?, &watch, as_json).await?,
        },
        Verb::Replay(replay) => {
            return match &replay.id {
                Some(id) => replay::one(&shard_of(common, id).await?, &replay, id, as_json).await,
                None => {
                    let shards = ids::shards_of(common, replay.which.user.as_deref()).await?;
                    replay::many(&shards, &replay, as_json).await
                }
            };
        }
        Verb::RunNow(orders::RunNow { ids, which, all, cause, consent }) => {
            return orders::run(common, OrderOfMany::RunNow, (&ids, &which, all), (&cause, consent)).await;
        }
        Verb::Cancel(orders::Cancel { ids, which, cause, consent }) => {
            return orders::run(common, OrderOfMany::Cancel, (&ids, &which, false), (&cause, consent)).await;
        }
        Verb::Dismiss(orders::Dismiss { ids, which, all, cause, consent }) => {
            return orders::run(common, OrderOfMany::Dismiss, (&ids, &which, all), (&cause, consent)).await;
        }
        Verb::Pause(switch) => pause::pause(&common.chosen()?, &switch, as_json).await?,
        Verb::Resume(switch) => pause::resume(&common.chosen()?, &switch, as_json).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The shard of a job.
async fn shard_of(common: &CommonArgs, id: &str) -> anyhow::Result<Operations> {
    ids::place(common, IdKind::Job, id).await
}

/// A job's page, or the exit code of a job that is not there.
async fn page(operations: &Operations, id: &str) -> anyhow::Result<JobPage> {
    let id = whole(operations, id).await?;
    operations.job_page(&JobId::from_text(id.clone())).await?.ok_or_else(|| no_job(&id))
}

/// A job's whole id.
async fn whole(operations: &Operations, id: &str) -> anyhow::Result<String> {
    ids::whole(operations, IdKind::Job, None, id).await
}

/// The job as an operation left it, or why it did not.
async fn granted(operations: &Operations, id: &str, answer: Answer) -> anyhow::Result<Job> {
    match answer {
        Answer::Granted { job, .. } => Ok(job),
        Answer::Refused(refusal) => Err(Exit::Refused(refused(operations, id, refusal).await).into()),
        Answer::Missing => Err(no_job(id)),
    }
}

/// Refuses what the command would be refused, as it would be.
async fn foreseen(operations: &Operations, page: &JobPage, command: Command) -> anyhow::Result<()> {
    let job = &page.view.job;
    match job::decide(job, command, page.at, &Policy::default()) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Exit::Refused(refused(operations, job.id.as_str(), refusal).await).into()),
    }
}

/// The pause of its queue that keeps a job waiting although an order was done. That it cannot be read changes nothing of that.
async fn pause_of(operations: &Operations, id: &str) -> Option<Why> {
    page(operations, id).await.ok().map(|page| page.why).filter(|why| matches!(why, Why::Paused { .. }))
}

/// That pause, on a line of its own.
fn but(paused: Option<&Why>) -> String {
    paused.map_or(String::new(), |why| format!("\n{}", plain(why)))
}

fn no_job(id: &str) -> anyhow::Error {
    // A shorter part is not looked for.
    let hint = if id.chars().count() < 4 { ": a part of an id has at least four characters" } else { "" };
    Exit::NotFound(format!("there is no job {id}{hint}")).into()
}

/// A number with its noun.
pub(crate) fn several(number: i64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A refusal with the state that refused, so that the reader need not look it up.
async fn refused(operations: &Operations, id: &str, refusal: Refusal) -> String {
    let state = match operations.job_page(&JobId::from_text(id.to_owned())).await {
        Ok(Some(page)) => format!(" (it is {})", page.view.job.state.status()),
        // The refusal stands, whatever else cannot be read.
        _ => String::new(),
    };
    format!("{id}{state}: {}; `listen jobs why {id}` says more", words(refusal))
}

/// Why an operator's command was refused, and what to do instead.
pub(crate) fn words(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotDead => "only a dead letter can be replayed or dismissed; this job is not one",
        Refusal::Blocked => {
            "it waits for its user's own keys and is never run with the service's; \
             the user's next finalize that brings them (X-BYOK-OpenAI) resumes it"
        }
        Refusal::Superseded => "a newer revision of its conversation exists; look at that one",
        Refusal::Ready => "it waits for nothing but a slot: there is no wait to end",
        Refusal::LeaseHeld { .. } => "it is running",
        Refusal::AtRest => "it has ended",
        Refusal::ConversationGone => "its conversation was deleted; `listen jobs dismiss` dismisses it",
        _ => "its state does not allow that",
    }
}
