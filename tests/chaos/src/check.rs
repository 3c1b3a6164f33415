//! The checker: rules over the kit's logs, the history and the tables. Each rule is a query that returns the rows which violate
//! it, as text.

mod answers;
mod appends;
mod bulks;
mod effects;
mod history;
mod idempotency;
mod keys;
mod live;
mod pushes;
mod tables;

use sqlx::PgPool;
use sqlx::postgres::PgPool as Pool;

use crate::journal::Journal;
use crate::world::World;

/// A rule, and the query that finds its violations (one column of text).
pub(crate) type Rule = (&'static str, &'static str);

/// How many offending rows of one rule are shown.
const SHOWN: usize = 8;

/// Every violated rule, with offending rows.
pub(crate) async fn all(pool: &PgPool) -> Vec<(&'static str, String)> {
    let mut broken = Vec::new();
    for (rule, query) in rules() {
        let rows: Vec<String> =
            sqlx::query_scalar(query).fetch_all(pool).await.unwrap_or_else(|error| panic!("{rule}: {error}"));
        let more = rows.len().saturating_sub(SHOWN);
        broken.extend(rows.into_iter().take(SHOWN).map(|row| (rule, row)));
        if more > 0 {
            broken.push((rule, format!("and {more} more")));
        }
    }
    broken
}

/// How many rules there are.
pub(crate) fn count() -> usize {
    rules().count()
}

fn rules() -> impl Iterator<Item = Rule> {
    let made = [idempotency::RULES, appends::RULES, pushes::RULES, bulks::RULES, live::RULES];
    [history::RULES, answers::RULES, effects::RULES, keys::RULES, tables::RULES]
        .into_iter()
        .chain(made)
        .flatten()
        .copied()
}

/// Writes the kit's own log into its tables, so that rules can join it with the others.
pub(crate) async fn write_down(world: &World) {
    let (pool, journal) = (&world.pool, &world.journal);
    write_answers(pool, journal, world.origin).await;
    write_posts(pool, journal, world.origin).await;
    write_calls(pool, journal, world.origin).await;
    write_named(pool, journal, world.origin).await;
    write_added(pool, journal).await;
    live::write_spoken(pool, journal).await;
    write_pushed(pool, journal, world.origin).await;
    let said = journal.said.all();
    let insert = sqlx::query(
        "insert into chaos.said select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bool[])",
    )
    .bind(said.iter().map(|said| said.number).collect::<Vec<_>>())
    .bind(said.iter().map(|said| said.user.clone()).collect::<Vec<_>>())
    .bind(said.iter().map(|said| said.conversation.clone()).collect::<Vec<_>>())
    .bind(said.iter().map(|said| said.noise).collect::<Vec<_>>());
    insert.execute(pool).await.expect("the kit can write its own tables");
    let broken = journal.broken.all();
    let insert = sqlx::query(
        "insert into chaos.broken select name, to_timestamp($1 + began), to_timestamp($1 + lifted), pid \
         from unnest($2::text[], $3::float8[], $4::float8[], $5::bigint[]) t (name, began, lifted, pid)",
    )
    .bind(world.origin)
    .bind(broken.iter().map(|broken| broken.name).collect::<Vec<_>>())
    .bind(broken.iter().map(|broken| broken.began).collect::<Vec<_>>())
    .bind(broken.iter().map(|broken| broken.lifted).collect::<Vec<_>>())
    .bind(broken.iter().map(|broken| broken.pid.map(i64::from)).collect::<Vec<_>>());
    insert.execute(pool).await.expect("the kit can write its own tables");
    let ran = journal.ran.all();
    let insert = sqlx::query("insert into chaos.ran select * from unnest($1::text[], $2::bigint[])")
        .bind(ran.iter().map(|ran| ran.name.clone()).collect::<Vec<_>>())
        .bind(ran.iter().map(|ran| i64::from(ran.pid)).collect::<Vec<_>>());
    insert.execute(pool).await.expect("the kit can write its own tables");
}

async fn write_answers(pool: &Pool, journal: &Journal, origin: f64) {
    let all = journal.answers.all();
    sqlx::query(
        "insert into chaos.answers select to_timestamp($1 + sent), to_timestamp($1 + at), u, c, verb, status, word, p \
         from unnest($2::float8[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::int[], $8::text[], $9::text[]) \
             t (sent, at, u, c, verb, status, word, p)",
    )
    .bind(origin)
    .bind(all.iter().map(|answer| answer.sent).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.at).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.user.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.conversation.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.verb).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.status).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.word.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|answer| answer.process.clone()).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}

async fn write_posts(pool: &Pool, journal: &Journal, origin: f64) {
    let all = journal.posts.all();
    sqlx::query(
        "insert into chaos.posts select to_timestamp($1 + at), endpoint, delivery, event, signed, digest, status \
         from unnest($2::float8[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::bigint[], $8::int[]) \
             t (at, endpoint, delivery, event, signed, digest, status)",
    )
    .bind(origin)
    .bind(all.iter().map(|post| post.at).collect::<Vec<_>>())
    .bind(all.iter().map(|post| post.endpoint.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|post| post.delivery.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|post| post.event.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|post| post.signed).collect::<Vec<_>>())
    .bind(all.iter().map(|post| post.digest).collect::<Vec<_>>())
    .bind(all.iter().map(|post| post.status).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}

async fn write_calls(pool: &Pool, journal: &Journal, origin: f64) {
    let all = journal.calls.all();
    sqlx::query(
        "insert into chaos.calls select to_timestamp($1 + at), number, stage, mood, key_of, words \
         from unnest($2::float8[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[]) \
             t (at, number, stage, mood, key_of, words)",
    )
    .bind(origin)
    .bind(all.iter().map(|call| call.at).collect::<Vec<_>>())
    .bind(all.iter().map(|call| call.number).collect::<Vec<_>>())
    .bind(all.iter().map(|call| call.stage.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|call| call.mood).collect::<Vec<_>>())
    .bind(all.iter().map(|call| call.key_of.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|call| call.words.clone()).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}

async fn write_named(pool: &Pool, journal: &Journal, origin: f64) {
    let all = journal.named.all();
    sqlx::query(
        "insert into chaos.named select to_timestamp($1 + at), u, name, makes, number, status, made, p \
         from unnest($2::float8[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::int[], $8::text[], $9::text[]) \
             t (at, u, name, makes, number, status, made, p)",
    )
    .bind(origin)
    .bind(all.iter().map(|named| named.at).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.user.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.name.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.makes).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.number).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.status).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.made.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|named| named.process.clone()).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}

async fn write_added(pool: &Pool, journal: &Journal) {
    let all = journal.added.all();
    sqlx::query(
        "insert into chaos.added select * from unnest($1::text[], $2::text[], $3::text[], $4::int[])",
    )
    .bind(all.iter().map(|added| added.user.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|added| added.conversation.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|added| added.word.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|added| added.status).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}

async fn write_pushed(pool: &Pool, journal: &Journal, origin: f64) {
    let all = journal.pushed.all();
    sqlx::query(
        "insert into chaos.pushed select to_timestamp($1 + at), endpoint, delivery, item, due_at, status \
         from unnest($2::float8[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[]) \
             t (at, endpoint, delivery, item, due_at, status)",
    )
    .bind(origin)
    .bind(all.iter().map(|pushed| pushed.at).collect::<Vec<_>>())
    .bind(all.iter().map(|pushed| pushed.endpoint.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|pushed| pushed.delivery.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|pushed| pushed.item.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|pushed| pushed.due_at.clone()).collect::<Vec<_>>())
    .bind(all.iter().map(|pushed| pushed.status).collect::<Vec<_>>())
    .execute(pool)
    .await
    .expect("the kit can write its own tables");
}
