//! Changing a goal: what is sent is judged together with what is stored, under the lock of its row.

use db::{Error, lock_user};
use records::{Goal, GoalFault, GoalId, GoalType, Measure, UserId};

use super::{
    make_room,
    row::{GoalRow, locked},
};
use crate::Store;

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoalChange {
    /// 1–500 characters.
    pub title: Option<String>,
    /// How it is measured. One that becomes boolean gets the ends 0 and 1.
    pub goal_type: Option<GoalType>,
    pub target_value: Option<f64>,
    pub min_value: Option<f64>,
    pub max_value: Option<f64>,
    /// What is counted; `Some(None)` takes it away.
    pub unit: Option<Option<String>>,
    /// Activating one deactivates the oldest active one, when there are three.
    pub is_active: Option<bool>,
}

/// Why a goal was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoalRefusal {
    /// The person has no such goal.
    NoGoal,
    /// With this change its numbers could not be what they are.
    Wrong(Vec<GoalFault>),
}

impl GoalChange {
    /// The same, with the ends of a goal that becomes boolean where none are sent.
    fn fitted(&self, stored: &Goal) -> Self {
        let becomes_boolean =
            self.goal_type == Some(GoalType::Boolean) && stored.goal_type != GoalType::Boolean;
        let mut fitted = self.clone();
        if becomes_boolean {
            fitted.min_value = self.min_value.or(Some(0.0));
            fitted.max_value = self.max_value.or(Some(1.0));
        }
        fitted
    }

    /// What cannot be once `stored` has changed. A goal that was odd before this change may stay so: only what the
    /// change has to do with is judged.
    fn faults(&self, stored: &Goal) -> Vec<GoalFault> {
        let whole = Measure {
            goal_type: self.goal_type.or(Some(stored.goal_type)),
            target_value: self.target_value.or(Some(stored.target_value)),
            current_value: Some(stored.current_value),
            min_value: self.min_value.or(Some(stored.min_value)),
            max_value: self.max_value.or(Some(stored.max_value)),
        };
        let mut faults = whole.faults();
        faults.retain(|fault| self.judges(*fault));
        faults
    }

    fn judges(&self, fault: GoalFault) -> bool {
        let (min, max) = (self.min_value.is_some(), self.max_value.is_some());
        match fault {
            GoalFault::Target => self.goal_type.is_some() || self.target_value.is_some(),
            GoalFault::Current => self.goal_type.is_some(),
            GoalFault::Min => self.goal_type.is_some() || min,
            GoalFault::Max => self.goal_type.is_some() || max,
            GoalFault::Ends => min || max,
        }
    }
}

impl Store {
    /// Changes a goal, or says why not (DECISIONS §1, "goal"; §3, "goals").
    pub async fn change_goal(
        &self,
        user: &UserId,
        goal: &GoalId,
        change: &GoalChange,
    ) -> Result<Result<Goal, GoalRefusal>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let activates = change.is_active == Some(true);
        if activates {
            lock_user(&mut transaction, user).await?;
        }
        let Some(stored) = locked(&mut transaction, user, goal).await? else {
            return Ok(Err(GoalRefusal::NoGoal));
        };
        let change = change.fitted(&stored);
        let faults = change.faults(&stored);
        if !faults.is_empty() {
            return Ok(Err(GoalRefusal::Wrong(faults)));
        }
        let row: GoalRow = sqlx::query_as(include_str!("../../sql/goals/update.sql"))
            .bind(user.as_str())
            .bind(goal.as_str())
            .bind(now)
            .bind(&change.title)
            .bind(change.goal_type.map(GoalType::as_str))
            .bind(change.target_value)
            .bind(change.min_value)
            .bind(change.max_value)
            .bind(change.unit.is_some())
            .bind(change.unit.clone().flatten())
            .bind(change.is_active)
            .fetch_one(&mut *transaction)
            .await?;
        if activates {
            make_room(&mut transaction, user, goal, now).await?;
        }
        transaction.commit().await?;
        row.try_into().map(Ok)
    }
}
