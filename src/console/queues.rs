//! Pausing a queue, and taking from it again.

use axum::response::Redirect;
use job::Queue;
use operations::Operations;

use super::{
    Acted, Acting, Asked, Confirm, Console, Fault, Visitor,
    extract::Path,
    outcome::{Done, Order, Outcome},
};
use crate::over_shards::each_alone;

pub(super) async fn ask(visitor: Visitor, Path((queue, change)): Path<(String, String)>) -> Asked {
    let (queue, pauses) = read(&queue, &change)?;
    let sentences = match pauses {
        true => vec![
            format!("No process takes a job from the queue {queue} any more, until an operator resumes it."),
            "Runs that have begun go on. Admissions go on, and wait.".to_owned(),
        ],
        false => vec![
            format!("Every worker takes jobs from the queue {queue} again within a second."),
            "Runs with users' own keys begin again within five.".to_owned(),
        ],
    };
    let verb = if pauses { "Pause" } else { "Resume" };
    Ok(Confirm {
        sentences,
        action: format!("/console/queues/{queue}/{change}"),
        button: verb,
        ..Confirm::new(visitor, "overview", format!("{verb} the queue {queue}?"))
    })
}

pub(super) async fn change(
    console: Console,
    Path((queue, change)): Path<(String, String)>,
    acting: Acting,
) -> Acted {
    let (queue, pauses) = read(&queue, &change)?;
    let action = acting.action()?;
    // In every shard: one that does not answer keeps none of the others from it.
    let action = &action;
    let change = |shard: Operations| async move {
        let changed = match pauses {
            true => shard.db().in_time(shard.pause(queue, action)).await?,
            false => shard.db().in_time(shard.resume(queue, action)).await?,
        };
        Ok(Done::all(u64::from(changed)))
    };
    let (order, did) = match pauses {
        true => (Order::Pause(queue), "paused"),
        false => (Order::Resume(queue), "resumed"),
    };
    let outcome = Outcome::new(order, each_alone(&console.all(), change).await)?;
    if console.shards.count() == 1 {
        let word = if outcome.sum().granted > 0 { did } else { "unchanged" };
        return Ok(Redirect::to(&format!("/console?done={word}")));
    }
    Ok(outcome.redirect())
}

fn read(queue: &str, change: &str) -> Result<(Queue, bool), Fault> {
    match (Queue::from_name(queue), change) {
        (Some(queue), "pause") => Ok((queue, true)),
        (Some(queue), "resume") => Ok((queue, false)),
        _ => Err(Fault::Missing("There is no such queue.".to_owned())),
    }
}
