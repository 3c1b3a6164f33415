//! `listen jobs list`.

use clap::Args;
use job::JobId;
use ledger::JobView;
use operations::{JobCursor, JobFilter, Operations};
use records::{Timestamp, UserId};

use super::{causes, filter::Which, show};
use crate::commands::stderr::note;
use crate::{
    commands::{
        paging::{Paging, cursor},
        table::{self, Column, id, number, word},
        times::ago,
    },
    exit::Exit,
    lists::{self, JobLine},
};

/// Which jobs, and how many.
#[derive(Args, Debug)]
pub(super) struct List {
    /// Status: queued, leased, completed, dead_letter or blocked_byok.
    #[arg(long, value_parser = ["queued", "leased", "completed", "dead_letter", "blocked_byok"])]
    status: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Leave out dead letters that wait for no operator: dismissed, superseded, or of a deleted conversation.
    #[arg(long, alias = "unsettled")]
    undismissed: bool,
    /// Count dead letters by failure code instead of listing them.
    #[arg(long, conflicts_with_all = ["after", "limit"])]
    by_code: bool,
    #[command(flatten)]
    paging: Paging,
}

/// Prints one page, of everybody's jobs or of one user's.
pub(super) async fn run(
    shards: &[Operations],
    user: Option<&UserId>,
    list: &List,
    as_json: bool,
) -> anyhow::Result<()> {
    let dead = list.status.as_deref() == Some("dead_letter");
    if list.by_code {
        if !dead && list.status.is_some() {
            return Err(Exit::Usage("--by-code counts dead letters alone".to_owned()).into());
        }
        return causes::run(shards, async |shard| list.filter(shard, user).await, as_json).await;
    }
    let after = list.paging.position()?.map(|(at, id)| JobCursor { at, job: JobId::from_text(id) });
    let after = &after;
    let filter = |shard: Operations| async move {
        let filter = list.filter(&shard, user).await?;
        anyhow::Ok(JobFilter { after: after.clone(), ..filter })
    };
    let mut found = lists::jobs(shards, filter).await?;
    let next = found.cut(list.paging.limit).map(|(place, ..)| cursor(place.at, &place.job));
    if as_json {
        let jobs = found.rows.iter().map(|(.., view)| show::to_json(view));
        table::print_page("jobs", jobs.collect(), next.as_deref())?;
    } else {
        print_page(&found.rows, found.now)?;
        table::say_next(next.as_deref());
    }
    if dead {
        causes::tell(shards, async |shard| list.filter(shard, user).await).await?;
    }
    found.complete()
}

impl List {
    /// What is asked of a shard: one more than is printed, so that it is known whether more follow.
    async fn filter(&self, shard: &Operations, user: Option<&UserId>) -> anyhow::Result<JobFilter> {
        let filter = self.which.filter(shard, self.status.clone(), self.paging.limit + 1).await?;
        Ok(JobFilter { user: user.cloned(), unsettled: self.undismissed, ..filter })
    }
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

fn print_page(jobs: &[JobLine], now: Timestamp) -> anyhow::Result<()> {
    if jobs.is_empty() {
        note!("no such jobs");
        return Ok(());
    }
    let rows = jobs.iter().map(|(_, admitted, view)| row(view, *admitted, now)).collect();
    table::print(&COLUMNS, rows)
}

fn row(view: &JobView, admitted: Timestamp, now: Timestamp) -> Vec<String> {
    let settled = show::settled(view).map(|words| format!(" ({words})")).unwrap_or_default();
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
