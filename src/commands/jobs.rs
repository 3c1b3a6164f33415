//! `listen jobs`: what operators ask and do.

mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use job::{JobId, Refusal, State};
use ledger::{JobFilter, Ledger, OperatorAction};
use records::UserId;
use serde_json::json;

use super::table::{self, Asked, print_json};
use crate::exit::Exit;

/// Look at finalization jobs and repair them.
#[derive(Args, Debug)]
pub(crate) struct Jobs {
    #[command(flatten)]
    asked: Asked,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List jobs, newest first.
    List {
        /// queued, leased, completed, dead_letter or blocked_byok.
        #[arg(long, value_parser = ["queued", "leased", "completed", "dead_letter", "blocked_byok"])]
        status: Option<String>,
        /// A failure code.
        #[arg(long)]
        code: Option<String>,
        /// Whose.
        #[arg(long)]
        user: Option<String>,
        /// At most this many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
    },
    /// Show one job.
    Show {
        /// Its id.
        id: String,
    },
    /// Queue a dead letter again, once its cause is fixed.
    Replay {
        /// Its id.
        id: String,
        #[command(flatten)]
        why: Why,
    },
    /// Mark a dead letter as settled.
    Discard {
        /// Its id.
        id: String,
        #[command(flatten)]
        why: Why,
    },
}

#[derive(Args, Debug)]
struct Why {
    /// Why: recorded with the action.
    #[arg(long)]
    reason: String,
    /// Who: recorded with the action.
    #[arg(long, env = "USER", default_value = "operator")]
    operator: String,
}

/// Runs one verb.
///
/// # Errors
/// When the database does not answer, there is no such job, or its state refuses.
pub(crate) async fn run(jobs: Jobs) -> anyhow::Result<ExitCode> {
    let ledger = jobs.asked.ledger()?;
    let as_json = jobs.asked.json;
    match jobs.verb {
        Verb::List { status, code, user, limit } => {
            let filter = JobFilter { status, code, user: user.map(UserId::new), before: None, limit };
            list(&ledger, &filter, as_json).await?;
        }
        Verb::Show { id } => match ledger.job(&JobId::from_text(id.clone())).await? {
            Some(view) => show::print(&view, as_json),
            None => return Err(no_job(&id)),
        },
        Verb::Replay { id, why } => {
            let answer = ledger.replay(&JobId::from_text(id.clone()), &why.action()).await?;
            report(&id, answer, "replayed", as_json)?;
        }
        Verb::Discard { id, why } => {
            let answer = ledger.discard(&JobId::from_text(id.clone()), &why.action()).await?;
            report(&id, answer, "settled", as_json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Why {
    fn action(&self) -> OperatorAction {
        OperatorAction { operator: self.operator.clone(), reason: self.reason.clone() }
    }
}

async fn list(ledger: &Ledger, filter: &JobFilter, as_json: bool) -> anyhow::Result<()> {
    let views = ledger.jobs(filter).await?;
    if as_json {
        print_json(&json!(views.iter().map(show::to_json).collect::<Vec<_>>()));
        return Ok(());
    }
    let rows = views
        .iter()
        .map(|view| {
            vec![
                view.job.id.to_string(),
                view.job.state.status().to_owned(),
                show::code(&view.job).unwrap_or("").to_owned(),
                view.job.queue.to_string(),
                format!("{}/{}", view.job.attempts, view.job.crashes),
                view.job.generation.to_string(),
                show::time(view.created_at),
                view.user_id.to_string(),
            ]
        })
        .collect();
    table::print(&["job", "status", "code", "queue", "failed/crashed", "gen", "admitted", "user"], rows);
    Ok(())
}

fn report(
    id: &str,
    answer: Option<Result<job::Job, Refusal>>,
    done: &str,
    as_json: bool,
) -> anyhow::Result<()> {
    match answer {
        None => Err(no_job(id)),
        Some(Err(refusal)) => Err(Exit::Refused(format!("{id}: {}", words(refusal))).into()),
        Some(Ok(job)) => {
            match as_json {
                true => print_json(
                    &json!({ "job_id": id, "done": done, "status": job.state.status(), "dispatch_generation": job.generation.0 }),
                ),
                false => {
                    let parked = if matches!(job.state, State::BlockedByok) {
                        ", parked until its user brings keys"
                    } else {
                        ""
                    };
                    anstream::println!("{done} {id}, generation {}{parked}", job.generation);
                }
            }
            Ok(())
        }
    }
}

fn no_job(id: &str) -> anyhow::Error {
    Exit::NotFound(format!("there is no job {id}")).into()
}

/// Why an operator's command was refused, and what to do instead.
fn words(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotDead => "only a dead letter can be replayed or settled; this job is not one",
        Refusal::Blocked => {
            "it waits for its user's own keys and is never run with the service's; \
             the user's next finalize that brings them (X-BYOK-OpenAI) resumes it"
        }
        Refusal::Superseded => "a newer revision of its conversation exists; look at that one",
        Refusal::ConversationGone => "its conversation was deleted; `listen jobs discard` settles it",
        _ => "its state does not allow that",
    }
}
