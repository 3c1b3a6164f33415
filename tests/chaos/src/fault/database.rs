//! Faults of the database.

use std::time::Duration;

use rand::{RngExt, rngs::StdRng};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::world::World;

/// The tables whose writes may fail as on a full disk.
const WRITTEN: [&str; 11] = [
    "finalization_jobs",
    "finalization_totals",
    "conversations",
    "transcript_segments",
    "action_items",
    "stage_checkpoints",
    "webhook_deliveries",
    "reminders",
    "push_deliveries",
    "request_keys",
    "replay_items",
];

/// Stops the server and starts it again after a while.
pub(super) async fn restart(world: &World, mode: &str, away: Duration) -> Option<u32> {
    world.postgres.stop(mode).await;
    tokio::time::sleep(away).await;
    world.postgres.start().await;
    None
}

/// Makes a synchronous standby, lets both work for a while, kills the primary, and puts the standby in its place.
pub(super) async fn fail_over(world: &World, beside: Duration) -> Option<u32> {
    world.postgres.fail_over(beside).await;
    None
}

/// Ends every session of the service, again and again.
pub(super) async fn terminate(world: &World, hold: Duration) -> Option<u32> {
    for _ in 0..4 {
        end_sessions(world).await;
        tokio::time::sleep(hold / 8).await;
    }
    None
}

async fn end_sessions(world: &World) {
    let end =
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name ~ '^p[0-9]'";
    // A kit that cannot connect now has been quicker than the server: nothing was ended, and nothing is claimed.
    let _ended: Result<i64, _> = sqlx::query_scalar(end).fetch_one(&world.pool).await;
}

/// Takes every free connection of the server, and throws the service's own out once.
pub(super) async fn eat_connections(world: &World, hold: Duration) -> Option<u32> {
    let mut eaten = Vec::new();
    for round in 0..2 {
        while let Ok(connection) = PgConnection::connect(&world.postgres.url("eater")).await {
            eaten.push(connection);
        }
        if round == 0 {
            end_sessions(world).await;
        }
    }
    tokio::time::sleep(hold).await;
    drop(eaten);
    None
}

/// A session that locks jobs, conversations and people, and then does nothing.
pub(super) async fn hold_locks(world: &World, hold: Duration) -> Option<u32> {
    if let Ok(mut session) = world.pool.begin().await {
        for lock in [
            "select 1 from finalization_jobs where status in ('queued', 'leased') limit 30 for update",
            "select 1 from conversations where status = 'processing' limit 30 for update skip locked",
            "select 1 from users for update skip locked",
            "select 1 from webhook_endpoints for update skip locked",
        ] {
            if sqlx::query(lock).execute(&mut *session).await.is_err() {
                return None;
            }
        }
        tokio::time::sleep(hold).await;
        let _gone_either_way = session.rollback().await;
    }
    None
}

/// Writes to some tables fail as they do when the disk is full.
pub(super) async fn fill_disk(world: &World, chance: &mut StdRng, hold: Duration) -> Option<u32> {
    let full: Vec<&str> = WRITTEN.into_iter().filter(|_| chance.random_bool(0.4)).collect();
    let full = if full.is_empty() { vec![WRITTEN[0]] } else { full };
    said(
        sqlx::query("insert into chaos.full_tables select unnest($1::text[])")
            .bind(&full)
            .execute(&world.pool)
            .await,
    );
    tokio::time::sleep(hold).await;
    while sqlx::query("delete from chaos.full_tables").execute(&world.pool).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}

/// What the kit does to its own tables must work.
fn said<T>(done: Result<T, sqlx::Error>) {
    if let Err(error) = done {
        panic!("the kit cannot break the database: {error}");
    }
}
