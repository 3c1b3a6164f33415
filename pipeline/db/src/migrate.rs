//! The schema, brought up to date.

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, PgPool,
    migrate::{Migrate, MigrateError, Migration, Migrator},
};

use crate::{
    Db, Error, Pooling, Shard, connect::of_one, error::is_of_a_lock, query_as, query_scalar, shard, sql,
};

/// The schema, forward only (`migrations/`).
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

impl Db {
    /// Applies the migrations that are missing. Of several processes that do so at once, each migration is applied by one.
    pub async fn migrate(&self) -> Result<Migrated, Error> {
        self.locate().await?;
        // The lock and the limits of the session would be those of whatever the pooler hands on. A server that has no sessions left for
        // the question says the rest by itself.
        if self.pooling().await.is_ok_and(|found| found != Pooling::Sessions) {
            return Ok(Migrated::Pooled);
        }
        // A migration takes as long as the tables are large.
        let unlimited = of_one(self.locator.writer());
        let migrated = apply_missing(self.shard, &unlimited, &self.pool).await;
        unlimited.close().await;
        Ok(migrated?)
    }

    /// Whether the schema is the one this binary was built for: part of readiness.
    pub async fn is_migrated(&self) -> Result<bool, Error> {
        let newest = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
        let mut session = self.pool.acquire().await?;
        Ok(applied(&mut session).await?.contains(&newest))
    }

    /// Whether the server accepts writes: a standby does not, nor one with `default_transaction_read_only`. A session that
    /// refuses them is not used again.
    pub async fn accepts_writes(&self) -> Result<bool, Error> {
        let mut session = self.pool.acquire().await?;
        let accepts = crate::writes(&mut session).await?;
        if !accepts {
            session.close_on_drop();
        }
        Ok(accepts)
    }
}

/// How a database has to store texts. Others refuse some, or take letters for several.
pub const ENCODING: &str = "UTF8";

/// How the database stores texts.
pub async fn encoding(session: &mut PgConnection) -> Result<String, sqlx::Error> {
    query_scalar!("servers/encoding.sql").fetch_one(session).await
}

/// The state of the schema. Migrations are identified by their versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Migrated {
    /// These were missing and were applied: none, where the schema was up to date.
    Applied(Vec<i64>),
    /// This program's are all there, and so are these of a newer one: nothing was left to be done.
    Newer(Vec<i64>),
    /// Some are missing, and there are others that this program does not know. Which may come first is known to neither:
    /// nothing was done.
    Parted {
        /// This program's that were never applied.
        missing: Vec<i64>,
        /// Those that it does not know.
        unknown: Vec<i64>,
    },
    /// A pooler hands each transaction to another session: nothing was done.
    Pooled,
    /// The database is another shard: nothing was done.
    OtherShard(Shard),
    /// The database is empty, and stores texts in this encoding instead of [`ENCODING`]: nothing was done.
    OtherEncoding(String),
    /// The tables are in another schema than new ones would be made in: the `search_path` has changed. Nothing was done.
    OtherSchema {
        /// Where the tables are.
        holds: String,
        /// Where new ones would be made, if anywhere.
        makes: Option<String>,
    },
}

/// Applies what is missing; where nothing is, this only reads, so that a role without rights to create may ask.
///
/// The session that applies them ends with its pool, and its lock with it; `others` are asked whom it waits for.
async fn apply_missing(shard: Shard, own: &PgPool, others: &PgPool) -> Result<Migrated, sqlx::Error> {
    let mut session = own.acquire().await?;
    session.execute(UNLIMITED).await?;
    lock_migrations(&mut session).await?;
    if let Some(other) = shard::other(shard, &mut session).await? {
        return Ok(Migrated::OtherShard(other));
    }
    if applied(&mut session).await?.is_empty() {
        let found = encoding(&mut session).await?;
        if found != ENCODING {
            return Ok(Migrated::OtherEncoding(found));
        }
    }
    shard::make(shard, &mut session).await?;
    let applied = applied(&mut session).await?;
    let versions = MIGRATOR.iter().map(|migration| migration.version);
    let missing: Vec<i64> = versions.filter(|version| !applied.contains(version)).collect();
    let unknown: Vec<i64> =
        applied.into_iter().filter(|version| !MIGRATOR.version_exists(*version)).collect();
    match (missing.is_empty(), unknown.is_empty()) {
        (true, true) => {
            refuse_other_contents(&mut session).await?;
            Ok(Migrated::Applied(missing))
        }
        (false, true) => {
            if shard.is_only()
                && let Some((holds, makes)) = elsewhere(&mut session).await?
            {
                return Ok(Migrated::OtherSchema { holds, makes });
            }
            let pid = query_scalar!("sessions/pid.sql");
            let pid = pid.fetch_one(&mut *session).await?;
            tokio::select! {
                applied = apply(&missing, &mut session) => applied?,
                never = tell_who_blocks(pid, others) => match never {},
            }
            Ok(Migrated::Applied(missing))
        }
        (true, false) => Ok(Migrated::Newer(unknown)),
        (false, false) => Ok(Migrated::Parted { missing, unknown }),
    }
}

/// The schema of the tables and that of new ones, where they differ.
async fn elsewhere(session: &mut PgConnection) -> Result<Option<(String, Option<String>)>, sqlx::Error> {
    query_as!("migrations/elsewhere.sql").fetch_optional(session).await
}

/// Refuses migrations that were applied with other contents than this program's of the same versions.
async fn refuse_other_contents(session: &mut PgConnection) -> Result<(), sqlx::Error> {
    for applied in session.list_applied_migrations(&MIGRATOR.table_name).await? {
        let own = MIGRATOR.iter().find(|own| own.version == applied.version);
        if own.is_some_and(|own| own.checksum != applied.checksum) {
            return Err(MigrateError::VersionMismatch(applied.version).into());
        }
    }
    Ok(())
}

/// Each in a transaction, unless it says otherwise, and statement by statement: Citus takes no two that change a distributed
/// schema in one call.
async fn apply(missing: &[i64], session: &mut PgConnection) -> Result<(), sqlx::Error> {
    // Makes the table of what was applied, and refuses what is there when it is another version of it.
    let before = missing.first().map(|first| first - 1);
    MIGRATOR.run_direct(before, session, false).await?;
    for migration in MIGRATOR.iter().filter(|migration| missing.contains(&migration.version)) {
        let statements = statements(migration.sql.as_str());
        match migration.no_tx {
            true => {
                drop_leftovers(&statements, session).await?;
                run(migration, &statements, None, session).await?;
            }
            false => run_with_locks(migration, &statements, session).await?,
        }
    }
    Ok(())
}

/// Runs them in a transaction, once each lock is given at once: everybody else queues up behind one that is waited for, as behind a
/// dump for hours.
async fn run_with_locks(
    migration: &Migration,
    statements: &[&'static str],
    session: &mut PgConnection,
) -> Result<(), sqlx::Error> {
    let mut tries = 0_u32;
    loop {
        tries = tries.wrapping_add(1);
        let lock = if tries.is_multiple_of(LONG_EVERY) { LONG_LOCK } else { LOCK };
        let mut transaction = session.begin().await?;
        match run(migration, statements, Some(lock), &mut transaction).await {
            Ok(()) => return transaction.commit().await,
            Err(error) if is_of_a_lock(&error) => {
                transaction.rollback().await?;
                if tries == 1 {
                    tracing::warn!(
                        version = migration.version,
                        "a migration needs a table that transactions of other sessions hold: it asks again and again"
                    );
                }
                tokio::time::sleep(BETWEEN_LOCKS).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Runs them, in a transaction each after `lock`, and notes that the migration was applied.
async fn run(
    migration: &Migration,
    statements: &[&'static str],
    lock: Option<&'static str>,
    session: &mut PgConnection,
) -> Result<(), sqlx::Error> {
    for statement in statements {
        if let Some(lock) = lock {
            // Shorter than the file's own, behind which requests end with 503.
            session.execute(lock).await?;
        }
        let ran = sqlx::raw_sql(*statement).execute(&mut *session).await;
        ran.map_err(|error| MigrateError::ExecuteMigration(error, migration.version))?;
    }
    Ok(session.skip(&MIGRATOR.table_name, migration).await?)
}

/// Drops what a try left that was interrupted: an index that is invalid, or finished and not noted.
async fn drop_leftovers(statements: &[&'static str], session: &mut PgConnection) -> Result<(), sqlx::Error> {
    for index in statements.iter().filter_map(|statement| made_concurrently(statement)) {
        let drop = query_scalar!("migrations/drop_index.sql", index);
        if let Some(drop) = drop.fetch_optional(&mut *session).await? {
            tracing::warn!(index, "a migration was interrupted here: the index is made anew");
            sqlx::raw_sql(AssertSqlSafe::<String>(drop)).execute(&mut *session).await?;
        }
    }
    Ok(())
}

/// The index that a statement makes beside readers and writers.
fn made_concurrently(statement: &str) -> Option<&str> {
    let (_, made) = statement.split_once(" index concurrently ")?;
    made.split_whitespace().next()
}

/// The statements of a file, each with the comments before it. Semicolons in quotes and comments end none.
fn statements(file: &str) -> Vec<&str> {
    let (mut ends, mut quoted, mut commented) = (Vec::new(), false, false);
    for (at, letter) in file.char_indices() {
        match letter {
            '\n' => commented = false,
            _ if commented => {}
            '\'' => quoted = !quoted,
            '-' if !quoted && file[at..].starts_with("--") => commented = true,
            ';' if !quoted => ends.push(at + 1),
            _ => {}
        }
    }
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let statements =
        begins.zip(ends.iter().copied().chain([file.len()])).map(|(begin, end)| file[begin..end].trim());
    statements
        .filter(|statement| statement.lines().any(|line| !line.is_empty() && !line.starts_with("--")))
        .collect()
}

/// What a DBA allows other sessions: it would end a migration of a large table each time anew.
const UNLIMITED: &str =
    "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0";

/// How long a lock is waited for while a transaction changes the schema, and how long others then go on.
const LOCK: &str = "set local lock_timeout = '300ms'";
const BETWEEN_LOCKS: Duration = Duration::from_secs(1);

/// Every so many times it is waited for longer than the server's `deadlock_timeout`, a second, after which it cancels an autovacuum that
/// is in the way: that of a large table takes hours. Requests wait for two seconds.
const LONG_EVERY: u32 = 5;
const LONG_LOCK: &str = "set local lock_timeout = '1500ms'";

/// After how long it is said what is waited for.
const TELLING: Duration = Duration::from_secs(2);

/// Waits until no other process migrates; the lock goes with the session.
///
/// By asking again, because a session that waits inside PostgreSQL for sqlx's own lock holds a snapshot, and
/// `create index concurrently` of the process that migrates waits for every snapshot: a deadlock.
async fn lock_migrations(session: &mut PgConnection) -> Result<(), sqlx::Error> {
    let lock = sql!("migrations/lock.sql");
    let began = Instant::now();
    let mut is_told = false;
    while !sqlx::query_scalar::<_, bool>(lock).fetch_one(&mut *session).await? {
        if !is_told && began.elapsed() >= TELLING {
            is_told = true;
            tracing::warn!(
                "waiting for another session of the database that migrates, or whose pooler kept its lock"
            );
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Says whose transactions the session waits for, such as a dump's, for which an index waits as long as it takes.
async fn tell_who_blocks(pid: i32, others: &PgPool) -> Infallible {
    let mut told = None;
    loop {
        tokio::time::sleep(TELLING).await;
        let who = query_scalar!("migrations/blockers.sql", pid);
        let who: Option<String> = who.fetch_one(others).await.unwrap_or_default();
        if who.is_some() && who != told {
            tracing::warn!(sessions = who, "a migration waits until the transactions of other sessions end");
            told = who;
        }
    }
}

/// The versions of the migrations that were applied.
pub async fn applied(connection: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    // Two statements: one that names a missing table is refused, whatever its `where` says.
    match shard::is_there("_sqlx_migrations", connection).await? {
        false => Ok(Vec::new()),
        true => query_scalar!("migrations/applied.sql").fetch_all(connection).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migration_file_is_split_at_statement_ends() {
        let file = "-- no-transaction\nset a = 1;\n-- two; and\ninsert into b values ('x;y', 'it''s'); -- c's;\n\nselect 1\n;-- end";
        assert_eq!(
            statements(file),
            [
                "-- no-transaction\nset a = 1;",
                "-- two; and\ninsert into b values ('x;y', 'it''s');",
                "-- c's;\n\nselect 1\n;"
            ]
        );
    }

    #[test]
    fn every_migration_without_a_transaction_can_be_tried_again() {
        for migration in MIGRATOR.iter().filter(|migration| migration.no_tx) {
            let statements = statements(migration.sql.as_str());
            let index =
                statements.iter().find_map(|statement| made_concurrently(statement)).unwrap_or_default();
            let is_name = index.len() > 5 && index.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(is_name, "{}: {index}", migration.version);
        }
    }

    #[test]
    fn splitting_migrations_loses_no_text() {
        for migration in MIGRATOR.iter() {
            let file = migration.sql.as_str();
            // Its functions would be taken apart.
            assert!(!file.contains("$$") && !file.contains("/*"), "{}", migration.version);
            let apart = statements(file).concat();
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert!(words(file).starts_with(&words(&apart)), "{}", migration.version);
            assert_eq!(apart.matches(';').count(), file.matches(';').count(), "{}", migration.version);
        }
    }
}
