//! What an operator orders of all waiting jobs that a filter finds: that they run now.

use axum::response::{IntoResponse, Redirect};
use job::{JobId, Timestamp};
use ledger::OperatorAction;
use operations::{JobFilter, Operations, OrderOfMany};
use tokio::time::Instant;

use super::{
    Acted, Acting, Confirm, Console, Fault, Frame, LONGEST_ORDER, Query, Shown, Undone, Visitor, count,
    filter_form::FilterForm,
    outcome::{Done, Order, Outcome},
    page::nothing,
    words::Sentence,
};
use crate::{
    over_shards::{each, each_alone},
    process::new_id,
};

/// Waiting jobs that one form makes due; what is left is found by the next.
const AT_ONCE: i64 = 1_000;

pub(super) async fn ask(visitor: Visitor, console: Console, Query(form): Query<FilterForm>) -> Shown {
    let reached = console.reached(form.user().as_ref()).await?;
    let filter = queued(&form, reached.now)?;
    let form = form.fixed(&filter);
    let filter = &filter;
    let look = |shard: Operations| async move { shard.db().in_time(waiting(&shard, filter)).await };
    let looks = each(&reached.shards, look).await?;
    let without = reached.without(&looks.away);
    let found: usize = looks.of.iter().map(|(_, (found, _))| found.len()).sum();
    if found == 0 {
        let frame = Frame::of(visitor, "jobs", "Nothing is to be run now");
        return Ok(nothing(frame, "No job that is found waits for a moment.", without));
    }
    let several = if found == 1 { "waiting job" } else { "waiting jobs" };
    let title = format!("Run {} {several} now?", count(found as i64));
    let rest = looks.of.iter().any(|(_, (_, more))| *more).then(|| {
        "More wait than are taken at once: the same form finds the older ones afterwards.".to_owned()
    });
    let without = without.map(|without| {
        Sentence::new(format!("{without} It is not counted, and its jobs run as well if it answers by then."))
    });
    let in_each =
        looks.of.iter().filter(|(shard, (found, _))| !shard.db().shard().is_only() && !found.is_empty());
    Ok(Confirm {
        obstacles: without.into_iter().collect(),
        counts: in_each
            .map(|(shard, (found, _))| (count(found.len() as i64), format!("in shard {}", shard.db().shard())))
            .collect(),
        sentences: [
            "Their waits end now, each under its next generation. Attempts are kept, and a model server is asked even \
             where its circuit is open."
                .to_owned(),
        ]
        .into_iter()
        .chain(rest)
        .collect(),
        action: "/console/run-now".to_owned(),
        hidden: form.pairs().into_iter().map(|(name, value)| (name, value.to_owned())).collect(),
        button: "Run now",
        back: format!("/console/jobs?{}", form.query()),
        ..Confirm::new(visitor, "jobs", title)
    }
    .into_response())
}

/// `POST /console/run-now`, in every shard.
pub(super) async fn act(console: Console, acting: Acting) -> Acted {
    let action = acting.action()?;
    let form = FilterForm::of(acting.fields());
    let (user, now) = (form.user(), console.reached(form.user().as_ref()).await?.now);
    let filter = queued(&form, now)?;
    let words = format!("waiting jobs, {}", form.words("all"));
    let shards = console.shards_of(user.as_ref());
    let (order, until) = ((&filter, words.as_str(), &action), Instant::now() + LONGEST_ORDER);
    let run = |shard: Operations| async move { run_now_in(&shard, order, until).await };
    let outcome = Outcome::new(Order::RunNow, each_alone(&shards, run).await)?;
    let counts = outcome.sum();
    let due = counts.granted;
    if counts.sum() == due && outcome.is_complete() && (shards.len() == 1 || due == 0) {
        let word = if due > 0 { "all-hurried" } else { "unchanged" };
        return Ok(Redirect::to(&format!("/console/jobs?status=queued&done={word}")));
    }
    Ok(outcome.redirect())
}

/// One order in the audit, and a transaction per job; one that has begun meanwhile is left alone. What it came to until an error
/// comes that is of no one job, or its time is over: nothing more is asked of that shard.
pub(super) async fn run_now_in(
    shard: &Operations,
    (filter, words, action): (&JobFilter, &str, &OperatorAction),
    until: Instant,
) -> Result<Done, db::Error> {
    let (found, _) = shard.db().in_time(waiting(shard, filter)).await?;
    if found.is_empty() {
        return Ok(Done::default());
    }
    let begun = shard.begin_order(new_id(), OrderOfMany::RunNow, (words, found.len() as u64), action);
    let mut given = shard.db().in_time(begun).await?;
    let (mut failed, mut ended_by) = (Vec::new(), None);
    for (nth, job) in found.into_iter().enumerate() {
        if nth > 0 && Instant::now() >= until {
            ended_by = Some(Fault::TimeIsOver.into());
            break;
        }
        match shard.db().in_time(shard.give_order(&mut given, &job)).await {
            Ok(_) => {}
            Err(error) if error.is_of_one_row() => {
                tracing::error!(%error, %job, "an order for many jobs goes on without one whose row failed");
                failed.push(job.to_string());
            }
            Err(error) => {
                ended_by = Some(Undone::from(error));
                break;
            }
        }
    }
    let ended = shard.db().in_time(shard.end_order(&given)).await;
    Ok(Done { counts: given.counts, failed, error: ended_by.or(ended.err().map(Undone::from)) })
}

fn queued(form: &FilterForm, now: Timestamp) -> Result<JobFilter, Fault> {
    let filter = form.filter(now, AT_ONCE)?;
    Ok(JobFilter { status: Some("queued".to_owned()), waits_at: Some(now), after: None, ..filter })
}

/// The newest waiting jobs that `filter` finds, and whether there are more.
async fn waiting(operations: &Operations, filter: &JobFilter) -> Result<(Vec<JobId>, bool), db::Error> {
    let page = operations.jobs_page(filter).await?;
    let more = page.next.is_some();
    Ok((page.jobs.into_iter().map(|view| view.stored.job.id).collect(), more))
}
