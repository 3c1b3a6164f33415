//! Operations as operators see and change them.

use db::Error;
use ledger::OperatorAction;

use super::{ReplayChange, ReplayItem, ReplayView};
use crate::Operations;

impl Operations {
    pub async fn replay_operations(&self, limit: i64) -> Result<Vec<ReplayView>, Error> {
        Ok(sqlx::query_as(include_str!("../../sql/replays/list.sql"))
            .bind(limit)
            .fetch_all(self.db.pool())
            .await?)
    }

    pub async fn replay_operation(&self, id: &str) -> Result<Option<ReplayView>, Error> {
        Ok(sqlx::query_as(include_str!("../../sql/replays/get.sql"))
            .bind(id)
            .fetch_optional(self.db.pool())
            .await?)
    }

    /// A page of an operation's items behind `after`, in the order of the list.
    pub async fn replay_items(&self, id: &str, after: i32, limit: i64) -> Result<Vec<ReplayItem>, Error> {
        Ok(sqlx::query_as(include_str!("../../sql/replays/items.sql"))
            .bind(id)
            .bind(after)
            .bind(limit)
            .fetch_all(self.db.pool())
            .await?)
    }

    /// Pauses, resumes or cancels an operation; an executor notices with its next item. One that is resumed can be taken at
    /// once. `None`: no such operation. `Some(false)`: its status does not allow that.
    pub async fn change_replay(
        &self,
        id: &str,
        change: ReplayChange,
        action: &OperatorAction,
    ) -> Result<Option<bool>, Error> {
        let (verb, to) = match change {
            ReplayChange::Pause => ("pause_bulk", "paused"),
            ReplayChange::Resume => ("resume_bulk", "running"),
            ReplayChange::Cancel => ("cancel_bulk", "cancelled"),
        };
        let (mut transaction, now) = self.db.begin().await?;
        let changed = sqlx::query(include_str!("../../sql/replays/change_status.sql"))
            .bind(id)
            .bind(to)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        if changed.rows_affected() == 0 {
            transaction.rollback().await?;
            return Ok(self.replay_operation(id).await?.map(|_| false));
        }
        action.record(&mut transaction, verb, None, id, now).await?;
        transaction.commit().await?;
        Ok(Some(true))
    }
}
