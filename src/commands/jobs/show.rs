//! One job as an operator sees it: never a person's words.

use job::{Cause, ErrorClass, Job, State};
use ledger::{Event, JobView, Spent, history::Verb};
use operations::{ActionView, JobPage};
use serde_json::{Value, json};
use store::LiveUsage;

use super::several;
use crate::commands::{
    stdout::{plain, say},
    table::{field, print_json, wrapped},
    times::time,
};

/// Prints a job's page: what it is, why it is there, what happened to it, and what operators did.
pub(super) fn print(page: &JobPage, as_json: bool) -> anyhow::Result<()> {
    let view = &page.view;
    if as_json {
        return print_json(&page_json(page));
    }
    for (name, value) in lines(view) {
        field(name, &value)?;
    }
    field("why", &format!("{} [{}]", page.why, page.why.guard()))?;
    if let Some(engine) = &page.engine {
        field("engine", engine)?;
    }
    field("model calls", &spent_words(&page.spent))?;
    for usage in &page.speech {
        field("speech", &speech_words(usage))?;
    }
    if let Some(code) = code(&view.job) {
        field("about the code", &format!("docs/failures/{code}.md"))?;
    }
    say!("\ntimeline\n  {}  admitted ({})", time(view.created_at), view.job.origin)?;
    if page.history.first().is_some_and(|first| first.version > 2) {
        say!("  …                         older transitions are not kept")?;
    }
    for event in &page.history {
        say!("{}", event_lines("  ", event))?;
    }
    if !page.spent.is_empty() {
        say!("\nmodel calls")?;
    }
    for one in &page.spent {
        let label = format!("  epoch {}  {:<20} ", one.epoch, one.stage);
        say!("{}", wrapped(&label, &format!("{}, {}", counts_words(one), one.engine)))?;
    }
    if !page.actions.is_empty() {
        say!("\noperators")?;
    }
    for action in &page.actions {
        let (operator, reason) = (plain(&action.operator), plain(&action.reason));
        let label = format!("  {}  ", time(action.created_at));
        say!("{}", wrapped(&label, &format!("{} by {operator}: {reason}", action.action)))?;
    }
    Ok(())
}

/// A job's page as a JSON object: the job's own fields, and what explains them.
fn page_json(page: &JobPage) -> Value {
    let mut all = to_json(&page.view);
    all["why"] = json!({ "guard": page.why.guard(), "sentence": page.why.to_string() });
    all["engine"] = json!(page.engine);
    all["model_calls"] = page.spent.iter().map(spent_json).collect();
    all["speech"] = page.speech.iter().map(speech_json).collect();
    all["timeline"] = page.history.iter().map(event_json).collect();
    all["actions"] = page.actions.iter().map(action_json).collect();
    all
}

/// An edge as a JSON object.
pub(super) fn event_json(event: &Event) -> Value {
    let stages: serde_json::Map<String, Value> =
        event.stages.iter().map(|(stage, millis)| (stage.clone(), json!(millis))).collect();
    json!({
        "version": event.version, "at": time(event.at), "verb": event.verb.as_str(), "from": event.from, "to": event.to,
        "epoch": event.epoch, "dispatch_generation": event.generation, "worker": event.worker,
        "failure_code": event.code, "cause": event.cause.as_ref().map(cause_json), "ready_at": event.ready_at.map(time), "stage_milliseconds": stages,
    })
}

/// What lies behind a failure or a release, as a JSON object.
pub(super) fn cause_json(cause: &Cause) -> Value {
    json!({
        "failure_code": cause.code.as_str(), "stage": cause.stage, "error_class": cause.class.map(ErrorClass::as_str),
        "http_status": cause.http_status, "circuit_open": cause.circuit_open,
    })
}

/// The same as a sentence; `None` where the job's own answer says it all.
pub(crate) fn cause_words(page: &JobPage) -> Option<String> {
    page.cause().map(|(cause, since)| format!("Cause: {cause}; since {}.", time(since)))
}

fn spent_json(one: &Spent) -> Value {
    json!({
        "epoch": one.epoch, "stage": one.stage, "engine": one.engine, "calls": one.calls,
        "prompt_tokens": one.prompt_tokens, "cached_tokens": one.cached_tokens,
        "completion_tokens": one.completion_tokens,
    })
}

fn speech_json(usage: &LiveUsage) -> Value {
    json!({
        "engine": usage.engine, "own_key": usage.own_key, "received_seconds": usage.received_seconds,
        "recognized_seconds": usage.recognized_seconds, "utterances": usage.utterances,
        "gap_seconds": usage.gap_seconds, "cost": usage.cost,
    })
}

/// What the speech of a conversation took with one engine, in words.
pub(crate) fn speech_words(usage: &LiveUsage) -> String {
    let mut words = format!(
        "{}: {:.1} s of audio, {:.1} s recognized in {}",
        usage.engine,
        usage.received_seconds,
        usage.recognized_seconds,
        several(usage.utterances, "utterance", "utterances"),
    );
    if usage.gap_seconds > 0.0 {
        words.push_str(&format!(", {:.1} s given up", usage.gap_seconds));
    }
    if usage.own_key {
        words.push_str(", with the user's own key");
    }
    if let Some(cost) = usage.cost {
        words.push_str(&format!(", cost {cost:.4}"));
    }
    words
}

/// What all runs of a job spent, in words.
pub(crate) fn spent_words(spent: &[Spent]) -> String {
    if spent.is_empty() {
        return "none".to_owned();
    }
    let sum = |count: fn(&Spent) -> i64| spent.iter().map(count).fold(0, i64::saturating_add);
    counts_words(&Spent {
        calls: sum(|one| one.calls),
        prompt_tokens: sum(|one| one.prompt_tokens),
        cached_tokens: sum(|one| one.cached_tokens),
        completion_tokens: sum(|one| one.completion_tokens),
        ..Spent::default()
    })
}

fn counts_words(one: &Spent) -> String {
    let calls = if one.calls == 1 { "call" } else { "calls" };
    let cached = match one.cached_tokens {
        0 => String::new(),
        cached => format!(" ({cached} cached)"),
    };
    let (asked, answered) = (one.prompt_tokens, one.completion_tokens);
    format!("{} {calls}, {asked} tokens in{cached}, {answered} out", one.calls)
}

/// An operator's action as a JSON object.
pub(crate) fn action_json(action: &ActionView) -> Value {
    let mut document = json!({
        "action_id": action.action_id, "action": action.action, "operator": action.operator,
        "reason": action.reason, "user_id": action.user_id, "job_id": action.job_id, "subject": action.subject,
        "from_status": action.from_status, "from_code": action.from_code,
        "from_generation": action.from_generation, "to_generation": action.to_generation,
        "detail": action.detail,
        "created_at": time(action.created_at),
    });
    if let Some(shard) = action.shard {
        document["shard"] = json!(shard);
    }
    document
}

/// An edge behind its moment, in lines that fit a terminal.
pub(super) fn event_lines(indent: &str, event: &Event) -> String {
    let words = event_words(event);
    let mut lines = words.lines();
    let label = format!("{indent}{}  ", time(event.at));
    let below = " ".repeat(label.len());
    let first = wrapped(&label, lines.next().unwrap_or_default());
    let others = lines.map(|line| wrapped(&below, line));
    [first].into_iter().chain(others).collect::<Vec<_>>().join("\n")
}

/// An edge in words: what was said, from where to where, and the numbers that fence it.
fn event_words(event: &Event) -> String {
    let mut words = format!(
        "{:<12} {} → {}, epoch {}, generation {}",
        event.verb.as_str(),
        event.from,
        event.to,
        event.epoch,
        event.generation
    );
    if let Some(code) = &event.code {
        words.push_str(&format!(", {code}"));
    }
    if let Some(worker) = &event.worker {
        words.push_str(&format!(", {worker}"));
    }
    if let Some(ready_at) = event.ready_at.filter(|ready_at| *ready_at > event.at) {
        words.push_str(&format!(", again at {}", time(ready_at)));
    }
    if let Some(cause) = &event.cause {
        words.push_str(&format!("\n{cause}"));
    }
    if !event.stages.is_empty() {
        let stages: Vec<String> =
            event.stages.iter().map(|(stage, millis)| format!("{stage} {millis}")).collect();
        words.push_str(&format!("\nms per stage: {}", stages.join(" · ")));
    }
    words
}

/// A job as a JSON object.
pub(super) fn to_json(view: &JobView) -> Value {
    json!({
        "job_id": view.job.id.as_str(), "user_id": view.user_id.as_str(),
        "conversation_id": view.conversation_id.as_str(), "revision": view.revision,
        "status": view.job.state.status(), "failure_code": code(&view.job),
        "outcome": view.job.state.outcome().map(|outcome| outcome.as_str()),
        "origin": view.job.origin.as_str(), "queue": view.job.queue.as_str(),
        "dispatch_generation": view.job.generation.0, "epoch": view.job.epoch.0, "version": view.version,
        "attempts": view.job.attempts, "crashes": view.job.crashes, "runs": view.job.runs,
        "requires_keys": view.job.requires_keys, "force_process": view.job.force_process,
        "worker": view.job.state.lease().map(|lease| lease.worker.0.as_str()),
        "lease_expires_at": view.job.state.lease().map(|lease| time(lease.expires_at)),
        "ready_at": view.job.state.ready_at().map(time),
        "reconcile_after_at": view.reconcile_after_at.map(time),
        "created_at": time(view.created_at), "updated_at": time(view.updated_at),
        "dismissed_at": view.job.settled_at.map(time), "checkpoints": view.checkpoints,
        "trace_id": view.trace.map(|trace| trace.trace_id()),
    })
}

/// Why a dead letter waits for no operator, as a list says it.
pub(crate) fn settled(view: &JobView) -> Option<&'static str> {
    view.job.settled_at.map(|_| match view.settled_by {
        Some(Verb::Supersede) => "superseded",
        Some(Verb::Withdraw) => "conversation deleted",
        _ => "dismissed",
    })
}

/// The code of a dead letter, or the newest failure of a job that goes on.
pub(crate) fn code(job: &Job) -> Option<&'static str> {
    job.failure_code().map(|code| code.as_str())
}

fn lines(view: &JobView) -> Vec<(&'static str, String)> {
    let job = &view.job;
    let state = match &job.state {
        State::Queued { ready_at } => format!("queued, ready at {}", time(*ready_at)),
        State::Leased(lease) => format!("leased by {} until {}", lease.worker.0, time(lease.expires_at)),
        State::BlockedByok => "blocked_byok: waits for its user's own keys".to_owned(),
        State::Completed { outcome } => format!("completed, {outcome}"),
        State::DeadLetter { code } => format!("dead_letter, {code}"),
    };
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let mut lines = vec![
        ("job", job.id.to_string()),
        ("state", state),
        ("conversation", format!("{} revision {}", view.conversation_id, view.revision)),
        ("user", view.user_id.to_string()),
        ("origin", format!("{}, queue {}", job.origin, job.queue)),
        ("generation, epoch", format!("{}, {} (row version {})", job.generation, job.epoch, view.version)),
        (
            "failed, crashed",
            format!(
                "{}, {}; {} begun",
                job.attempts,
                job.crashes,
                several(i64::from(job.runs), "run", "runs")
            ),
        ),
        ("last code", job.last_code.map_or("none".to_owned(), |code| code.to_string())),
        ("own keys", if job.requires_keys { "required" } else { "not required" }.to_owned()),
        ("checkpoints", or_none(view.checkpoints.join(", "))),
        ("next check", view.reconcile_after_at.map_or("none: nothing is left to do".to_owned(), time)),
        ("admitted, changed", format!("{}, {}", time(view.created_at), time(view.updated_at))),
    ];
    lines.extend(view.trace.map(|trace| ("trace", trace.trace_id())));
    lines
}
