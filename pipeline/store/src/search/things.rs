//! The words of memories and action items, stored behind whatever writes their texts. A text that is new or was changed has none
//! until then: searches compute them.

use db::Error;
use records::UserId;
use sqlx::PgConnection;

use super::configuration_of;
use crate::Store;

#[derive(sqlx::FromRow)]
struct DueRow {
    is_memory: bool,
    user_id: String,
    id: String,
    language: String,
}

impl Store {
    /// Indexes at most `limit` memories and as many action items in one transaction, and returns how many were due. Cut off, it has
    /// done nothing; said twice, nothing more.
    pub async fn index_things(&self, limit: i64) -> Result<usize, Error> {
        let mut transaction = self.db.begin_without_clock().await?;
        let due: Vec<DueRow> = sqlx::query_as(include_str!("../../sql/search/due_things.sql"))
            .bind(limit)
            .fetch_all(&mut *transaction)
            .await?;
        let all = due.len();
        let (memories, items): (Vec<DueRow>, Vec<DueRow>) = due.into_iter().partition(|row| row.is_memory);
        for (sql, rows) in [
            (include_str!("../../sql/search/index_memories.sql"), memories),
            (include_str!("../../sql/search/index_items.sql"), items),
        ] {
            if rows.is_empty() {
                continue;
            }
            sqlx::query(sql)
                .bind(rows.iter().map(|row| row.user_id.as_str()).collect::<Vec<_>>())
                .bind(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>())
                .bind(rows.iter().map(|row| row.language.as_str()).collect::<Vec<_>>())
                .bind(rows.iter().map(|row| configuration_of(&row.language)).collect::<Vec<_>>())
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(all)
    }
}

/// Lets the words of a user's memories and action items be stored anew where the user's language becomes another one. The user's row
/// is locked.
pub(crate) async fn forget_words(
    connection: &mut PgConnection,
    user: &UserId,
    language: &str,
) -> Result<(), Error> {
    // Also those that are due already: this waits for a process that indexes them by the old rules.
    for sql in [
        include_str!("../../sql/search/forget_memories.sql"),
        include_str!("../../sql/search/forget_items.sql"),
    ] {
        sqlx::query(sql).bind(user.as_str()).bind(language).execute(&mut *connection).await?;
    }
    Ok(())
}
