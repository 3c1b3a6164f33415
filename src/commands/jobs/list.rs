//! `listen jobs list`.

use clap::Args;
use job::JobId;
use ledger::{JobView, Ledger};
use operations::{JobCursor, JobFilter, JobsPage, Operations};
use records::Timestamp;
use serde_json::json;

use super::{
    causes,
    filter::{Which, ago},
    is_told, show,
};
use crate::{
    commands::table::{self, print_json},
    exit::Exit,
};

/// Which jobs, and how many.
#[derive(Args, Debug)]
pub(super) struct List {
    /// Status: queued, leased, completed, dead_letter or blocked_byok.
    #[arg(long, value_parser = ["queued", "leased", "completed", "dead_letter", "blocked_byok"])]
    status: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Leave out settled dead letters.
    #[arg(long)]
    unsettled: bool,
    /// Count dead letters by failure code instead of listing them.
    #[arg(long, conflicts_with_all = ["after", "limit"])]
    by_code: bool,
    /// Maximum number of rows.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
    limit: i64,
    /// Cursor of the page, as the page before printed it.
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
}

/// Prints one page.
pub(super) async fn run(ledger: &Ledger, list: &List, as_json: bool) -> anyhow::Result<()> {
    let mut filter = list.which.filter(ledger, list.status.clone(), list.limit).await?;
    filter.unsettled = list.unsettled;
    let dead = list.status.as_deref() == Some("dead_letter");
    if list.by_code {
        if !dead && list.status.is_some() {
            return Err(Exit::Usage("--by-code counts dead letters alone".to_owned()).into());
        }
        return causes::run(ledger, &filter, as_json).await;
    }
    filter.after = list.after.as_deref().map(parse_cursor).transpose()?;
    let page = Operations::new(ledger).jobs_page(&filter).await?;
    if as_json {
        print_json(&json!(page.jobs.iter().map(show::to_json).collect::<Vec<_>>()))?;
    } else {
        let now = ledger.db().now().await?;
        print_page(&page, &filter, now)?;
    }
    if let Some(next) = &page.next {
        // A message, not data: stdout stays one document.
        anstream::eprintln!("more: --after {}", written(next));
    }
    if dead {
        causes::tell(ledger, &filter).await?;
    }
    Ok(())
}

fn print_page(page: &JobsPage, filter: &JobFilter, now: Timestamp) -> anyhow::Result<()> {
    if page.jobs.is_empty() {
        anstream::eprintln!("no such jobs");
        return Ok(());
    }
    let rows = page.jobs.iter().map(|view| row(view, filter.admitted_at(view), now)).collect();
    table::print(&["job", "status", "code", "queue", "failed/crashed", "gen", "age", "user"], rows)
}

fn row(view: &JobView, admitted: Timestamp, now: Timestamp) -> Vec<String> {
    let settled = if view.job.settled_at.is_some() { " (settled)" } else { "" };
    vec![
        view.job.id.to_string(),
        format!("{}{settled}", view.job.state.status()),
        show::code(&view.job).unwrap_or("").to_owned(),
        view.job.queue.to_string(),
        format!("{}/{}", view.job.attempts, view.job.crashes),
        view.job.generation.to_string(),
        ago(admitted, now),
        view.user_id.to_string(),
    ]
}

/// A place in a list, in one word.
fn written(position: &JobCursor) -> String {
    format!("{}.{}", position.at.timestamp_micros(), position.job)
}

fn parse_cursor(word: &str) -> anyhow::Result<JobCursor> {
    let read = || {
        let (micros, id) = word.split_once('.')?;
        let at = Timestamp::from_timestamp_micros(micros.parse().ok()?).filter(|at| is_told(*at))?;
        Some(JobCursor { at, job: JobId::from_text(id.to_owned()) })
    };
    let words = || Exit::Usage(format!("{word} is no place in a list: take it from the page before"));
    read().ok_or_else(|| words().into())
}
