//! `listen live`: conversations that are being recorded.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use records::Timestamp;
use serde_json::{Value, json};
use store::LiveView;

use super::{
    ids,
    paging::Paging,
    table::{Column, CommonArgs, List, id, number, word},
    times::{ago, time},
};
use crate::lists;

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
    let mut found = lists::live::<anyhow::Error>(&shards, user.as_ref(), limit).await?;
    let next;
    (found.rows, next) = paging.page(found.rows)?;
    let list = List { name: "conversations", none: "no live conversations", columns: &COLUMNS, to_json, row };
    list.print(&found, next.as_deref(), live.common.json)?;
    Ok(ExitCode::SUCCESS)
}

fn row(live: &LiveView, now: Timestamp) -> Vec<String> {
    vec![
        live.conversation_id.clone(),
        live.user_id.clone(),
        live.live_process.clone().unwrap_or_else(|| "(no socket)".to_owned()),
        ago(live.live_since, now),
        live.segments.to_string(),
        ago(live.last_activity_at, now),
        ago(live.process_after, now),
    ]
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

fn to_json(live: &LiveView) -> Value {
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
