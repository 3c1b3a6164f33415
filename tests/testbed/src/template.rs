//! The migrated database that the others are copies of.

use db::MIGRATOR;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, postgres::PgConnection};
use tokio::sync::OnceCell;

use crate::bed::Bed;

/// The advisory lock for making a template.
const LOCK: i64 = 0x7465_6d70_6c61_7465;

/// A copy of the migrated template; answers with its name.
pub(crate) async fn clone_of_migrated(bed: &Bed, name: String) -> String {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let template = TEMPLATE.get_or_init(|| ensure(bed)).await;
    create(bed, &name, template).await;
    name
}

/// A copy of another database; answers with its name.
pub(crate) async fn copy(bed: &Bed, name: String, template: String) -> String {
    create(bed, &name, &template).await;
    name
}

/// A database without a schema; answers with its name.
pub(crate) async fn empty(bed: &Bed, name: String) -> String {
    create(bed, &name, "template0").await;
    name
}

/// Copying files beats writing a template through the log (9 against 13 ms). Before PostgreSQL 15
/// that was the only way, and could not be asked for.
async fn create(bed: &Bed, name: &str, template: &str) {
    let mut admin = bed.admin.acquire().await.expect("the tests' PostgreSQL takes no connection");
    let strategy = if admin.server_version_num().unwrap_or(0) >= 150_000 { "STRATEGY FILE_COPY" } else { "" };
    run(&mut admin, format!("CREATE DATABASE {name} TEMPLATE {template} {strategy}")).await;
}

/// Makes the template unless another process has; answers with its name, which says what schema it
/// has: a changed migration has a new template.
async fn ensure(bed: &Bed) -> String {
    let name = template_name();
    let mut session = bed.options().connect().await.expect("the tests' PostgreSQL takes no connection");
    lock(&mut session).await;
    if !exists(&mut session, &name).await {
        make(bed, &mut session, &name).await;
    }
    // Its lock goes with it.
    session.close().await.expect("the session does not end");
    name
}

/// Makes it under another name: a template that is there is whole.
async fn make(bed: &Bed, session: &mut PgConnection, name: &str) {
    run(session, "DROP DATABASE IF EXISTS tpl_new WITH (FORCE)".to_owned()).await;
    run(session, "CREATE DATABASE tpl_new TEMPLATE template0".to_owned()).await;
    let mut inside =
        bed.options().database("tpl_new").connect().await.expect("the template takes no connection");
    // What `run` does (all of them, skipping none), in a form whose future may move between threads.
    MIGRATOR.run_direct(None, &mut inside, false).await.expect("the migrations failed");
    inside.close().await.expect("the session does not end");
    run(session, "ALTER DATABASE tpl_new ALLOW_CONNECTIONS false".to_owned()).await;
    run(session, format!("ALTER DATABASE tpl_new RENAME TO {name}")).await;
}

/// The hash of everything that makes the schema.
fn template_name() -> String {
    let mut digest = Sha256::new();
    for migration in MIGRATOR.iter() {
        digest.update(migration.version.to_be_bytes());
        digest.update(&migration.checksum);
    }
    let hash: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("tpl_{hash}")
}

async fn lock(session: &mut PgConnection) {
    let query = sqlx::query("SELECT pg_advisory_lock($1)").bind(LOCK);
    query.execute(session).await.expect("the server takes no advisory lock");
}

async fn exists(session: &mut PgConnection, name: &str) -> bool {
    let query = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)").bind(name);
    query.fetch_one(session).await.expect("the databases could not be listed")
}

async fn run(session: &mut PgConnection, statement: String) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(session).await;
    if let Err(error) = done {
        panic!("{statement}: {error}");
    }
}
