//! Constraints: every CHECK, unique and foreign key constraint is broken by a row that breaks it alone; lists in
//! constraints equal the lists in code; every table has a primary key.

use std::collections::{BTreeMap, BTreeSet};

use job::{FailureCode, Origin, Outcome, Queue};
use outbox::Notice;
use records::{GoalType, MemoryCategory, Status, Visibility, WebhookFormat};
use sqlx::{AssertSqlSafe, Postgres, Transaction, postgres::PgDatabaseError};

use crate::world::World;

pub(crate) mod rows;

use rows::{InvalidRow, OF_APPS, OF_DELIVERIES, OF_JOBS, OF_USERS, SEED};

async fn with_a_row_in_every_table() -> World {
    let world = World::new().await;
    world.run(SEED).await;
    world
}

fn invalid_rows() -> impl Iterator<Item = &'static InvalidRow> {
    OF_USERS.iter().chain(OF_JOBS).chain(OF_DELIVERIES).chain(OF_APPS)
}

/// The constraint and table that refuse a statement, with its SQLSTATE; `None` if it succeeds.
async fn refusal(on: &mut Transaction<'_, Postgres>, sql: String) -> Option<(String, String, String)> {
    let error = sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&mut **on).await.err()?;
    let error = error.into_database_error().expect(&sql);
    let error = error.downcast_ref::<PgDatabaseError>();
    let named = |name: Option<&str>| name.unwrap_or_else(|| panic!("{sql}: {error}")).to_owned();
    Some((error.code().to_owned(), named(error.table()), named(error.constraint())))
}

/// Drops a constraint or a unique index.
async fn drop_constraint(on: &mut Transaction<'_, Postgres>, table: &str, rule: &str) {
    let is_index: bool =
        sqlx::query_scalar("select not exists (select from pg_constraint where conname = $1)")
            .bind(rule)
            .fetch_one(&mut **on)
            .await
            .unwrap();
    let sql = match is_index {
        true => format!("drop index {rule}"),
        false => format!("alter table {table} drop constraint {rule}"),
    };
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut **on).await.unwrap();
}

#[tokio::test]
async fn every_constraint_alone_refuses_its_invalid_row() {
    let world = with_a_row_in_every_table().await;
    for (table, rule, set) in invalid_rows() {
        let sql = match set.starts_with("insert") {
            true => (*set).to_owned(),
            false => format!("update {table} set {set}"),
        };
        let mut with = world.pool.begin().await.unwrap();
        let (code, of, by) = refusal(&mut with, sql.clone()).await.unwrap_or_else(|| panic!("{rule}: {sql}"));
        assert_eq!((of.as_str(), by.as_str()), (*table, *rule), "{sql}");
        assert!(["23514", "23505"].contains(&code.as_str()), "{code}: {sql}");
        with.rollback().await.unwrap();
        let mut without = world.pool.begin().await.unwrap();
        drop_constraint(&mut without, table, rule).await;
        assert_eq!(refusal(&mut without, sql.clone()).await, None, "without {rule}: {sql}");
        without.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn every_constraint_has_an_invalid_row() {
    let world = World::new().await;
    let rules: Vec<(String, String)> = world.rows("select c.relname::text, r.conname::text from pg_constraint r join pg_class c on c.oid = r.conrelid \
             where r.connamespace = 'public'::regnamespace and r.contype in ('c', 'u', 'x') \
         union \
         select c.relname::text, i.relname::text from pg_index x join pg_class c on c.oid = x.indrelid \
             join pg_class i on i.oid = x.indexrelid \
             where c.relnamespace = 'public'::regnamespace and x.indisunique and not x.indisprimary").await;
    // Without sqlx's own table of migrations.
    let rules: BTreeSet<_> = rules.into_iter().filter(|(table, _)| !table.starts_with("_sqlx")).collect();
    assert!(rules.len() > 50, "the rules were found");
    let met: BTreeSet<_> =
        invalid_rows().map(|(table, rule, _)| ((*table).to_owned(), (*rule).to_owned())).collect();
    assert_eq!(rules, met);
}

#[tokio::test]
async fn primary_keys_refuse_duplicates() {
    let world = with_a_row_in_every_table().await;
    let tables: Vec<(String, Option<String>)> = world
        .rows(
            "select c.relname::text, r.conname::text from pg_class c \
         left join pg_constraint r on r.conrelid = c.oid and r.contype = 'p' \
         where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like '\\_sqlx%'",
        )
        .await;
    assert!(tables.len() > 25, "the tables were found");
    for (table, key) in tables {
        let key = key.unwrap_or_else(|| panic!("{table} has no primary key"));
        let again = format!("insert into {table} select * from {table} limit 1");
        let mut transaction = world.pool.begin().await.unwrap();
        let refused = refusal(&mut transaction, again).await;
        assert_eq!(refused, Some(("23505".into(), table, key)));
    }
}

#[tokio::test]
async fn foreign_keys_refuse_missing_parents() {
    let world = with_a_row_in_every_table().await;
    // The existing push is of a reminder.
    let of_a_message = "insert into push_deliveries (user_id, subscription_id, delivery_id, message_id, app_name, target, \
             status, next_at, created_at) \
         select user_id, 's', 'm', message_id, 'Tasks', 'main', 'pending', now(), now() from chat_messages limit 1";
    world.run(of_a_message).await;
    let keys: Vec<(String, String, String, bool)> = world.rows("select c.relname::text, r.conname::text, a.attname::text, a.atttypid = 'uuid'::regtype from pg_constraint r \
         join pg_class c on c.oid = r.conrelid \
         join pg_attribute a on a.attrelid = r.conrelid and a.attnum = r.conkey[cardinality(r.conkey)] \
         where r.connamespace = 'public'::regnamespace and r.contype = 'f' order by 1, 2").await;
    assert!(keys.len() > 15, "the keys were found");
    for (table, key, column, is_uuid) in &keys {
        let mut transaction = world.pool.begin().await.unwrap();
        // Without the other foreign keys, as one of the same columns would refuse the row, too.
        for (other, others, ..) in keys.iter().filter(|(_, other, ..)| other != key) {
            drop_constraint(&mut transaction, other, others).await;
        }
        let unknown = if *is_uuid { "ffffffff-0000-0000-0000-000000000000" } else { "unknown" };
        let orphaned = format!(
            "update {table} set {column} = '{unknown}' \
             where {column} is not null or not exists (select from {table} where {column} is not null)"
        );
        let refused = refusal(&mut transaction, orphaned).await;
        assert_eq!(refused, Some(("23503".into(), table.clone(), key.clone())));
    }
}

/// The values that a constraint lists.
async fn listed(world: &World, table: &str, rule: &str) -> BTreeSet<String> {
    let definition: String = sqlx::query_scalar(
        "select pg_get_constraintdef(oid) from pg_constraint where conrelid = $1::regclass and conname = $2",
    )
    .bind(table)
    .bind(rule)
    .fetch_one(&world.pool)
    .await
    .unwrap();
    definition.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

macro_rules! names {
    ($list:ty) => {
        <$list>::ALL.iter().map(|value| value.as_str()).collect::<Vec<_>>()
    };
}

#[tokio::test]
async fn values_in_constraints_equal_those_in_code() {
    let world = World::new().await;
    let lists = BTreeMap::from([
        (("conversations", "status_known"), names!(Status)),
        (("conversations", "visibility_known"), names!(Visibility)),
        (("memories", "memory_category_known"), names!(MemoryCategory)),
        (("goals", "goal_type_known"), names!(GoalType)),
        (("finalization_jobs", "origin_known"), names!(Origin)),
        (("finalization_jobs", "queue_known"), names!(Queue)),
        (("queue_pauses", "queue_known"), names!(Queue)),
        (("finalization_jobs", "outcome_known"), names!(Outcome)),
        (("finalization_jobs", "codes_known"), names!(FailureCode)),
        (
            ("webhook_endpoints", "format_known"),
            [WebhookFormat::Full, WebhookFormat::Thin, WebhookFormat::Bare].map(WebhookFormat::as_str).into(),
        ),
        (("push_deliveries", "push_notice_known"), [Notice::Set, Notice::Due].map(Notice::as_str).into()),
    ]);
    for ((table, rule), names) in lists {
        let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        assert_eq!(listed(&world, table, rule).await, names, "{table}: {rule}");
    }
}
