//! Rows of the list of jobs that were ticked: replayed or dismissed together, each on its own terms.

use std::collections::BTreeMap;

use axum::{extract::RawQuery, response::Redirect};
use futures::future::join_all;
use job::{JobId, Refusal};
use ledger::{Answer, Operation, OperatorAction};
use operations::Operations;
use serde::Deserialize;

use super::{
    Acted, Acting, Asked, Confirm, Console, Fault, Frame, Query, Shown, Undone, Visitor, page::Message,
    query, render,
};
use crate::commands::jobs::words;

/// As many as the list has rows.
const MOST: usize = 50;
/// Refusals that are named.
const NAMED: usize = 5;

job::named! {
    /// What is done to each.
    Act {
        Replay = "replay",
        Dismiss = "dismiss",
    }
}

impl Act {
    const fn operation(self) -> Operation {
        match self {
            Self::Replay => Operation::Replay { from_scratch: false },
            Self::Dismiss => Operation::Discard,
        }
    }
}

/// `GET /console/jobs/selected`: the confirmation.
pub(super) async fn ask(visitor: Visitor, RawQuery(query): RawQuery) -> Asked {
    let (mut jobs, mut act) = (Vec::new(), None);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "job" if !value.contains(['\0', ' ']) => jobs.push(value.into_owned()),
            "act" => act = Act::from_name(&value),
            _ => {}
        }
    }
    jobs.truncate(MOST);
    let act = act.ok_or_else(|| Fault::Unreadable("The address does not say what to do.".to_owned()))?;
    if jobs.is_empty() {
        return Err(Fault::Unreadable("No job is selected: tick rows of the list first.".to_owned()));
    }
    let many = if jobs.len() == 1 { "1 job".to_owned() } else { format!("{} jobs", jobs.len()) };
    let (title, sentence, button) = match act {
        Act::Replay => (
            format!("Replay {many}?"),
            "Each is queued again with the next generation; recorded stages are kept. A job that is no dead letter is \
             refused.",
            "Replay",
        ),
        Act::Dismiss => (
            format!("Dismiss {many}?"),
            "Each dead letter stays as it is, and needs no more attention. A job that is no dead letter is refused.",
            "Dismiss",
        ),
    };
    Ok(Confirm {
        sentences: vec![sentence.to_owned()],
        action: "/console/jobs/selected".to_owned(),
        hidden: vec![("act", act.as_str().to_owned()), ("jobs", jobs.join(" "))],
        counts: jobs.iter().enumerate().map(|(place, job)| ((place + 1).to_string(), job.clone())).collect(),
        button,
        back: "/console/jobs?status=dead_letter".to_owned(),
        ..Confirm::new(visitor, "jobs", title)
    })
}

/// `POST /console/jobs/selected`, in all shards at once. A transaction per job; a refusal of one does not stop the others.
pub(super) async fn act(console: Console, acting: Acting) -> Acted {
    let action = acting.action()?;
    let act = acting.field("act").and_then(Act::from_name);
    let act = act.ok_or_else(|| Fault::Unreadable("The form does not say what to do.".to_owned()))?;
    let jobs = acting.field("jobs").unwrap_or_default().split(' ').filter(|id| !id.is_empty());
    let jobs: Vec<&str> = jobs.take(MOST).collect();
    let mut of_shards: BTreeMap<u16, (Operations, Vec<&str>)> = BTreeMap::new();
    for id in jobs.iter().copied() {
        let shard = console.of_job(id);
        of_shards.entry(shard.db().shard().number).or_insert((shard, Vec::new())).1.push(id);
    }
    let each = of_shards.values().map(|(shard, jobs)| act_in(shard, act, jobs, &action));
    let answers: Vec<(&str, Result<Answer, db::Error>)> =
        join_all(each).await.into_iter().flatten().collect();
    // Those behind one of their shard that got no answer.
    let was_asked = |id: &str| answers.iter().any(|(asked, _)| *asked == id);
    let unasked: Vec<&str> = jobs.into_iter().filter(|id| !was_asked(id)).collect();
    let (mut done, mut refused, mut failed, mut errors) = (0, Vec::new(), Vec::new(), Vec::new());
    for (id, answer) in answers {
        match answer {
            Ok(Answer::Granted { .. }) => done += 1,
            Ok(Answer::Refused(refusal)) => refused.push(format!("{id}:{}", name(refusal))),
            Ok(Answer::Missing) => refused.push(format!("{id}:{MISSING}")),
            Err(error) => {
                let error = Undone::from(error);
                failed.push(format!("{id}:{}", error.name()));
                errors.push(error);
            }
        }
    }
    match Undone::worst(errors) {
        Some(error) if done == 0 && refused.is_empty() => return Err(error),
        _ => {}
    }
    let address = query(&[
        ("act", act.as_str()),
        ("done", &done.to_string()),
        ("refused", &refused.join(" ")),
        ("failed", &failed.join(" ")),
        ("unasked", &unasked.join(" ")),
    ]);
    Ok(Redirect::to(&format!("/console/jobs/selected/outcome?{address}")))
}

/// Gives the order to jobs of one shard, one after the other, until an error comes that is of no one job: every other of them would
/// end with it, too.
async fn act_in<'a>(
    shard: &Operations,
    act: Act,
    jobs: &[&'a str],
    action: &OperatorAction,
) -> Vec<(&'a str, Result<Answer, db::Error>)> {
    let mut answers = Vec::new();
    for id in jobs {
        let job = JobId::from_text(*id);
        let answer = shard.db().in_time(shard.operate(&job, act.operation(), action)).await;
        let is_last = answer.as_ref().is_err_and(|error| !error.is_of_one_row());
        answers.push((*id, answer));
        if is_last {
            break;
        }
    }
    answers
}

/// Of a job that is not there.
const MISSING: &str = "missing";
/// The refusals that an address names.
const REFUSALS: [(&str, Refusal); 4] = [
    ("not-dead", Refusal::NotDead),
    ("keys", Refusal::Blocked),
    ("superseded", Refusal::Superseded),
    ("deleted", Refusal::ConversationGone),
];

fn name(refusal: Refusal) -> &'static str {
    REFUSALS.iter().find(|(_, known)| *known == refusal).map_or("state", |(name, _)| name)
}

fn words_of(name: &str) -> &'static str {
    match REFUSALS.iter().find(|(known, _)| *known == name) {
        Some((_, refusal)) => words(*refusal),
        None if name == MISSING => "there is no such job",
        None => "its state does not allow that",
    }
}

/// What the address of the result says: ids behind each other, those with a reason as `id:reason`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Address {
    act: String,
    done: u64,
    refused: String,
    failed: String,
    unasked: String,
}

/// `GET /console/jobs/selected/outcome`: what came of the form. Loading it again orders nothing.
pub(super) async fn show(visitor: Visitor, Query(address): Query<Address>) -> Shown {
    let unreadable = || Fault::Unreadable("The address does not say what was done.".to_owned());
    let did = match Act::from_name(&address.act).ok_or_else(unreadable)? {
        Act::Replay => "replayed",
        Act::Dismiss => "dismissed",
    };
    let reasons = |text: &str| {
        let pair = |pair: &str| pair.rsplit_once(':').map(|(id, name)| (id.to_owned(), name.to_owned()));
        text.split(' ').filter(|pair| !pair.is_empty()).map(pair).collect::<Option<Vec<_>>>()
    };
    let refused = reasons(&address.refused).ok_or_else(unreadable)?;
    let failed = reasons(&address.failed).ok_or_else(unreadable)?;
    let unasked: Vec<&str> = address.unasked.split(' ').filter(|id| !id.is_empty()).collect();
    let mut title = format!("{} {did}, {} refused", address.done, refused.len());
    let silent = failed.iter().filter(|(_, name)| name == Undone::HALFWAY).count();
    if failed.len() > silent {
        title.push_str(&format!(", {} failed", failed.len() - silent));
    }
    let unanswered = silent + unasked.len();
    if unanswered > 0 {
        title.push_str(&format!(", {unanswered} without an answer"));
    }
    let mut text: Vec<String> =
        refused.iter().take(NAMED).map(|(id, name)| format!("{id}: {}.", words_of(name))).collect();
    if refused.len() > NAMED {
        text.push(format!("And {} more that are refused.", refused.len() - NAMED));
    }
    for (id, name) in failed {
        let (heading, more) = Undone::of_name(&name).ok_or_else(unreadable)?.words();
        text.push(format!("{id}: {heading}. {more}"));
    }
    if !unasked.is_empty() {
        text.push(format!("Not tried, as the order ended before: {}.", unasked.join(", ")));
    }
    Ok(render(&Message { frame: Frame::of(visitor, "jobs", title), text, parts: Vec::new() }))
}
