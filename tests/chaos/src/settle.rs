//! The end of a run: no faults any more, and every job must reach a terminal state.

use std::time::Duration;

use reqwest::Method;
use tokio::time::{Instant, sleep};

use crate::model::{KEY, OWN_KEY, PROVIDER_WORDS, REFUSED_KEY};
use crate::operator;
use crate::world::World;

/// How long that may take: a back-off, a lease, a pass, and the work itself.
const PATIENCE: Duration = Duration::from_secs(150);

/// The newest revision's dead letters and parked jobs, which their owners finalize again: with their keys, if they have any.
const DEAD: &str = "select j.user_id, j.conversation_id, c.status = 'completed' from finalization_jobs j \
     join conversations c using (user_id, conversation_id) \
     where j.revision = c.finalization_revision and ((j.status = 'dead_letter' and not j.requires_keys) \
         or (j.status in ('dead_letter', 'blocked_byok') and j.user_id like 'keyed%')) limit 200";

/// What is not at rest: jobs by status (parked ones of people who never bring keys wait for them, as they should), the
/// number of dead letters above, and the number of other things under way: tries of deliveries and pushes, reminders whose
/// moment is near, live conversations and those without a result, bulk replays and what they replayed. It is one
/// statement, so it sees one moment: a live conversation that ends between two statements is missed by both.
fn left() -> String {
    format!(
        "select (select coalesce(string_agg(status || ' ' || n, ', '), '') from (select status, count(*) n \
                 from finalization_jobs where status in ('queued', 'leased') \
                     or (status = 'blocked_byok' and user_id like 'keyed%') group by 1) t), \
             (select count(*) from ({DEAD}) t), \
             (select count(*) from webhook_deliveries where status = 'sending') \
             + (select count(*) from push_deliveries where status = 'sending') \
             + (select count(*) from reminders where fire_at is not null) \
             + (select count(*) from conversations \
                 where status in ('in_progress', 'processing') and user_id like 'speaker%') \
             + (select count(*) from replay_operations where status in ('running', 'paused') \
                 or completed + died_again + parked < replayed)"
    )
}

/// Waits until nothing is under way and no dead letter is left that can be helped; answers what did not come to rest.
pub(crate) async fn settle(world: &World) -> Option<String> {
    world.plan.say("nothing is broken any more; everything comes to rest");
    let begun = Instant::now();
    operator::replay(world, 5).await;
    loop {
        finalize_dead(world).await;
        operator::resume(world).await;
        world.fleet.look().await;
        let left: Result<(String, i64, i64), _> =
            sqlx::query_as(sqlx::AssertSqlSafe(left())).fetch_one(&world.pool).await;
        match left {
            Ok((jobs, 0, 0)) if jobs.is_empty() => return None,
            left if begun.elapsed() > PATIENCE => {
                return Some(format!(
                    "after {} s, (jobs, dead letters, other things under way): {left:?}",
                    PATIENCE.as_secs()
                ));
            }
            _ => sleep(Duration::from_millis(250)).await,
        }
    }
}

async fn finalize_dead(world: &World) {
    let dead: Vec<(String, String, bool)> =
        sqlx::query_as(DEAD).fetch_all(&world.pool).await.unwrap_or_default();
    for (user, conversation, stays) in dead {
        let Some(person) = world.people.iter().chain(&world.speakers).find(|person| person.id == user) else {
            continue;
        };
        let Some(address) = world.fleet.addresses().into_iter().next() else { return };
        // A completed conversation is finalized already: its dead letter is of a reprocess.
        let verb = if stays { "reprocess" } else { "finalize" };
        let url = format!("{}/v1/conversations/{conversation}/{verb}", address.api);
        let extra = [person.model_key.as_deref(), None];
        world.client.ask_with(Method::POST, &url, &person.key, extra, None).await;
    }
}

/// Leaks of users' words, keys or provider texts into a log, a metric, or a table that is not meant for them. Every
/// conversation of the run has `zq` and a number in its words.
pub(crate) async fn leaks(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(world.fleet.logs()).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        found.extend(canary_in(world, &text).map(|canary| format!("{canary} in {}", entry.path().display())));
    }
    for address in world.fleet.addresses() {
        let text = world.client.page(&format!("{}/metrics", address.admin)).await.unwrap_or_default();
        found.extend(
            canary_in(world, &text).map(|canary| format!("{canary} in the metrics of {}", address.name)),
        );
    }
    for table in [
        "engine_usage",
        "finalization_jobs",
        "finalization_admissions",
        "operator_actions",
        "replay_operations",
        "replay_items",
        "reminders",
        "push_deliveries",
    ] {
        let dump = format!("select coalesce(string_agg(t::text, '\n'), '') from {table} t");
        let text: Result<String, _> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(dump)).fetch_one(&world.pool).await;
        found
            .extend(canary_in(world, &text.unwrap_or_default()).map(|canary| format!("{canary} in {table}")));
    }
    found
}

fn canary_in<'a>(world: &'a World, text: &str) -> Option<&'a str> {
    let keys = world.people.iter().chain(&world.speakers).map(|person| person.key.as_str());
    ["zq0", KEY, OWN_KEY, REFUSED_KEY, PROVIDER_WORDS]
        .into_iter()
        .chain(keys)
        .find(|canary| text.contains(canary))
}
