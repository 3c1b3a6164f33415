//! The session inside the server that stops it once it has no client left.
//!
//! It is a `DO` block that looks four times a second whether other clients are connected. Its own
//! client leaves as soon as it runs: PostgreSQL notices that only when it writes to the client, which
//! the block never does. It commits at every look, so it holds no snapshot and does not keep vacuum
//! from its work.
//!
//! No client joins a dying server: a joining client holds the presence lock shared, and the reaper needs it
//! for itself, and one more look, before it stops the server; it keeps it until it dies of that.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions};

/// The first key of both advisory locks; they live in the database `postgres`.
pub(crate) const LOCKS: i32 = 0x6c69_7374;

/// The lock that every [`crate::Running`] holds shared.
pub(crate) const PRESENCE: i32 = 1;

/// The lock that the reaper holds as long as it is there.
const REAPER: i32 = 2;

/// Between two looks.
const TICK: Duration = Duration::from_millis(250);

/// Makes sure that there is a reaper; `linger` is for a new one.
pub(crate) async fn ensure(
    session: &mut PgConnection,
    options: &PgConnectOptions,
    linger: Duration,
) -> Result<(), sqlx::Error> {
    if is_there(session).await? {
        return Ok(());
    }
    let mut reaper = options.clone().application_name("reaper").connect().await?;
    let block = sqlx::raw_sql(AssertSqlSafe(block(linger)));
    tokio::select! {
        // It ends only by an error, or because another one has the lock, which is as good.
        ended = block.execute(&mut reaper) => ended.map(drop),
        seen = appears(session) => seen,
    }
}

async fn appears(session: &mut PgConnection) -> Result<(), sqlx::Error> {
    while !is_there(session).await? {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

async fn is_there(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let query = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
             AND classid::bigint = $1 AND objid::bigint = $2)",
    );
    query.bind(i64::from(LOCKS)).bind(i64::from(REAPER)).fetch_one(session).await
}

/// `COPY` runs the shell for `kill`; with no rows to write, it cannot fail on a pipe that is closed.
/// SIGINT is a fast shutdown: it ends sessions, writes a checkpoint, and takes a few milliseconds.
fn block(linger: Duration) -> String {
    let ticks = linger.as_millis().div_ceil(TICK.as_millis());
    let tick = TICK.as_secs_f64();
    format!(
        r"DO $reaper$
        DECLARE
            quiet bigint := 0;
            clients bigint;
        BEGIN
            IF NOT pg_try_advisory_lock({LOCKS}, {REAPER}) THEN
                RETURN;
            END IF;
            LOOP
                SELECT count(*) INTO clients FROM pg_stat_activity
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();
                IF clients > 0 THEN
                    quiet := 0;
                ELSIF quiet < {ticks} THEN
                    quiet := quiet + 1;
                ELSIF pg_try_advisory_lock({LOCKS}, {PRESENCE}) THEN
                    COMMIT;
                    SELECT count(*) INTO clients FROM pg_stat_activity
                     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();
                    IF clients = 0 THEN
                        EXECUTE format('COPY (SELECT WHERE false) TO PROGRAM %L',
                            'kill -INT ' || split_part(pg_read_file('postmaster.pid'), E'\n', 1));
                        PERFORM pg_sleep(60);
                    END IF;
                    PERFORM pg_advisory_unlock({LOCKS}, {PRESENCE});
                    quiet := 0;
                END IF;
                COMMIT;
                PERFORM pg_sleep({tick});
            END LOOP;
        END
        $reaper$"
    )
}
