//! Atomicity of operations that are one transaction: wherever the connection is cut, all of it is stored or nothing,
//! and a repeat stores it once.
//!
//! Compared are all rows of all tables that name the user, without times and derived ids, with those before the
//! operation and those after an uncut one.

use crate::{CrashOperation, ENOUGH, is_cut_off, proxy::Cut, recovery, world::World};

/// Cuts the connection at every statement of `operation`, and asserts that it is atomic. Returns the number of fault
/// points.
pub(crate) async fn assert_atomic<O: CrashOperation>(operation: O) -> usize {
    let world = World::new().await;
    let (before, done) = uncut(&world, operation).await;
    let (mut points, mut lost) = (0, 0);
    // A connection that was idle for long is checked first, which is one more statement. Where that hid the last
    // statement, the round is repeated.
    for (round, cut) in [Cut::Before, Cut::After, Cut::After, Cut::After].into_iter().enumerate() {
        if lost > 0 {
            break;
        }
        for statement in 1..=ENOUGH {
            assert!(statement < ENOUGH, "{operation:?} never ends");
            let user_id = format!("{operation:?}-{round}-{statement:02}");
            let position = format!("{operation:?}, {cut:?} statement {statement}");
            let setup = operation.prepare(&world, &user_id).await;
            assert_same(
                &rows(&world, &user_id).await,
                &before,
                &format!("{position}: the state before differs"),
            );
            if !is_cut_off(&world, operation, &setup, statement, cut).await {
                assert_same(&rows(&world, &user_id).await, &done, &format!("{operation:?}, uncut"));
                break;
            }
            points += 1;
            let left = rows(&world, &user_id).await;
            if left != before {
                assert_same(&left, &done, &format!("{position}: half done"));
            }
            lost += usize::from(left == done);
            if operation.keeps_job_rules() {
                recovery::check_owners(&world, &position).await;
            }
            if left == before || operation.is_idempotent() {
                // A caller without an answer repeats the request; a refusal is as good.
                let _answered = operation.execute(&world.ledger(), &setup).await;
                assert_same(&rows(&world, &user_id).await, &done, &format!("{position}, repeated"));
            }
            operation.check_after(&world, &setup, &position).await;
        }
    }
    assert!(lost > 0, "{operation:?}: no cut lost the answer of what was done");
    points
}

/// The rows before and after an uncut operation; they must differ, and a repeat must change nothing.
async fn uncut<O: CrashOperation>(world: &World, operation: O) -> (String, String) {
    let user_id = format!("{operation:?}-9-00");
    let setup = operation.prepare(world, &user_id).await;
    let before = rows(world, &user_id).await;
    let ledger = world.ledger();
    operation.execute(&ledger, &setup).await.unwrap();
    let done = rows(world, &user_id).await;
    assert_ne!(before, done, "{operation:?} changes no row");
    if operation.is_idempotent() {
        let _answered = operation.execute(&ledger, &setup).await;
        assert_same(&rows(world, &user_id).await, &done, &format!("{operation:?}, repeated"));
    }
    operation.check_after(world, &setup, &format!("{operation:?}, uncut")).await;
    (before, done)
}

/// Asserts that two lists of rows are equal, and shows the rows that differ.
fn assert_same(is: &str, wanted: &str, position: &str) {
    let missing_from = |one: &str, other: &str| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        one.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
    };
    assert!(
        is == wanted,
        "{position}: {:#?}\ninstead of {:#?}",
        missing_from(is, wanted),
        missing_from(wanted, is)
    );
}

/// All rows that name the user, and by how much the totals are off; without times and derived ids.
async fn rows(world: &World, user_id: &str) -> String {
    let tables: Vec<String> = sqlx::query_scalar(
        "select tablename::text from pg_tables where schemaname = 'public' and tablename !~ '^_sqlx' order by 1",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let lines: Vec<String> = tables
        .iter()
        .map(|table| format!("select '{table} ' || to_jsonb(t)::text as line from {table} t"))
        .collect();
    let query = format!(
        "select coalesce(string_agg(l, E'\\n' order by l), '') from (select regexp_replace(regexp_replace(regexp_replace( \
             replace(line, $1, 'U'), '\"\\d{{4}}-\\d\\d-\\d\\dT[^\"]*\"', '\"@\"', 'g'), \
             '[0-9a-f]{{8}}-([0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}|[0-9a-f]{{32,}}', '#', 'g'), \
             '([ =])[0-9]{{16}}', '\\1@', 'g') as l \
         from ({}) t where position($1 in line) > 0 \
         union all select 'totals off by ' || coalesce(sum(t.n - (select count(*) from finalization_jobs j \
             where j.status = t.status)), 0) from (select status, sum(jobs) n from finalization_totals group by 1) t) n",
        lines.join(" union all ")
    );
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).bind(user_id).fetch_one(&world.pool).await.unwrap()
}
