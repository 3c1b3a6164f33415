//! Goals: at most three of a person's are active, also when two are made at once.

use chrono::NaiveDate;
use db::{Error, lock_user, query, query_as, sql};
use records::{Goal, GoalFault, GoalId, GoalType, Measure, Timestamp, UserId};
use sqlx::PgConnection;

use crate::Store;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoalRefusal {
    NoGoal,
    /// With this change its numbers could not be what they are.
    Wrong(Vec<GoalFault>),
}

/// Where a goal stood on a day: the last value that was recorded on it.
#[derive(Clone, Copy, Debug, PartialEq, sqlx::FromRow)]
pub struct GoalPoint {
    /// The UTC day.
    pub day: NaiveDate,
    pub value: f64,
    pub recorded_at: Timestamp,
}

impl Store {
    /// A page of goals: active ones first, oldest first, then by id.
    pub async fn goals(&self, user: &UserId, filter: &GoalFilter) -> Result<Vec<Goal>, Error> {
        Ok(query_as!("goals/list.sql", user, filter.include_inactive, filter.limit, filter.offset)
            .fetch_all(self.db.pool())
            .await?)
    }

    pub async fn goal(&self, user: &UserId, goal: &GoalId) -> Result<Option<Goal>, Error> {
        Ok(query_as!("goals/get.sql", user, goal).fetch_optional(self.db.pool()).await?)
    }

    /// Stores a goal as an active one; of three others that were active, the oldest no longer is (DECISIONS §3,
    /// "goals"). The person's row is locked first, so that two creators at once never leave four.
    pub async fn create_goal(&self, user: &UserId, new: &NewGoal) -> Result<Goal, Error> {
        let (mut transaction, now) = self.db.begin_creating(&[new.id.as_str()]).await?;
        lock_user(&mut transaction, user).await?;
        let goal = query_as!(
            "goals/insert.sql",
            user,
            new.id.as_str(),
            &new.title,
            new.goal_type.as_str(),
            new.target_value,
            new.current_value,
            new.min_value,
            new.max_value,
            &new.unit,
            now
        )
        .fetch_one(&mut *transaction)
        .await?;
        make_room(&mut transaction, user, &new.id, now).await?;
        transaction.commit().await?;
        Ok(goal)
    }

    /// Deletes a goal with its history. `false`: no such goal.
    pub async fn delete_goal(&self, user: &UserId, goal: &GoalId) -> Result<bool, Error> {
        self.db.delete_of_user(sql!("goals/delete.sql"), user, goal.as_str()).await
    }

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
        let changed = query_as!(
            "goals/update.sql",
            user,
            goal,
            now,
            &change.title,
            change.goal_type.map(GoalType::as_str),
            change.target_value,
            change.min_value,
            change.max_value,
            change.unit.is_some(),
            change.unit.clone().flatten(),
            change.is_active
        )
        .fetch_one(&mut *transaction)
        .await?;
        if activates {
            make_room(&mut transaction, user, goal, now).await?;
        }
        transaction.commit().await?;
        Ok(Ok(changed))
    }

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
        let changed =
            query_as!("goals/set_progress.sql", user, goal, value, now).fetch_one(&mut *transaction).await?;
        // The goal's row is locked by now: of two that tell a value at once, the second one stays in both places.
        query!("goals/note_progress.sql", user, goal, value, now).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Ok(changed))
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
        let points = query_as!("goals/progress.sql", user, goal, days).fetch_all(self.db.pool()).await?;
        Ok(Some(points))
    }
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

/// Deactivates the oldest active ones, so that `newest` makes three at most. The caller holds the person's row.
async fn make_room(
    connection: &mut PgConnection,
    user: &UserId,
    newest: &GoalId,
    now: Timestamp,
) -> Result<(), Error> {
    query!("goals/end_oldest.sql", user, newest.as_str(), now, OTHERS).execute(connection).await?;
    Ok(())
}

/// A person's goal as it stands; its row is locked until the transaction ends. `None`: no such goal.
async fn locked(connection: &mut PgConnection, user: &UserId, goal: &GoalId) -> Result<Option<Goal>, Error> {
    Ok(query_as!("goals/lock.sql", user, goal).fetch_optional(connection).await?)
}
