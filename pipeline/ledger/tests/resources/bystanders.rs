//! What an operation must not touch: everything of other users and other objects.

use sqlx::AssertSqlSafe;

use crate::world::World;

/// All rows of the tables with a `user_id`, as text, but those of Ann's for which `mine` holds; it is asked for each
/// table, and speaks of a row as `t`.
pub(crate) async fn rows<'a>(world: &World, mine: impl Fn(&str) -> &'a str) -> String {
    let tables: Vec<String> = world
        .list(
            "select table_name::text from information_schema.columns where table_schema = 'public' \
             and column_name = 'user_id' order by 1",
        )
        .await;
    let mut all = String::new();
    for table in tables {
        let mine = mine(&table);
        let query = format!(
            "select coalesce(jsonb_agg(t order by t::text)::text, '') \
             from (select to_jsonb(r) as t from {table} r) rows \
             where not (t ->> 'user_id' = 'ann' and ({mine}))"
        );
        let rows: String = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&world.pool).await.unwrap();
        all.push_str(&format!("{table}: {rows}\n"));
    }
    all
}

/// Runs `verb`, and holds everything but what `mine` describes against what it was.
pub(crate) async fn spared<'a, T>(
    world: &World,
    mine: impl Fn(&str) -> &'a str + Copy,
    verb: impl Future<Output = T>,
) -> T {
    let before = rows(world, mine).await;
    let done = verb.await;
    assert_eq!(before, rows(world, mine).await);
    done
}
