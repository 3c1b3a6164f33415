//! Goals: at most three of a person's are active, also when two are made at once.

mod change;
mod progress;
mod row;

use records::{Goal, GoalId, GoalType, Timestamp, UserId};
use sqlx::PgConnection;

use self::row::GoalRow;
pub use self::{
    change::{GoalChange, GoalRefusal},
    progress::GoalPoint,
};
use crate::Store;
use db::{Error, idempotency::forget_answers, lock_user};

/// How many goals besides the newest are active at most: three in all (spec, "Limits").
const OTHERS: i64 = 2;

/// A goal to be created; it is active.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGoal {
    pub id: GoalId,
    /// 1–500 characters.
    pub title: String,
    pub goal_type: GoalType,
    pub target_value: f64,
    pub current_value: f64,
    pub min_value: f64,
    pub max_value: f64,
    pub unit: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoalFilter {
    pub limit: i64,
    pub offset: i64,
    /// Those that are not active, too.
    pub include_inactive: bool,
}

impl Store {
    /// A page of goals: active ones first, oldest first, then by id.
    pub async fn goals(&self, user: &UserId, filter: &GoalFilter) -> Result<Vec<Goal>, Error> {
        let rows: Vec<GoalRow> = sqlx::query_as(include_str!("../sql/goals/list.sql"))
            .bind(user.as_str())
            .bind(filter.include_inactive)
            .bind(filter.limit)
            .bind(filter.offset)
            .fetch_all(self.db.pool())
            .await?;
        rows.into_iter().map(Goal::try_from).collect()
    }

    pub async fn goal(&self, user: &UserId, goal: &GoalId) -> Result<Option<Goal>, Error> {
        let row: Option<GoalRow> = sqlx::query_as(include_str!("../sql/goals/get.sql"))
            .bind(user.as_str())
            .bind(goal.as_str())
            .fetch_optional(self.db.pool())
            .await?;
        row.map(Goal::try_from).transpose()
    }

    /// Stores a goal as an active one; of three others that were active, the oldest no longer is (DECISIONS §3,
    /// "goals"). The person's row is locked first, so that two creators at once never leave four.
    pub async fn create_goal(&self, user: &UserId, new: &NewGoal) -> Result<Goal, Error> {
        let (mut transaction, now) = self.db.begin_creating(&[new.id.as_str()]).await?;
        lock_user(&mut transaction, user).await?;
        let row: GoalRow = sqlx::query_as(include_str!("../sql/goals/insert.sql"))
            .bind(user.as_str())
            .bind(new.id.as_str())
            .bind(&new.title)
            .bind(new.goal_type.as_str())
            .bind(new.target_value)
            .bind(new.current_value)
            .bind(new.min_value)
            .bind(new.max_value)
            .bind(&new.unit)
            .bind(now)
            .fetch_one(&mut *transaction)
            .await?;
        make_room(&mut transaction, user, &new.id, now).await?;
        transaction.commit().await?;
        row.try_into()
    }

    /// Deletes a goal with its history. `false`: no such goal.
    pub async fn delete_goal(&self, user: &UserId, goal: &GoalId) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let deleted = sqlx::query(include_str!("../sql/goals/delete.sql"))
            .bind(user.as_str())
            .bind(goal.as_str())
            .execute(&mut *transaction)
            .await?;
        forget_answers(&mut transaction, user, &[goal.as_str()]).await?;
        transaction.commit().await?;
        Ok(deleted.rows_affected() > 0)
    }
}

/// Deactivates the oldest active ones, so that `newest` makes three at most. The caller holds the person's row.
async fn make_room(
    connection: &mut PgConnection,
    user: &UserId,
    newest: &GoalId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(include_str!("../sql/goals/end_oldest.sql"))
        .bind(user.as_str())
        .bind(newest.as_str())
        .bind(now)
        .bind(OTHERS)
        .execute(connection)
        .await?;
    Ok(())
}
