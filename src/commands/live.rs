//! `listen live`: conversations that are being recorded.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use store::LiveView;

use super::{
    jobs::filter::ago,
    table::{self, Asked, print_json},
};

/// Look at live conversations: who records, in which process, and when each is processed. Never words.
#[derive(Args, Debug)]
pub(crate) struct Live {
    #[command(flatten)]
    asked: Asked,
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
        /// Maximum number of rows.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
    },
}

/// Runs one verb.
///
/// # Errors
/// When the database does not answer.
pub(crate) async fn run(live: Live) -> anyhow::Result<ExitCode> {
    let ledger = live.asked.ledger()?;
    let Verb::List { user, limit } = live.verb;
    let found = ledger.store().list_live(user.as_deref(), limit).await?;
    if live.asked.json {
        print_json(&found.iter().map(as_json).collect::<Value>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        anstream::eprintln!("no live conversations");
        return Ok(ExitCode::SUCCESS);
    }
    let now = ledger.db().now().await?;
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
    table::print(&["id", "user", "process", "connected", "segments", "last active", "ends"], rows.collect())?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(live: &LiveView) -> Value {
    json!({
        "conversation_id": live.conversation_id,
        "user_id": live.user_id,
        "process": live.live_process,
        "connected_at": live.live_since,
        "opened": live.live_epoch,
        "created_at": live.created_at,
        "last_activity_at": live.last_activity_at,
        "process_after": live.process_after,
        "segments": live.segments,
    })
}
