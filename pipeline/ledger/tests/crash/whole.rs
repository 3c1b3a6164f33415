//! Verbs of one transaction: whatever they are cut off from, all of it is there or nothing, and said again it is there once.
//!
//! What is there is every row of every table that names the person, times and derived ids taken out. It is compared
//! with what stood there before, and with what an uncut verb leaves: there is no third.

use crate::{ENOUGH, Said, is_cut_off, proxy::Cut, recovery, world::World};

/// Cuts `verb` off at every statement. Answers how many fault points it has.
pub(crate) async fn crash_everywhere<V: Said>(verb: V) -> usize {
    let world = World::new().await;
    let (before, done) = uncut(&world, verb).await;
    let (mut points, mut lost) = (0, 0);
    // A session that was idle for long is asked whether it lives, which is a statement more: where that hid the last one,
    // the round is gone once more.
    for (round, cut) in [Cut::Before, Cut::After, Cut::After, Cut::After].into_iter().enumerate() {
        if lost > 0 {
            break;
        }
        for statement in 1..=ENOUGH {
            assert!(statement < ENOUGH, "{verb:?} never ends");
            let person = format!("{verb:?}-{round}-{statement:02}");
            let place = format!("{verb:?}, {cut:?} statement {statement}");
            let scene = verb.prepare(&world, &person).await;
            same(&rows(&world, &person).await, &before, &format!("{place}: another scene"));
            if !is_cut_off(&world, verb, &scene, statement, cut).await {
                same(&rows(&world, &person).await, &done, &format!("{verb:?}, uncut"));
                break;
            }
            points += 1;
            let left = rows(&world, &person).await;
            if left != before {
                same(&left, &done, &format!("{place}: half done"));
            }
            lost += usize::from(left == done);
            if verb.is_set_in_a_sound_world() {
                recovery::check_owners(&world, &place).await;
            }
            if left == before || verb.is_harmless_twice() {
                // A caller without an answer repeats; a refusal is as good.
                let _answered = verb.say(&world.ledger(), &scene).await;
                same(&rows(&world, &person).await, &done, &format!("{place}, said again"));
            }
            verb.afterwards(&world, &scene, &place).await;
        }
    }
    assert!(lost > 0, "{verb:?}: no cut lost the answer of what was done");
    points
}

/// What is there before the verb and after it; it must be another, and the same when it is said again.
async fn uncut<V: Said>(world: &World, verb: V) -> (String, String) {
    let person = format!("{verb:?}-9-00");
    let scene = verb.prepare(world, &person).await;
    let before = rows(world, &person).await;
    let ledger = world.ledger();
    verb.say(&ledger, &scene).await.unwrap();
    let done = rows(world, &person).await;
    assert_ne!(before, done, "{verb:?} changes nothing that is looked at");
    if verb.is_harmless_twice() {
        let _answered = verb.say(&ledger, &scene).await;
        same(&rows(world, &person).await, &done, &format!("{verb:?}, said twice"));
    }
    verb.afterwards(world, &scene, &format!("{verb:?}, uncut")).await;
    (before, done)
}

/// Stops where two pictures differ, and shows in which rows.
fn same(is: &str, wanted: &str, position: &str) {
    let beside = |one: &str, other: &str| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        one.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
    };
    assert!(is == wanted, "{position}: {:#?}\ninstead of {:#?}", beside(is, wanted), beside(wanted, is));
}

/// Every row that names the person, and by how much the totals are off; without times and what is derived from names.
async fn rows(world: &World, person: &str) -> String {
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
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).bind(person).fetch_one(&world.pool).await.unwrap()
}
