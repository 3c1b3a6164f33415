//! Who did what, and why.

use db::Error;
use job::{JobId, Timestamp};
use records::UserId;
use sqlx::{Postgres, QueryBuilder};

use crate::Operations;

/// What operators do, by the names under which it is recorded. A dismissal is recorded as `discard`, its name from before.
pub const ACTIONS: [&str; 22] = [
    "replay",
    "discard",
    "run_now",
    "cancel",
    "pause",
    "resume",
    "recount",
    "bulk_replay",
    "bulk_run_now",
    "bulk_cancel",
    "bulk_discard",
    "pause_bulk",
    "resume_bulk",
    "cancel_bulk",
    "enable_webhook",
    "recover_webhook",
    "redeliver_webhook",
    "try_webhook_now",
    "delete_user",
    "export_user",
    "switch_off_app",
    "switch_on_app",
];

/// What operators call a recorded action.
pub fn action_name(recorded: &str) -> &str {
    match recorded {
        "discard" => "dismiss",
        "bulk_discard" => "bulk_dismiss",
        _ => recorded,
    }
}

/// The recorded actions of a name: what is done to one job is also ordered of many. None: nothing is called so.
pub fn actions_named(name: &str) -> Vec<&'static str> {
    let recorded = |action: &&str| *action == name || action_name(action) == name;
    let of_many = |action: &&str| action.strip_prefix("bulk_").is_some_and(|one| recorded(&one));
    ACTIONS.into_iter().filter(|action| recorded(action) || of_many(action)).collect()
}

/// Which actions to list. Everything that is `None` does not filter.
#[derive(Clone, Debug, Default)]
pub struct ActionFilter {
    pub operator: Option<String>,
    /// Which action, as [`actions_named`] knows it: `replay`, `dismiss`, `pause`, …
    pub action: Option<String>,
    /// On which job: (user, job).
    pub job: Option<(UserId, JobId)>,
    /// About which endpoint or delivery: (user, subject).
    pub about: Option<(UserId, String)>,
    /// Keyset: actions older than this one, (created_at, action id).
    pub before: Option<(Timestamp, String)>,
    pub limit: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ActionView {
    pub action_id: String,
    /// One of [`ACTIONS`].
    pub action: String,
    pub operator: String,
    pub reason: String,
    /// Whose job or endpoint; empty where the action was about the service.
    pub user_id: String,
    pub job_id: Option<String>,
    /// A queue, an operation, an endpoint or an erased user; of a job, the order for many jobs that it was part of.
    pub subject: Option<String>,
    pub from_status: Option<String>,
    pub from_code: Option<String>,
    pub from_generation: Option<i64>,
    pub to_generation: Option<i64>,
    /// Counts of what was done, where the action has some.
    pub detail: Option<String>,
    pub created_at: Timestamp,
    /// The number of its shard, where there are several.
    #[sqlx(skip)]
    pub shard: Option<u16>,
}

impl Operations {
    /// A page of actions, newest first. What an order for many jobs did to each is listed with the job alone.
    pub async fn actions(&self, filter: &ActionFilter) -> Result<Vec<ActionView>, Error> {
        let mut query: QueryBuilder<Postgres> =
            QueryBuilder::new("select * from operator_actions where true");
        if let Some(operator) = &filter.operator {
            query.push(" and operator = ").push_bind(operator.clone());
        }
        if let Some(action) = &filter.action {
            query.push(" and action = any(").push_bind(actions_named(action)).push(")");
        }
        if let Some((user, job)) = &filter.job {
            query.push(" and user_id = ").push_bind(user.as_str().to_owned());
            query.push(" and job_id = ").push_bind(job.as_str().to_owned());
        }
        if let Some((user, subject)) = &filter.about {
            query.push(" and user_id = ").push_bind(user.as_str().to_owned());
            query.push(" and subject = ").push_bind(subject.clone());
        }
        if filter.job.is_none() && filter.about.is_none() {
            // An order for many jobs is one action, however many jobs it changed.
            query.push(" and not (job_id is not null and subject is not null)");
        }
        if let Some((at, id)) = &filter.before {
            query.push(" and (created_at, action_id) < (").push_bind(*at);
            query.push(", ").push_bind(id.clone()).push(")");
        }
        query.push(" order by created_at desc, action_id desc limit ").push_bind(filter.limit);
        let mut actions: Vec<ActionView> = query.build_query_as().fetch_all(self.db.pool()).await?;
        let shard = self.db.shard();
        for action in &mut actions {
            action.shard = (!shard.is_only()).then_some(shard.number);
        }
        Ok(actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_name_finds_orders_for_one_and_for_many() {
        assert_eq!(actions_named("dismiss"), ["discard", "bulk_discard"]);
        assert_eq!(actions_named("discard"), ["discard", "bulk_discard"]);
        assert_eq!(actions_named("bulk_dismiss"), ["bulk_discard"]);
        assert_eq!(actions_named("cancel"), ["cancel", "bulk_cancel"]);
        assert_eq!(actions_named("pause"), ["pause"]);
        assert_eq!(actions_named("foo"), [""; 0]);
        for action in ACTIONS {
            assert!(actions_named(action_name(action)).contains(&action), "{action}");
        }
    }
}
