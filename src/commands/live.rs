//! `listen live`: conversations that are being recorded.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use store::LiveView;

use super::{
    ids,
    paging::Paging,
    table::{self, Column, CommonArgs, id, number, word},
    times::{ago, time},
};
use crate::{commands::stderr::note, lists};

/// Look at live conversations: who records, in which process, and when each is processed. Never words.
#[derive(Args, Debug)]
pub(crate) struct Live {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List live conversations, the next to be processed first.
    List {
        /// Only of this user.
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
}

pub(crate) async fn run(live: Live) -> anyhow::Result<ExitCode> {
    let Verb::List { user, paging } = live.verb;
    let limit = paging.rows()?;
    let (shards, user) = ids::shards_and_user(&live.common, user.as_deref()).await?;
    let mut all = lists::live::<anyhow::Error>(&shards, user.as_ref(), limit).await?;
    let (found, next) = paging.page(std::mem::take(&mut all.rows))?;
    if live.common.json {
        table::print_page("conversations", found.iter().map(as_json).collect(), next.as_deref())?;
        return all.complete().map(|()| ExitCode::SUCCESS);
    }
    if found.is_empty() {
        note!("no live conversations");
        return all.complete().map(|()| ExitCode::SUCCESS);
    }
    let now = all.now;
    let rows = found.into_iter().map(|live| {
        vec![
            live.conversation_id,
            live.user_id,
            live.live_process.unwrap_or_else(|| "(no socket)".to_owned()),
            ago(live.live_since, now),
            live.segments.to_string(),
            ago(live.last_activity_at, now),
            ago(live.process_after, now),
        ]
    });
    table::print(&COLUMNS, rows.collect())?;
    table::say_next(next.as_deref());
    all.complete().map(|()| ExitCode::SUCCESS)
}

/// The conversation, whose it is, and when it ends.
pub(crate) const COLUMNS: [Column; 7] = [
    id("conversation", 0),
    id("user", 1),
    word("process", 4),
    word("connected", 5),
    number("segments", 6),
    word("last active", 3),
    word("ends", 2),
];

fn as_json(live: &LiveView) -> Value {
    json!({
        "conversation_id": live.conversation_id,
        "user_id": live.user_id,
        "process": live.live_process,
        "connected_at": time(live.live_since),
        "opened": live.live_epoch,
        "created_at": time(live.created_at),
        "last_activity_at": time(live.last_activity_at),
        "process_after": time(live.process_after),
        "segments": live.segments,
    })
}
