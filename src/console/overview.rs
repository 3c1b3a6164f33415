//! What an operator sees first: whether something needs them, and what the service does.

use askama::Template;
use operations::{
    Cause, HeldLease, MinuteView, ModelServers, Operations, Overview, Pause, ProcessView, ServerKind, Workers,
};

use super::{
    After, Console, Fault, Frame, Moment, Query, RANGES, Shown, Visitor,
    chart::{self, Plot},
    count, live_page, query,
    shards::absent,
    words::{Sentence, millis, status},
};
use crate::{
    alerts::{self, Alert, Waiting},
    durations::lasting,
    model_servers::{self, Standing, Summary},
    over_shards::{Absent, each},
};

/// A ready job that waits longer than this needs attention.
const LONG_WAIT: f64 = 60.0;

#[derive(Template)]
#[template(path = "overview.html", blocks = ["live"])]
pub(super) struct Page {
    frame: Frame,
    /// How many shards there are.
    shards: u16,
    troubles: Vec<Trouble>,
    oldest_unfinished: String,
    oldest_ready: String,
    oldest_parked: String,
    servers: Vec<Server>,
    oldest_delivery: String,
    /// Jobs by status: (status, words, how many).
    counts: Vec<(&'static str, &'static str, String)>,
    slots: String,
    last_round: Option<Moment>,
    ended: String,
    failed: String,
    most: String,
    median: String,
    slow: String,
    /// Nothing ran in that time.
    is_idle: bool,
    throughput: Plot,
    lengths: Plot,
    /// How far the drawings may reach back: (hours, whether they do).
    ranges: Vec<(u32, bool)>,
    dead: Vec<Dead>,
    queues: Vec<Queue>,
    processes: Vec<Worker>,
    strays: Vec<Held>,
}

/// A line of the servers, there and on the page of live audio.
pub(super) struct Server {
    pub(super) engine: String,
    pub(super) state: &'static str,
    pub(super) word: &'static str,
    pub(super) words: Sentence,
}

struct Trouble {
    is_grave: bool,
    text: Sentence,
    link: &'static str,
}

struct Dead {
    letters: Cause,
    waiting: String,
    settled: String,
    query: String,
}

struct Queue {
    name: &'static str,
    pause: Option<(Pause, Moment)>,
}

struct Worker {
    name: String,
    is_alive: bool,
    words: String,
    slots: String,
    seen: Moment,
    holds: Vec<Held>,
}

struct Held {
    lease: HeldLease,
    claimed: Moment,
}

pub(super) async fn show(visitor: Visitor, console: Console, Query(after): Query<After>) -> Shown {
    let frame = Frame::of(visitor, "overview", "Overview").live().after(after.done.as_deref());
    let hours = after.hours();
    console.show(frame, |frame| page(&console, frame, hours)).await
}

live_page!(Page);

/// What is shown of one shard, or of all together.
struct Look {
    overview: Overview,
    workers: Workers,
    steps: Vec<MinuteView>,
    waiting: Waiting,
    servers: ModelServers,
}

impl Look {
    async fn at(operations: &Operations, hours: u32) -> Result<Self, db::Error> {
        let overview = operations.overview().await?;
        Ok(Self {
            workers: operations.workers().await?,
            steps: operations.activity(hours).await?,
            waiting: alerts::waiting(operations, &overview.gauges).await?,
            servers: operations.model_servers().await?,
            overview,
        })
    }

    fn add(&mut self, other: Self) {
        self.overview.add(&other.overview);
        self.workers.add(other.workers);
        self.waiting.add(&other.waiting);
        self.servers.add(other.servers);
        for step in &mut self.steps {
            let same = other.steps.iter().find(|other| other.minute == step.minute);
            same.into_iter().for_each(|same| step.add(same));
        }
    }
}

/// All shards together, and the numbers of those that do not answer.
async fn look(shards: &[Operations], hours: u32) -> Result<(Look, Vec<Absent>), db::Error> {
    let look = |shard: Operations| async move { shard.db().in_time(Look::at(&shard, hours)).await };
    let looks = each(shards, look).await?;
    let sum = looks.of.into_iter().map(|(_, look)| look).reduce(|mut sum, look| {
        sum.add(look);
        sum
    });
    let none = db::Error::Contended { doing: "reading the overview" };
    Ok((sum.ok_or(none)?, looks.away))
}

async fn page(console: &Console, frame: Frame, hours: u32) -> Result<Page, Fault> {
    let (Look { overview, workers, steps, waiting, servers }, away) = look(&console.all(), hours).await?;
    let servers = model_servers::summaries(&servers);
    let at = overview.at;
    let held = |lease: HeldLease| Held { claimed: Moment::new(lease.claimed_at, at), lease };
    let worker = |view: ProcessView| Worker {
        is_alive: view.alive && !view.process.stopping,
        words: format!("{}, {}", view.process.roles.join(" "), view.process.dispatch_mode),
        slots: format!("{} + {}", view.process.finalization_slots, view.process.creation_slots),
        seen: Moment::new(view.seen_at, at),
        holds: view.holds.into_iter().map(held).collect(),
        name: view.process.id,
    };
    let latest = |of: fn(&operations::MinuteView) -> Option<f64>| {
        steps.iter().rev().find_map(of).map_or("none".to_owned(), millis)
    };
    let (completed, failed) =
        steps.iter().fold((0, 0), |sum, minute| (sum.0 + minute.completed, sum.1 + minute.failed));
    let most = steps.iter().map(|minute| minute.completed + minute.failed).max().unwrap_or(0);
    let gauges = &overview.gauges;
    let age = |seconds: f64| if seconds > 0.0 { lasting(seconds) } else { "none".to_owned() };
    Ok(Page {
        frame,
        shards: console.shards.count(),
        troubles: troubles(&overview, &servers, &alerts::alerts(&waiting), &away),
        oldest_unfinished: age(gauges.oldest_unfinished_age),
        oldest_ready: age(gauges.oldest_ready_age),
        oldest_parked: age(waiting.oldest_parked()),
        servers: servers.iter().map(server).collect(),
        oldest_delivery: age(gauges.oldest_pending_delivery_age),
        counts: gauges.jobs.iter().map(|(name, jobs)| (*name, status(name), count(*jobs))).collect(),
        slots: count(overview.slots.0 + overview.slots.1),
        last_round: overview.last_round.map(|round| Moment::new(round.at, at)),
        ended: count(completed),
        failed: count(failed),
        most: count(most),
        median: latest(|minute| minute.p50_ms),
        slow: latest(|minute| minute.p95_ms),
        is_idle: completed + failed == 0,
        throughput: chart::throughput(&steps),
        lengths: chart::lengths(&steps),
        ranges: RANGES.map(|range| (range, range == hours)).into(),
        queues: ["finalization", "creation"].map(|name| queue(name, &overview)).into(),
        dead: overview.dead_letters.into_iter().map(dead).collect(),
        processes: workers.processes.into_iter().map(worker).collect(),
        strays: workers.strays.into_iter().map(held).collect(),
    })
}

pub(super) fn server(summary: &Summary) -> Server {
    let (state, word) = match summary.standing {
        Standing::Well => ("completed", "well"),
        Standing::Unknown => ("queued", "unknown"),
        Standing::Unwell => ("blocked_byok", "unwell"),
        Standing::Away => ("dead_letter", "failing"),
    };
    let words = Sentence::new(format!("It {}.", summary.words));
    Server { engine: summary.engine.clone(), state, word, words }
}

fn dead(letters: Cause) -> Dead {
    Dead {
        waiting: count(letters.waiting()),
        settled: count(letters.settled),
        query: query(&[("code", &letters.code)]),
        letters,
    }
}

fn queue(name: &'static str, overview: &Overview) -> Queue {
    let pause = overview.pauses.iter().find(|pause| pause.queue == name);
    Queue { name, pause: pause.map(|pause| (pause.clone(), Moment::new(pause.paused_at, overview.at))) }
}

/// What needs attention, the gravest first.
fn troubles(overview: &Overview, servers: &[Summary], alerts: &[Alert], away: &[Absent]) -> Vec<Trouble> {
    let gauges = &overview.gauges;
    let waiting: i64 = overview.dead_letters.iter().map(Cause::waiting).sum();
    let grave = |text: String, link| Trouble { is_grave: true, text: Sentence::new(text), link };
    let mild = |text: String, link| Trouble { is_grave: false, text: Sentence::new(text), link };
    let mut found = Vec::new();
    if let Some(words) = absent(away.to_vec(), "counted here") {
        found.push(grave(words, "/console/help/ListenShardAway"));
    }
    if overview.living == 0 || overview.slots.0 == 0 {
        found.push(grave("No living process runs finalizations.".to_owned(), "#processes"));
    }
    for server in servers.iter().filter(|server| server.standing == Standing::Away) {
        let what = match server.kind {
            ServerKind::Model => "model",
            ServerKind::Speech => "speech",
        };
        found.push(grave(format!("The {what} server of {} {}.", server.engine, server.words), "#servers"));
    }
    if gauges.orphans > 0 {
        let orphans = count(gauges.orphans);
        found
            .push(grave(format!("{orphans} jobs wait without an owner: run `listen verify`."), "#processes"));
    }
    if gauges.oldest_ready_age > LONG_WAIT {
        let age = lasting(gauges.oldest_ready_age);
        found.push(grave(format!("The oldest ready job waits for {age}."), "/console/jobs?status=queued"));
    }
    match overview.last_round {
        None => found.push(grave("The reconciler has not finished a round yet.".to_owned(), "#processes")),
        Some(last) if last.is_silent(overview.at) => {
            let minutes = (overview.at - last.at).num_minutes();
            found.push(grave(format!("The reconciler has not passed for {minutes} minutes."), "#processes"));
        }
        Some(_) => {}
    }
    for pause in &overview.pauses {
        found.push(mild(format!("The queue {} is paused by {}.", pause.queue, pause.operator), "#queues"));
    }
    for alert in alerts {
        found.push(mild(alert.words.clone(), alert.page));
    }
    if waiting > 0 {
        let waiting = count(waiting);
        found.push(mild(format!("{waiting} dead letters wait for an operator."), "#dead"));
    }
    found
}
