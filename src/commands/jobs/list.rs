//! `listen jobs list`.

use clap::Args;
use job::JobId;
use ledger::JobView;
use operations::{JobCursor, JobFilter, JobsPage, Operations};
use records::Timestamp;

use super::{causes, filter::Which, show};
use crate::commands::times::ago;
use crate::{
    commands::{
        paging::{Paging, cursor},
        table::{self, Column, id, number, word},
    },
    exit::Exit,
};

/// Which jobs, and how many.
#[derive(Args, Debug)]
pub(super) struct List {
    /// Status: queued, leased, completed, dead_letter or blocked_byok.
    #[arg(long, value_parser = ["queued", "leased", "completed", "dead_letter", "blocked_byok"])]
    status: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Leave out dismissed dead letters.
    #[arg(long, alias = "unsettled")]
    undismissed: bool,
    /// Count dead letters by failure code instead of listing them.
    #[arg(long, conflicts_with_all = ["after", "limit"])]
    by_code: bool,
    #[command(flatten)]
    paging: Paging,
}

/// Prints one page.
pub(super) async fn run(operations: &Operations, list: &List, as_json: bool) -> anyhow::Result<()> {
    let mut filter = list.which.filter(operations, list.status.clone(), list.paging.limit).await?;
    filter.unsettled = list.undismissed;
    let dead = list.status.as_deref() == Some("dead_letter");
    if list.by_code {
        if !dead && list.status.is_some() {
            return Err(Exit::Usage("--by-code counts dead letters alone".to_owned()).into());
        }
        return causes::run(operations, &filter, as_json).await;
    }
    filter.after = list.paging.position()?.map(|(at, id)| JobCursor { at, job: JobId::from_text(id) });
    let page = operations.jobs_page(&filter).await?;
    let next = page.next.as_ref().map(|next| cursor(next.at, &next.job));
    if as_json {
        table::print_page("jobs", page.jobs.iter().map(show::to_json).collect(), next.as_deref())?;
    } else {
        let now = operations.db().now().await?;
        print_page(&page, &filter, now)?;
        table::say_next(next.as_deref());
    }
    if dead {
        causes::tell(operations, &filter).await?;
    }
    Ok(())
}

/// The job is copied, its status and its code are looked for.
pub(crate) const COLUMNS: [Column; 8] = [
    id("job", 0),
    word("status", 1),
    word("code", 2),
    word("queue", 6),
    word("failed/crashed", 5),
    number("gen", 7),
    word("age", 3),
    id("user", 4),
];

fn print_page(page: &JobsPage, filter: &JobFilter, now: Timestamp) -> anyhow::Result<()> {
    if page.jobs.is_empty() {
        anstream::eprintln!("no such jobs");
        return Ok(());
    }
    let rows = page.jobs.iter().map(|view| row(view, filter.admitted_at(view), now)).collect();
    table::print(&COLUMNS, rows)
}

fn row(view: &JobView, admitted: Timestamp, now: Timestamp) -> Vec<String> {
    let settled = if view.job.settled_at.is_some() { " (dismissed)" } else { "" };
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
