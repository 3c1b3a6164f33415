//! `listen jobs watch`: the queues, or one job, as they change.

mod queues;

use std::time::Duration;

use clap::Args;
use job::JobId;
use ledger::Event;
use operations::Operations;
use serde_json::json;

use super::{no_job, show};
use crate::commands::{
    outage::Outage,
    over_shards::each,
    stdout::{plain, say, unread},
    table::{print_line, wrapped},
    times::time,
};

/// What to watch, and how often to look.
#[derive(Args, Debug)]
pub(super) struct Watch {
    /// A job; the command ends with it. Without: a line for all queues whenever something changed, and while
    /// a ready job waits.
    pub(super) id: Option<String>,
    /// Interval between two reads [seconds].
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// End after this many reads; by default on Ctrl-C or when the output is closed.
    #[arg(long, value_name = "N")]
    looks: Option<u64>,
}

/// Watches a job until it has ended.
pub(super) async fn job(
    operations: &Operations,
    watch: &Watch,
    id: &str,
    as_json: bool,
) -> anyhow::Result<()> {
    until_ended(watch_job(operations, watch, id, as_json)).await
}

/// Watches the queues, over all of the shards that answer.
pub(super) async fn queues(shards: &[Operations], watch: &Watch, as_json: bool) -> anyhow::Result<()> {
    each(shards, async |_| Ok(())).await?;
    until_ended(queues::watch(shards, watch, as_json)).await
}

/// Watches until there is nothing more to see, the output is closed (`| head -1`), or until Ctrl-C.
async fn until_ended(watching: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::select! {
        watched = watching => watched,
        () = unread() => Ok(()),
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

impl Watch {
    /// The numbers of the looks, with the wait between them.
    async fn wait(&self, look: u64) -> bool {
        if self.looks.is_some_and(|looks| look >= looks) {
            return false;
        }
        tokio::time::sleep(Duration::from_secs(self.every)).await;
        true
    }
}

/// Prints every edge once, those of the past first.
async fn watch_job(operations: &Operations, watch: &Watch, id: &str, as_json: bool) -> anyhow::Result<()> {
    let id = JobId::from_text(super::whole(operations, id).await?);
    let mut seen = 0;
    let mut said = String::new();
    let mut outage = Outage::default();
    for look in 1.. {
        let Some(page) = outage.retry(operations.job_page(&id).await)? else {
            if watch.wait(look).await {
                continue;
            }
            break;
        };
        let page = page.ok_or_else(|| no_job(id.as_str()))?;
        for event in page.history.iter().filter(|event| event.version > seen) {
            tell_event(event, as_json)?;
        }
        seen = page.history.last().map_or(seen, |event| event.version.max(seen));
        let guard = page.why.guard().to_owned();
        if guard != said {
            match as_json {
                true => print_line(&json!({ "guard": guard, "sentence": page.why.to_string() })),
                false => say!("{}", wrapped(&format!("{}  ", time(page.at)), &plain(&page.why))),
            }?;
            said = guard;
        }
        if page.view.job.state.is_terminal() || !watch.wait(look).await {
            break;
        }
    }
    Ok(())
}

fn tell_event(event: &Event, as_json: bool) -> anyhow::Result<()> {
    match as_json {
        true => print_line(&show::event_json(event)),
        false => say!("{}", show::event_lines("", event)),
    }
}
