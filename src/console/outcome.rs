//! What an order came to in each of several shards. Its form leads to this page, whose address says it in numbers and in words of
//! the console's own: loading the page again orders nothing, and every process can show it.

use axum::{
    extract::State,
    response::{Redirect, Response},
};
use db::Shard;
use job::Queue;
use operations::Operations;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Console,
    fault::{Fault, Undone},
    page::{Frame, Message, Part, render},
    typed::Query,
    visitor::Visitor,
    words::{count, query},
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
        let queue = |name: &str| {
            [Queue::Finalization, Queue::Creation].into_iter().find(|known| known.as_str() == name)
        };
        match name.split_once('.') {
            None => (name == "run-now").then_some(Self::RunNow),
            Some(("pause", name)) => queue(name).map(Self::Pause),
            Some(("resume", name)) => queue(name).map(Self::Resume),
            Some(("replay", id)) => Uuid::parse_str(id).ok().map(Self::Replay),
            Some(_) => None,
        }
    }

    /// The entry of the menu, and the title.
    fn title(self, (done, refused): Counts) -> (&'static str, String) {
        let number = count(done as i64);
        match self {
            Self::RunNow => ("jobs", format!("{number} due now, {refused} refused")),
            Self::Pause(queue) => ("overview", format!("The queue {queue} is paused")),
            Self::Resume(queue) => ("overview", format!("The queue {queue} is resumed")),
            Self::Replay(_) if done == 1 => ("replays", "1 dead letter is replayed".to_owned()),
            Self::Replay(_) => ("replays", format!("{number} dead letters are replayed")),
        }
    }

    /// What was done in one shard, and where it is shown; nothing where there was nothing to do.
    fn done_in(self, shard: u16, (done, refused): Counts) -> Option<(String, String)> {
        let number = count(done as i64);
        Some(match self {
            Self::RunNow if (done, refused) == (0, 0) => return None,
            Self::RunNow => {
                (format!("{number} due now, {refused} refused"), "/console/jobs?status=queued".to_owned())
            }
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

/// How much was done in a shard, and how much was refused.
pub(super) type Counts = (u64, u64);

/// What was done in a shard, perhaps until an error came.
pub(super) type Done = (Counts, Option<db::Error>);

/// What the order came to, in the order of the shards' numbers.
pub(super) struct Outcome {
    order: Order,
    shards: Vec<(u16, Counts, Option<Undone>)>,
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
        let shards = answers.into_iter().map(|(shard, answer)| {
            let (counts, error) = answer.unwrap_or_else(|error| ((0, 0), Some(error)));
            (shard.db().shard().number, counts, error.map(Undone::from))
        });
        let outcome = Self { order, shards: shards.collect() };
        if outcome.sum() == (0, 0) && outcome.shards.iter().all(|(_, _, error)| error.is_some()) {
            let errors = outcome.shards.into_iter().filter_map(|(_, _, error)| error);
            return Undone::worst(errors).map_or(Ok(Self { order, shards: Vec::new() }), Err);
        }
        Ok(outcome)
    }

    /// How much was done, and how much was refused.
    pub(super) fn sum(&self) -> Counts {
        let counts = self.shards.iter().map(|(_, counts, _)| counts);
        counts.fold((0, 0), |sum, counts| (sum.0.saturating_add(counts.0), sum.1.saturating_add(counts.1)))
    }

    /// Whether no shard failed.
    pub(super) fn is_complete(&self) -> bool {
        self.shards.iter().all(|(_, _, error)| error.is_none())
    }

    /// Leads to the page of it.
    pub(super) fn redirect(&self) -> Redirect {
        let shards = self.shards.iter().map(|(shard, (done, refused), error)| match error {
            None => format!("{shard}:{done}.{refused}"),
            Some(error) => format!("{shard}:{done}.{refused}.{}", error.name()),
        });
        let shards = shards.collect::<Vec<_>>().join(",");
        Redirect::to(&format!(
            "/console/outcome?{}",
            query(&[("order", &self.order.name()), ("shards", &shards)])
        ))
    }

    fn read(address: &Address, of: u16) -> Option<Self> {
        let shard = |text: &str| {
            let (shard, answer) = text.split_once(':')?;
            let shard = shard.parse().ok().filter(|shard| *shard < of)?;
            let mut parts = answer.splitn(3, '.');
            let counts = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let error = match parts.next() {
                Some(name) => Some(Undone::of_name(name)?),
                None => None,
            };
            Some((shard, counts, error))
        };
        let shards = address.shards.split(',').map(shard).collect::<Option<_>>()?;
        Some(Self { order: Order::of_name(&address.order)?, shards })
    }
}

/// What the address says.
#[derive(Deserialize)]
pub(super) struct Address {
    order: String,
    shards: String,
}

/// `GET /console/outcome`.
pub(super) async fn show(
    visitor: Visitor,
    State(console): State<Console>,
    Query(address): Query<Address>,
) -> Result<Response, Fault> {
    let of = console.shards.count();
    let outcome = Outcome::read(&address, of);
    let outcome =
        outcome.ok_or_else(|| Fault::Unreadable("The address does not say what was done.".to_owned()))?;
    let (here, title) = outcome.order.title(outcome.sum());
    let title = match (outcome.is_complete(), of) {
        (true, _) => title,
        (false, 1) => format!("{title}, but not all"),
        (false, _) => format!("{title}, but not in every shard"),
    };
    let parts = outcome.shards.into_iter().filter_map(|(number, counts, error)| {
        let shard = Shard { number, of }.to_string();
        let done = outcome.order.done_in(number, counts);
        let Some(error) = error else {
            let (words, address) = done?;
            return Some(Part { shard, words, address, fault: None });
        };
        let (heading, words) = error.words();
        let (done, address) = done.filter(|_| counts != (0, 0)).unwrap_or_default();
        let words = if done.is_empty() { words } else { format!("{done}. {words}") };
        Some(Part { shard, words, address, fault: Some(heading) })
    });
    let parts = parts.collect();
    Ok(render(&Message { frame: Frame::of(visitor, here, title), text: Vec::new(), parts }))
}
