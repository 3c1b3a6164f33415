//! The list of jobs: filtered by its address, a page at a time.

use askama::Template;
use job::{FailureCode, Timestamp};
use ledger::JobView;
use operations::{Gauges, Operations};

use super::{
    Console, Fault, Frame, Moment, Query, Shown, Visitor, count,
    filter_form::{FilterForm, STATUSES},
    job::waits,
    live_page,
    words::status,
};
use crate::{
    commands::jobs::show,
    durations::lasting,
    lists,
    over_shards::{Absent, each},
};

/// Jobs on a page.
const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "jobs.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    without: Option<String>,
    filter: FilterForm,
    tabs: Vec<Tab>,
    codes: Vec<&'static str>,
    jobs: Vec<Row>,
    next: Option<String>,
    is_first: bool,
    replay: Option<String>,
    /// Jobs of this page wait for a moment: the filter that finds them.
    run_now: Option<String>,
}

/// A status to choose.
struct Tab {
    query: String,
    words: &'static str,
    /// How many there are of it; unknown where something else filters, too.
    jobs: Option<String>,
    is_here: bool,
}

struct Row {
    view: JobView,
    status: &'static str,
    words: &'static str,
    /// Why a dead letter waits for no operator.
    settled: Option<&'static str>,
    code: &'static str,
    admitted: Moment,
    /// From its last admission or replay until its end.
    took: String,
}

pub(super) async fn list(visitor: Visitor, console: Console, Query(form): Query<FilterForm>) -> Shown {
    let frame = Frame::of(visitor, "jobs", "Jobs").live().after(form.done.as_deref());
    console.show(frame, |frame| page(&console, frame, form)).await
}

live_page!(Page);

async fn page(console: &Console, frame: Frame, request: FilterForm) -> Result<Page, Fault> {
    let reached = console.reached(request.user().as_ref()).await?;
    let now = reached.now;
    let filter = request.filter(now, PAGE + 1)?;
    let same = |_| async { Ok::<_, db::Error>(filter.clone()) };
    let mut found = lists::jobs(&reached.shards, same).await?;
    let next = found.cut(PAGE).map(|(place, ..)| request.query_behind(place));
    let (counts, uncounted) = match request.of_status("").is_empty() {
        true => counts(&reached.shards).await?,
        false => (Vec::new(), Vec::new()),
    };
    Ok(Page {
        frame,
        without: reached.without(&[found.away, uncounted].concat()),
        tabs: tabs(&request, &counts),
        codes: FailureCode::ALL.iter().map(|code| code.as_str()).collect(),
        is_first: request.after.is_empty(),
        replay: (filter.is_dead() && !found.rows.is_empty()).then(|| request.query()),
        // Those that wait may stand behind a whole page of those that are due.
        run_now: (found.rows.iter().any(|(.., view)| waits(&view.job, now))
            || request.status == "queued" && next.is_some())
        .then(|| request.query()),
        jobs: found.rows.into_iter().map(|(_, admitted, view)| row(view, admitted, now)).collect(),
        next,
        filter: request,
    })
}

/// How many jobs there are of each status, and the shards that did not answer.
async fn counts(shards: &[Operations]) -> Result<(Vec<(&'static str, i64)>, Vec<Absent>), db::Error> {
    let read = |shard: Operations| async move { shard.db().in_time(shard.gauges()).await };
    let read = each(shards, read).await?;
    let sum = read.of.into_iter().map(|(_, gauges)| gauges).reduce(|mut sum: Gauges, gauges| {
        sum.add(&gauges);
        sum
    });
    Ok((sum.unwrap_or_default().jobs, read.away))
}

fn tabs(form: &FilterForm, counts: &[(&'static str, i64)]) -> Vec<Tab> {
    let of = |name: &str| counts.iter().find(|(known, _)| *known == name).map(|(_, jobs)| count(*jobs));
    let all = (!counts.is_empty()).then(|| count(counts.iter().map(|(_, jobs)| jobs).sum()));
    let tab = |name: &str, words, jobs| Tab {
        query: form.of_status(name).query(),
        words,
        jobs,
        is_here: form.status == name,
    };
    let statuses = STATUSES.map(|name| tab(name, status(name), of(name)));
    [tab("", "all", all)].into_iter().chain(statuses).collect()
}

fn row(view: JobView, admitted: Timestamp, now: Timestamp) -> Row {
    let name = view.job.state.status();
    // A dead letter that was dismissed was changed after its end.
    let has_end = view.job.state.is_terminal() && view.job.settled_at.is_none();
    let took = view.updated_at - view.job.admitted_at;
    Row {
        status: name,
        words: status(name),
        settled: show::settled(&view),
        code: show::code(&view.job).unwrap_or(""),
        admitted: Moment::new(admitted, now),
        took: if has_end { lasting_millis(took) } else { String::new() },
        view,
    }
}

fn lasting_millis(took: chrono::Duration) -> String {
    match took.num_milliseconds() {
        short @ ..10_000 => super::words::millis(short.max(0) as f64),
        long => lasting(long as f64 / 1e3),
    }
}
