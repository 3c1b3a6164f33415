//! How far a goal has come: a value now, and one for every UTC day on which one was recorded.

use chrono::NaiveDate;
use db::Error;
use records::{Goal, GoalId, Measure, Timestamp, UserId};

use super::{
    change::GoalRefusal,
    row::{GoalRow, locked},
};
use crate::Store;

/// Where a goal stood on a day: the last value that was recorded on it.
#[derive(Clone, Copy, Debug, PartialEq, sqlx::FromRow)]
pub struct GoalPoint {
    /// The UTC day.
    pub day: NaiveDate,
    pub value: f64,
    pub recorded_at: Timestamp,
}

impl Store {
    /// Sets where a goal stands, and notes it for the day; or says why not: a boolean goal stands at 0 or at 1.
    pub async fn set_goal_progress(
        &self,
        user: &UserId,
        goal: &GoalId,
        value: f64,
    ) -> Result<Result<Goal, GoalRefusal>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(stored) = locked(&mut transaction, user, goal).await? else {
            return Ok(Err(GoalRefusal::NoGoal));
        };
        let told =
            Measure { goal_type: Some(stored.goal_type), current_value: Some(value), ..Measure::default() };
        let faults = told.faults();
        if !faults.is_empty() {
            return Ok(Err(GoalRefusal::Wrong(faults)));
        }
        let row: GoalRow = sqlx::query_as(include_str!("../../sql/goals/set_progress.sql"))
            .bind(user.as_str())
            .bind(goal.as_str())
            .bind(value)
            .bind(now)
            .fetch_one(&mut *transaction)
            .await?;
        // The goal's row is locked by now: of two that tell a value at once, the second one stays in both places.
        sqlx::query(include_str!("../../sql/goals/note_progress.sql"))
            .bind(user.as_str())
            .bind(goal.as_str())
            .bind(value)
            .bind(now)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        row.try_into().map(Ok)
    }

    /// A goal's history of the last `days` UTC days, today included, newest first. `None`: no such goal.
    pub async fn goal_history(
        &self,
        user: &UserId,
        goal: &GoalId,
        days: i32,
    ) -> Result<Option<Vec<GoalPoint>>, Error> {
        if self.goal(user, goal).await?.is_none() {
            return Ok(None);
        }
        let points = sqlx::query_as(include_str!("../../sql/goals/progress.sql"))
            .bind(user.as_str())
            .bind(goal.as_str())
            .bind(days)
            .fetch_all(self.db.pool())
            .await?;
        Ok(Some(points))
    }
}
