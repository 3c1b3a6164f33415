//! The words of memories and action items, stored behind whatever writes their texts. A text that is new or was changed has none
//! until then: searches compute them.

use db::{Error, array, query, query_as, sql};
use records::UserId;
use sqlx::PgConnection;

use super::{configuration_of, spelling::plain};
use crate::Store;

/// How many of each a search looks at, the newest: their words may be forgotten without a search missing them, for it computes them.
pub(super) const COMPARED: i64 = 2_000;

/// A user some of whose words have to be forgotten: those of memories, action items and conversations that come after these ids.
#[derive(sqlx::FromRow)]
struct ForgettingRow {
    user_id: String,
    memories_forgotten_to: Option<String>,
    items_forgotten_to: Option<String>,
    conversations_forgotten_to: Option<String>,
}

#[derive(sqlx::FromRow)]
struct DueRow {
    is_memory: bool,
    user_id: String,
    id: String,
    text: String,
    language: String,
}

impl Store {
    /// Indexes at most `limit` memories and as many action items, behind the first `passed_over` of each, in one transaction, and returns
    /// how many were due. Cut off, it has done
    /// nothing; said twice, nothing more.
    pub async fn index_things(&self, limit: i64, passed_over: i64) -> Result<usize, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        let due: Vec<DueRow> =
            query_as!("search/due_things.sql", limit, passed_over).fetch_all(&mut *transaction).await?;
        let all = due.len();
        let (memories, items): (Vec<DueRow>, Vec<DueRow>) = due.into_iter().partition(|row| row.is_memory);
        for (sql, rows) in
            [(sql!("search/index_memories.sql"), memories), (sql!("search/index_items.sql"), items)]
        {
            if rows.is_empty() {
                continue;
            }
            sqlx::query(sql)
                .bind(array(&rows, |row| row.user_id.as_str()))
                .bind(array(&rows, |row| row.id.as_str()))
                .bind(array(&rows, |row| row.language.as_str()))
                .bind(array(&rows, |row| configuration_of(&row.language)))
                .bind(array(&rows, |row| spelled(&row.text)))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(all)
    }

    /// Forgets the words of the next memories and action items of a user whose language changed, and of the next conversations of one
    /// for whom a name changed, at most `limit` of each, in one transaction. The first `passed_over` such users are left out. Returns
    /// how many users that was: none is left with none. Cut off, it has done nothing; said twice, nothing more.
    pub async fn forget_more(&self, limit: i64, passed_over: i64) -> Result<usize, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        let found: Option<ForgettingRow> =
            query_as!("search/forgetting.sql", passed_over).fetch_optional(&mut *transaction).await?;
        let Some(row) = found else { return Ok(0) };
        let user = row.user_id.as_str();
        let memories = sql!("search/forget_next_memories.sql");
        let memories =
            forget_next(&mut transaction, memories, user, row.memories_forgotten_to, limit).await?;
        let items = sql!("search/forget_next_items.sql");
        let items = forget_next(&mut transaction, items, user, row.items_forgotten_to, limit).await?;
        let talks = sql!("search/forget_next_conversations.sql");
        let talks = forget_next(&mut transaction, talks, user, row.conversations_forgotten_to, limit).await?;
        query!("search/forgotten_to.sql", user, memories, items, talks).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(1)
    }
}

/// What a text is found by besides its language's rules: nothing where those read every letter of it, so that "the" finds nothing.
fn spelled(text: &str) -> String {
    if text.is_ascii() { String::new() } else { plain(text) }
}

/// Lets the words of a user's memories and action items be stored anew where the user's language becomes another one: of the newest at
/// once, and of all others by and by (`forget_more`), because a user may have more than one statement can change. The user's row is
/// locked.
pub(crate) async fn forget_words(
    connection: &mut PgConnection,
    user: &UserId,
    language: &str,
) -> Result<(), Error> {
    let memories = sql!("search/forget_memories.sql");
    let items = sql!("search/forget_items.sql");
    let memories = forget_newest(connection, memories, user, language).await?;
    let items = forget_newest(connection, items, user, language).await?;
    if memories || items {
        query!("search/begin_forgetting.sql", user, memories, items).execute(connection).await?;
    }
    Ok(())
}

/// Answers whether there may be more than those.
async fn forget_newest(
    connection: &mut PgConnection,
    sql: &'static str,
    user: &UserId,
    language: &str,
) -> Result<bool, Error> {
    let newest = sqlx::query(sql).bind(user.as_str()).bind(language).bind(COMPARED);
    Ok(newest.execute(connection).await?.rows_affected() >= COMPARED.unsigned_abs())
}

/// Goes on `behind` a memory, an action item or a conversation, and answers to which it came; `None`: to the end.
async fn forget_next(
    connection: &mut PgConnection,
    sql: &'static str,
    user: &str,
    behind: Option<String>,
    limit: i64,
) -> Result<Option<String>, Error> {
    let Some(behind) = behind else { return Ok(None) };
    Ok(sqlx::query_scalar(sql).bind(user).bind(behind).bind(limit).fetch_one(connection).await?)
}
