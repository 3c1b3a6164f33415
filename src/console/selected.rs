//! Rows of the list of jobs that were ticked: replayed or dismissed together, each on its own terms.

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use job::JobId;
use ledger::Operation;

use super::{
    Console,
    auth::Acting,
    confirm::Confirm,
    fault::{Fault, Undone},
    page::{Frame, Message, render},
    visitor::Visitor,
};
use crate::commands::jobs::words;

/// As many as the list has rows.
const MOST: usize = 50;
/// Refusals that are named.
const NAMED: usize = 5;

/// What is done to each.
#[derive(Clone, Copy)]
enum Act {
    Replay,
    Dismiss,
}

impl Act {
    fn of(name: &str) -> Option<Self> {
        match name {
            "replay" => Some(Self::Replay),
            "dismiss" => Some(Self::Dismiss),
            _ => None,
        }
    }
}

/// `GET /console/jobs/selected`: the confirmation.
pub(super) async fn ask(visitor: Visitor, RawQuery(query): RawQuery) -> Result<Response, Fault> {
    let (mut jobs, mut act) = (Vec::new(), None);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "job" if !value.contains(['\0', ' ']) => jobs.push(value.into_owned()),
            "act" => act = Act::of(&value),
            _ => {}
        }
    }
    jobs.truncate(MOST);
    let act = act.ok_or_else(|| Fault::Unreadable("The address does not say what to do.".to_owned()))?;
    if jobs.is_empty() {
        return Err(Fault::Unreadable("No job is selected: tick rows of the list first.".to_owned()));
    }
    let many = if jobs.len() == 1 { "1 job".to_owned() } else { format!("{} jobs", jobs.len()) };
    let (title, sentence, button, name) = match act {
        Act::Replay => (
            format!("Replay {many}?"),
            "Each is queued again with the next generation; recorded stages are kept. A job that is no dead letter is \
             refused.",
            "Replay",
            "replay",
        ),
        Act::Dismiss => (
            format!("Dismiss {many}?"),
            "Each dead letter stays as it is, and needs no more attention. A job that is no dead letter is refused.",
            "Dismiss",
            "dismiss",
        ),
    };
    Ok(Confirm {
        sentences: vec![sentence.to_owned()],
        action: "/console/jobs/selected".to_owned(),
        hidden: vec![("act", name.to_owned()), ("jobs", jobs.join(" "))],
        counts: jobs.iter().enumerate().map(|(place, job)| ((place + 1).to_string(), job.clone())).collect(),
        button,
        back: "/console/jobs?status=dead_letter".to_owned(),
        ..Confirm::new(visitor, "jobs", title)
    }
    .page())
}

/// `POST /console/jobs/selected`. A transaction per job; a refusal of one does not stop the others.
pub(super) async fn act(
    visitor: Visitor,
    State(console): State<Console>,
    acting: Acting,
) -> Result<Response, Undone> {
    let action = acting.action()?;
    let act = acting.field("act").and_then(Act::of);
    let act = act.ok_or_else(|| Fault::Unreadable("The form does not say what to do.".to_owned()))?;
    let (mut done, mut refused) = (0, Vec::new());
    for id in acting.field("jobs").unwrap_or_default().split(' ').filter(|id| !id.is_empty()).take(MOST) {
        let (job, operations) = (JobId::from_text(id), console.of_job(id));
        let operation = match act {
            Act::Replay => Operation::Replay { from_scratch: false },
            Act::Dismiss => Operation::Discard,
        };
        match operations.db().in_time(operations.operate(&job, operation, &action, None)).await {
            Ok(Some(Ok(_))) => done += 1,
            Ok(Some(Err(refusal))) => refused.push(format!("{id}: {}", words(refusal))),
            Ok(None) => refused.push(format!("{id}: there is no such job")),
            // What belongs to other shards is done all the same.
            Err(error) if console.shards.count() > 1 => {
                let (heading, text) = Undone::from(error).words();
                refused.push(format!("{id}: {heading}. {}", text.trim_end_matches('.')));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let did = match act {
        Act::Replay => "replayed",
        Act::Dismiss => "dismissed",
    };
    let title = format!("{done} {did}, {} refused", refused.len());
    let more = refused.len().saturating_sub(NAMED);
    refused.truncate(NAMED);
    let mut text = refused.join(". ");
    if more > 0 {
        text.push_str(&format!(". And {more} more."));
    }
    Ok(render(&Message { frame: Frame::of(visitor, "jobs", title), text, parts: Vec::new() }))
}
