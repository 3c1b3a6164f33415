//! Pausing a queue, and taking from it again.

use axum::{
    extract::State,
    response::{Redirect, Response},
};
use futures::future::join_all;
use job::Queue;

use super::{
    Console,
    auth::Acting,
    confirm::Confirm,
    fault::{Fault, Undone},
    typed::Path,
    visitor::Visitor,
};

/// `GET /console/queues/{queue}/{change}`.
pub(super) async fn ask(
    visitor: Visitor,
    Path((queue, change)): Path<(String, String)>,
) -> Result<Response, Fault> {
    let (queue, pauses) = read(&queue, &change)?;
    let sentences = match pauses {
        true => vec![
            format!("No process takes a job from the queue {queue} any more, until an operator resumes it."),
            "Runs that have begun go on. Admissions go on, and wait.".to_owned(),
        ],
        false => vec![
            format!("Every worker takes jobs from the queue {queue} again within a second."),
            "Runs with people's own keys begin again within five.".to_owned(),
        ],
    };
    let verb = if pauses { "Pause" } else { "Resume" };
    Ok(Confirm {
        sentences,
        action: format!("/console/queues/{queue}/{change}"),
        button: verb,
        ..Confirm::new(visitor, "overview", format!("{verb} the queue {queue}?"))
    }
    .page())
}

/// `POST /console/queues/{queue}/{change}`.
pub(super) async fn change(
    State(console): State<Console>,
    Path((queue, change)): Path<(String, String)>,
    acting: Acting,
) -> Result<Redirect, Undone> {
    let (queue, pauses) = read(&queue, &change)?;
    let action = acting.action()?;
    // In every shard: one that does not answer keeps none of the others from it.
    let changes = console.shards.iter().map(async |operations| match pauses {
        true => operations.db().in_time(operations.pause(queue, &action)).await,
        false => operations.db().in_time(operations.resume(queue, &action)).await,
    });
    let changes: Result<Vec<bool>, db::Error> = join_all(changes).await.into_iter().collect();
    let word = match (changes?.contains(&true), pauses) {
        (false, _) => "unchanged",
        (true, true) => "paused",
        (true, false) => "resumed",
    };
    Ok(Redirect::to(&format!("/console?done={word}")))
}

fn read(queue: &str, change: &str) -> Result<(Queue, bool), Fault> {
    let known = [Queue::Finalization, Queue::Creation].into_iter().find(|known| known.as_str() == queue);
    match (known, change) {
        (Some(queue), "pause") => Ok((queue, true)),
        (Some(queue), "resume") => Ok((queue, false)),
        _ => Err(Fault::Missing("There is no such queue.".to_owned())),
    }
}
