//! The assistant by a model: one round is one call of `/chat/completions`, streamed, with the tools that are offered.
//!
//! Servers stream tool calls badly in many ways ([`gather`]). What cannot be read is asked for once more without
//! streaming, and a server that takes no tools has them chosen by the rules of the embedded engine: then the model only
//! words the answer.

mod gather;
mod request;
mod way;

use std::time::Duration;

use assistant::{Converse, Origin, Round, Step, Trouble};
use futures::{FutureExt, future::BoxFuture};
use job::FailureCode;
use serde_json::Value;

use self::gather::{Gathered, Message};
use self::request::Request;
use self::way::Way;
use super::OpenAi;
use super::complaint::Field;
use super::line::Unanswered;
use crate::embedded;

pub(super) use self::way::Ways;

/// What tokens and calls are counted as.
const STAGE: &str = "assistant";
/// The largest answer.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The longest silence within a stream.
const SILENCE: Duration = Duration::from_secs(60);

type Say<'a> = &'a (dyn Fn(&str) + Send + Sync);

impl Converse for OpenAi {
    fn id(&self) -> &str {
        &self.id
    }

    fn next<'a>(&'a self, round: Round<'a>, say: Say<'a>) -> BoxFuture<'a, Result<Step, Trouble>> {
        self.round(round, say).boxed()
    }
}

impl OpenAi {
    async fn round(&self, round: Round<'_>, say: Say<'_>) -> Result<Step, Trouble> {
        let known = self.ways.known();
        let way = match self.answer(round, say, (known, known), None).await? {
            Asked::Answered(message) => return Ok(message.step(round.rounds.len())),
            Asked::WithoutTools(way) => way,
        };
        // The server takes no tools: the rules choose them, and the model words what they found.
        let (draft, quotes) = match embedded::chosen(round, self.order) {
            Step::Answer { text, quotes } => (text, quotes),
            calls => return Ok(calls),
        };
        match self.answer(round, say, (known, way), Some(&draft)).await? {
            Asked::Answered(message) => Ok(Step::Answer { text: message.text, quotes }),
            Asked::WithoutTools(_) => Err(Trouble::ModelRejected),
        }
    }

    /// Asks in `way`, and in older ones for as long as the server understands none; then, where the `known` one was not the newest, in all
    /// of them anew. A `draft` is worded without tools.
    async fn answer(
        &self,
        round: Round<'_>,
        say: Say<'_>,
        (known, mut way): (Way, Way),
        draft: Option<&str>,
    ) -> Result<Asked, Trouble> {
        let is_for_apps = round.tools.iter().any(|tool| matches!(tool.origin, Origin::App(_)));
        // A stream that broke once says nothing about the next one.
        let mut broke = false;
        let mut is_anew = known == Way::NEWEST;
        loop {
            let streams = way.stream || broke;
            if draft.is_none() && !way.tools {
                return Ok(Asked::WithoutTools(Way { stream: streams, ..way }));
            }
            let request = Request { engine: self, round, way, draft };
            match self.message(&request.body(), way.stream, say).await {
                Ok(message) => {
                    let worked = Way { stream: streams, ..way };
                    if worked != known {
                        self.ways.remember(worked, is_for_apps);
                    }
                    return Ok(Asked::Answered(message));
                }
                Err(Failed::NotUnderstood(field)) => {
                    way = match way.after(field) {
                        Some(older) => older,
                        // Perhaps another server stands there since that was learnt.
                        None if !is_anew && field != Some(Field::Length) => {
                            is_anew = true;
                            Way::NEWEST
                        }
                        None => return Err(Trouble::ModelRejected),
                    };
                }
                // Nothing was said yet: the same round once more, in one piece.
                Err(Failed::Garbage { said: false }) if way.stream => way.stream = false,
                Err(Failed::Broke { said: false }) if way.stream => (way.stream, broke) = (false, true),
                Err(Failed::Garbage { .. } | Failed::Broke { .. }) => return Err(Trouble::ModelMalformed),
                Err(Failed::Trouble(trouble)) => return Err(trouble),
            }
        }
    }

    /// One call, and its whole answer. Words are said as they come.
    async fn message(&self, body: &Value, stream: bool, say: Say<'_>) -> Result<Message, Failed> {
        if !stream {
            let bytes = self.line.post(STAGE, "chat/completions", body).await?;
            let message = Message::of_completion(&bytes, &|tokens| self.count(STAGE, tokens));
            let message = message.ok_or(Failed::Garbage { said: false })?;
            say(&message.text);
            return Ok(message);
        }
        let mut response = self.line.open(STAGE, "chat/completions", body).await?;
        let mut gathered = Gathered::default();
        let mut length = 0;
        loop {
            let broken = Failed::Broke { said: gathered.has_said() };
            let chunk = match tokio::time::timeout(SILENCE, response.chunk()).await {
                Err(_) => return Err(Failed::Trouble(Trouble::ModelTimeout)),
                Ok(Err(_)) => return Err(broken),
                Ok(Ok(None)) => break,
                Ok(Ok(Some(chunk))) => chunk,
            };
            length += chunk.len();
            if length > MAX_BYTES {
                return Err(Failed::Trouble(Trouble::ModelMalformed));
            }
            gathered.take(&chunk, say);
        }
        let said = gathered.has_said();
        gathered.finish(say, &|tokens| self.count(STAGE, tokens)).ok_or(Failed::Garbage { said })
    }
}

/// What a server answered.
enum Asked {
    Answered(Message),
    /// It takes no tools; the way in which it is asked without them.
    WithoutTools(Way),
}

/// Why a call gave nothing to go on with.
enum Failed {
    /// The server may not know a field of the request.
    NotUnderstood(Option<Field>),
    /// What came cannot be read; whether words were said by then.
    Garbage {
        /// Whether the person has seen words of it.
        said: bool,
    },
    /// The connection broke in the middle of the answer; likewise.
    Broke {
        /// Whether the person has seen words of it.
        said: bool,
    },
    Trouble(Trouble),
}

impl From<Unanswered> for Failed {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::NotUnderstood(field, _) => Self::NotUnderstood(field),
            Unanswered::Failed(failure) => Self::Trouble(match failure.code {
                FailureCode::ModelTimeout => Trouble::ModelTimeout,
                FailureCode::ModelUnavailable => Trouble::ModelUnavailable,
                FailureCode::ModelRateLimited => Trouble::ModelRateLimited,
                FailureCode::ModelRejected => Trouble::ModelRejected,
                FailureCode::ByokKeyRejected => Trouble::KeyRejected,
                _ => Trouble::ModelMalformed,
            }),
        }
    }
}
