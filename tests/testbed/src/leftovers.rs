//! Databases of test processes that were killed.
//!
//! Every test process holds an advisory lock on the number in its databases' names. A number whose
//! lock is free has no owner any more. That is true across containers and hosts too, where
//! looking for a process with that number is not.

use std::collections::BTreeSet;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row};

/// The first key of the locks; the second is the number.
const LOCKS: i32 = 0x7465_7374;

/// Takes a number for this process: that of the process, or a larger one where a process of another
/// host has it. It is held as long as the connection.
pub(crate) async fn claim(session: &mut PgConnection) -> i32 {
    let mut number = i32::try_from(std::process::id()).unwrap_or(1);
    while !try_lock(session, number).await {
        number = number.wrapping_add(10_000_000) & i32::MAX;
    }
    number
}

/// Drops the databases of all numbers without an owner, and those that an earlier process of this
/// process's own number left.
pub(crate) async fn drop_all(session: &mut PgConnection, own: i32) {
    let query = sqlx::query(r"SELECT datname FROM pg_database WHERE datname ~ '^t_[0-9]+_[0-9]+$'");
    let rows = query.fetch_all(&mut *session).await.expect("the databases could not be listed");
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let numbers: BTreeSet<i32> = names.iter().filter_map(|name| number_in(name)).collect();
    for number in numbers {
        if number != own && !try_lock(session, number).await {
            continue;
        }
        for name in names.iter().filter(|name| number_in(name) == Some(number)) {
            // Another process may have been quicker, or a session may still be on its way out.
            let statement = AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
            let _left_for_later = sqlx::raw_sql(statement).execute(&mut *session).await;
        }
        if number != own {
            unlock(session, number).await;
        }
    }
}

fn number_in(name: &str) -> Option<i32> {
    name.strip_prefix("t_")?.split('_').next()?.parse().ok()
}

async fn try_lock(session: &mut PgConnection, number: i32) -> bool {
    let query = sqlx::query_scalar("SELECT pg_try_advisory_lock($1, $2)").bind(LOCKS).bind(number);
    query.fetch_one(session).await.expect("the server takes no advisory lock")
}

async fn unlock(session: &mut PgConnection, number: i32) {
    let query = sqlx::query("SELECT pg_advisory_unlock($1, $2)").bind(LOCKS).bind(number);
    query.execute(session).await.expect("the server gives no advisory lock back");
}
