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

/// What the order came to, in the order of the shards' numbers.
pub(super) struct Outcome {
    order: Order,
    shards: Vec<(u16, Result<Counts, Undone>)>,
}

impl Outcome {
    /// From what each shard answered.
    ///
    /// # Errors
    /// When every shard failed.
    pub(super) fn new(
        order: Order,
        answers: Vec<(Operations, Result<Counts, db::Error>)>,
    ) -> Result<Self, Undone> {
        let have_all_failed = answers.iter().all(|(_, answer)| answer.is_err());
        let number = |shard: Operations| shard.db().shard().number;
        let shards = answers.into_iter().map(|(shard, answer)| (number(shard), answer.map_err(Undone::from)));
        let mut shards: Vec<_> = shards.collect();
        if have_all_failed && let Some((_, Err(error))) = shards.pop() {
            return Err(error);
        }
        Ok(Self { order, shards })
    }

    /// How much was done where nothing failed, and how much was refused.
    pub(super) fn sum(&self) -> Counts {
        let counts = self.shards.iter().filter_map(|(_, answer)| answer.as_ref().ok());
        counts.fold((0, 0), |sum, counts| (sum.0.saturating_add(counts.0), sum.1.saturating_add(counts.1)))
    }

    /// Whether no shard failed.
    pub(super) fn is_complete(&self) -> bool {
        self.shards.iter().all(|(_, answer)| answer.is_ok())
    }

    /// Leads to the page of it.
    pub(super) fn redirect(&self) -> Redirect {
        let shards = self.shards.iter().map(|(shard, answer)| match answer {
            Ok((done, refused)) => format!("{shard}:{done}.{refused}"),
            Err(error) => format!("{shard}:{}", error.name()),
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
            let answer = match answer.split_once('.') {
                Some((done, refused)) => Ok((done.parse().ok()?, refused.parse().ok()?)),
                None => Err(Undone::of_name(answer)?),
            };
            Some((shard, answer))
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
    let title = if outcome.is_complete() { title } else { format!("{title}, but not in every shard") };
    let parts = outcome.shards.into_iter().filter_map(|(number, answer)| {
        let shard = Shard { number, of }.to_string();
        match answer {
            Ok(counts) => {
                let (words, address) = outcome.order.done_in(number, counts)?;
                Some(Part { shard, words, address, fault: None })
            }
            Err(error) => {
                let (heading, words) = error.words();
                Some(Part { shard, words, address: String::new(), fault: Some(heading) })
            }
        }
    });
    let parts = parts.collect();
    Ok(render(&Message { frame: Frame::of(visitor, here, title), text: Vec::new(), parts }))
}
