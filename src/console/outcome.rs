//! What an order came to in each of several shards. Its form leads to this page, whose address says it in numbers and in words of
//! the console's own: loading the page again orders nothing, and every process can show it.

use axum::response::Redirect;
use db::Shard;
use job::Queue;
use operations::{Operations, OrderCounts};
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Console, Fault, Frame, Query, Shown, Undone, Visitor, count,
    page::{Message, Part},
    query, render,
};

/// What every shard was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    RunNow,
    Pause(Queue),
    Resume(Queue),
    /// The bulk replay of the form; each shard's has an id of its own.
    Replay(Uuid),
}

impl Order {
    /// The id of the bulk replay of one shard, the same when the form is sent twice.
    pub(super) fn replay_in(form: Uuid, shard: u16) -> Uuid {
        Uuid::from_u128(form.as_u128() ^ u128::from(shard))
    }

    fn name(self) -> String {
        match self {
            Self::RunNow => "run-now".to_owned(),
            Self::Pause(queue) => format!("pause.{queue}"),
            Self::Resume(queue) => format!("resume.{queue}"),
            Self::Replay(id) => format!("replay.{id}"),
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        match name.split_once('.') {
            None => (name == "run-now").then_some(Self::RunNow),
            Some(("pause", name)) => Queue::from_name(name).map(Self::Pause),
            Some(("resume", name)) => Queue::from_name(name).map(Self::Resume),
            Some(("replay", id)) => Uuid::parse_str(id).ok().map(Self::Replay),
            Some(_) => None,
        }
    }

    /// The entry of the menu, and the title.
    fn title(self, counts: OrderCounts) -> (&'static str, String) {
        let done = counts.granted;
        let number = count(done as i64);
        match self {
            Self::RunNow => ("jobs", due_now(counts)),
            Self::Pause(queue) => ("overview", format!("The queue {queue} is paused")),
            Self::Resume(queue) => ("overview", format!("The queue {queue} is resumed")),
            Self::Replay(_) if done == 1 => ("replays", "1 dead letter is replayed".to_owned()),
            Self::Replay(_) => ("replays", format!("{number} dead letters are replayed")),
        }
    }

    /// What was done in one shard, and where it is shown; nothing where there was nothing to do.
    fn done_in(self, shard: u16, counts: OrderCounts) -> Option<(String, String)> {
        let done = counts.granted;
        let number = count(done as i64);
        Some(match self {
            Self::RunNow if counts.sum() == 0 => return None,
            Self::RunNow => (due_now(counts), "/console/jobs?status=queued".to_owned()),
            Self::Pause(_) | Self::Resume(_) if done == 0 => ("it was so already".to_owned(), String::new()),
            Self::Pause(_) => ("paused".to_owned(), String::new()),
            Self::Resume(_) => ("resumed".to_owned(), String::new()),
            Self::Replay(_) if done == 0 => return None,
            Self::Replay(form) => {
                let letters = if done == 1 { "dead letter" } else { "dead letters" };
                let id = Self::replay_in(form, shard);
                (format!("a replay of {number} {letters}"), format!("/console/replays/{id}"))
            }
        })
    }
}

fn due_now(counts: OrderCounts) -> String {
    format!("{} due now, {}", count(counts.granted as i64), counts.unchanged())
}

/// What was done in a shard, perhaps until an error came.
#[derive(Default)]
pub(super) struct Done {
    pub(super) counts: OrderCounts,
    /// Ids of jobs whose own rows failed.
    pub(super) failed: Vec<String>,
    pub(super) error: Option<Undone>,
}

impl Done {
    /// So much, and nothing was refused or failed.
    pub(super) fn all(granted: u64) -> Self {
        Self { counts: OrderCounts { granted, ..OrderCounts::default() }, ..Self::default() }
    }
}

/// Jobs that failed and are named.
const NAMED: usize = 5;

/// What the order came to, in the order of the shards' numbers.
pub(super) struct Outcome {
    order: Order,
    shards: Vec<(u16, OrderCounts, Option<Undone>)>,
    /// The first of those that failed.
    failed: Vec<String>,
}

impl Outcome {
    /// From what each shard answered.
    ///
    /// # Errors
    /// When every shard failed, and nothing is known to be done.
    pub(super) fn new(
        order: Order,
        answers: Vec<(Operations, Result<Done, db::Error>)>,
    ) -> Result<Self, Undone> {
        let mut outcome = Self { order, shards: Vec::new(), failed: Vec::new() };
        for (shard, answer) in answers {
            let done = answer.unwrap_or_else(|error| Done { error: Some(error.into()), ..Done::default() });
            outcome.shards.push((shard.db().shard().number, done.counts, done.error));
            outcome.failed.extend(done.failed);
        }
        outcome.failed.truncate(NAMED);
        if outcome.sum().sum() == 0 && outcome.shards.iter().all(|(_, _, error)| error.is_some()) {
            let errors = outcome.shards.drain(..).filter_map(|(_, _, error)| error);
            return Undone::worst(errors).map_or(Ok(outcome), Err);
        }
        Ok(outcome)
    }

    /// What it came to in all shards.
    pub(super) fn sum(&self) -> OrderCounts {
        let counts = self.shards.iter().map(|(_, counts, _)| counts);
        counts.fold(OrderCounts::default(), |sum, counts| sum.and(*counts))
    }

    /// Whether no shard failed.
    pub(super) fn is_complete(&self) -> bool {
        self.shards.iter().all(|(_, _, error)| error.is_none())
    }

    /// Leads to the page of it.
    pub(super) fn redirect(&self) -> Redirect {
        let shards = self.shards.iter().map(|(shard, counts, error)| {
            let OrderCounts { granted, refused, failed } = counts;
            let error = error.as_ref().map(|error| format!(".{}", error.name())).unwrap_or_default();
            format!("{shard}:{granted}.{refused}.{failed}{error}")
        });
        let shards = shards.collect::<Vec<_>>().join(",");
        let failed = self.failed.join(" ");
        let address = query(&[("order", &self.order.name()), ("shards", &shards), ("failed", &failed)]);
        Redirect::to(&format!("/console/outcome?{address}"))
    }

    fn read(address: &Address, of: u16) -> Option<Self> {
        let shard = |text: &str| {
            let (shard, answer) = text.split_once(':')?;
            let shard = shard.parse().ok().filter(|shard| *shard < of)?;
            let mut parts = answer.splitn(4, '.');
            let mut number = || parts.next()?.parse().ok();
            let counts = OrderCounts { granted: number()?, refused: number()?, failed: number()? };
            let error = match parts.next() {
                Some(name) => Some(Undone::of_name(name)?),
                None => None,
            };
            Some((shard, counts, error))
        };
        let shards = address.shards.split(',').map(shard).collect::<Option<_>>()?;
        let failed = address.failed.split(' ').filter(|id| !id.is_empty()).take(NAMED).map(str::to_owned);
        Some(Self { order: Order::of_name(&address.order)?, shards, failed: failed.collect() })
    }
}

/// What the address says.
#[derive(Deserialize)]
pub(super) struct Address {
    order: String,
    shards: String,
    #[serde(default)]
    failed: String,
}

pub(super) async fn show(visitor: Visitor, console: Console, Query(address): Query<Address>) -> Shown {
    let of = console.shards.count();
    let outcome = Outcome::read(&address, of);
    let outcome =
        outcome.ok_or_else(|| Fault::Unreadable("The address does not say what was done.".to_owned()))?;
    let counts = outcome.sum();
    let (here, title) = outcome.order.title(counts);
    let title = match (outcome.is_complete(), of) {
        (true, _) => title,
        (false, 1) => format!("{title}, but not all"),
        (false, _) => format!("{title}, but not in every shard"),
    };
    let mut text = Vec::new();
    if matches!(outcome.order, Order::Replay(_)) && counts.granted == 0 && outcome.is_complete() {
        text.push("Nothing is left to be replayed.".to_owned());
    }
    if counts.failed > 0 {
        let more = match counts.failed.saturating_sub(outcome.failed.len() as u64) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push(format!(
            "Failed, and the log says why: {}{more}. The others were done.",
            outcome.failed.join(", ")
        ));
    }
    let parts = outcome.shards.into_iter().filter_map(|(number, counts, error)| {
        let shard = Shard { number, of }.to_string();
        let done = outcome.order.done_in(number, counts);
        let Some(error) = error else {
            let (words, address) = done?;
            return Some(Part { shard, words, address, fault: None });
        };
        let (heading, words) = error.words();
        let (done, address) = done.filter(|_| counts.sum() > 0).unwrap_or_default();
        let words = if done.is_empty() { words } else { format!("{done}. {words}") };
        Some(Part { shard, words, address, fault: Some(heading) })
    });
    let parts = parts.collect();
    Ok(render(&Message { frame: Frame::of(visitor, here, title), text, parts }))
}
