//! `listen jobs`: what operators ask of jobs and do to them.

pub(crate) mod causes;
mod dismiss;
pub(crate) mod filter;
pub(crate) mod list;
mod orders;
mod pause;
mod replay;
pub(crate) mod show;
mod watch;
mod why;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use job::{JobId, Refusal};
use operations::{IdKind, JobPage, Operations};
use rand::RngExt;

use super::{ids, table::CommonArgs};
use crate::{exit::Exit, process::chance};

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
    /// Show one job: its state, why it is where it is, its timeline and what operators did.
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
    /// End live jobs: each becomes a dismissed dead letter, and its conversation fails.
    Cancel(orders::Cancel),
    /// Dismiss dead letters, which then need no more attention: one, or all that a filter finds.
    #[command(alias = "discard")]
    Dismiss(dismiss::Dismiss),
    /// Stop claiming from a queue; runs that have begun go on.
    Pause(pause::Switch),
    /// Claim from a paused queue again.
    Resume(pause::Switch),
}

/// Runs one verb.
///
/// # Errors
/// When the database does not answer, there is no such job, or its state refuses.
pub(crate) async fn run(jobs: Jobs) -> anyhow::Result<ExitCode> {
    let operations = match jobs.verb.ids() {
        [] => ids::of_user(&jobs.common, jobs.verb.user()).await?,
        [first, others @ ..] => ids::place_of_jobs(&jobs.common, first, others).await?,
    };
    let as_json = jobs.common.json;
    match jobs.verb {
        Verb::List(list) => list::run(&operations, &list, as_json).await?,
        Verb::Show { id } => show::print(&page(&operations, &id).await?, as_json)?,
        Verb::Why { id } => why::print(&page(&operations, &id).await?, as_json)?,
        Verb::Watch(watch) => watch::run(&operations, &watch, as_json).await?,
        Verb::Replay(replay) => return replay::run(&operations, &replay, as_json).await,
        Verb::RunNow(order) => return orders::run_now(&operations, &order, as_json).await,
        Verb::Cancel(order) => return orders::cancel(&operations, &order, as_json).await,
        Verb::Dismiss(dismiss) => return dismiss::run(&operations, &dismiss, as_json).await,
        Verb::Pause(switch) => pause::pause(&operations, &switch, as_json).await?,
        Verb::Resume(switch) => pause::resume(&operations, &switch, as_json).await?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Verb {
    /// The jobs that are named.
    fn ids(&self) -> &[String] {
        match self {
            Self::Show { id } | Self::Why { id } => std::slice::from_ref(id),
            Self::Watch(watch) => watch.id.as_slice(),
            Self::Replay(replay) => replay.id.as_slice(),
            Self::RunNow(order) => &order.ids,
            Self::Cancel(order) => &order.ids,
            Self::Dismiss(dismiss) => dismiss.id.as_slice(),
            Self::List(_) | Self::Pause(_) | Self::Resume(_) => &[],
        }
    }

    /// The user whose jobs are meant, where they are one user's.
    fn user(&self) -> Option<&str> {
        match self {
            Self::List(list) => list.which.user.as_deref(),
            Self::Replay(replay) => replay.which.user.as_deref(),
            Self::RunNow(order) => order.which.user.as_deref(),
            Self::Dismiss(dismiss) => dismiss.which.user.as_deref(),
            _ => None,
        }
    }
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

fn no_job(id: &str) -> anyhow::Error {
    Exit::NotFound(format!("there is no job {id}")).into()
}

/// The id of an order for many jobs.
pub(crate) fn order_id() -> uuid::Uuid {
    uuid::Builder::from_random_bytes(chance().random()).into_uuid()
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
