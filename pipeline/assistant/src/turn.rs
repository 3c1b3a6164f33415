//! One turn: a person's message, the rounds of an engine and its tools, and the reply.
//!
//! The turn ends in any case, within its limits, with a reply that its journal keeps: an answer, or an honest failure with
//! what there was of one.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use crate::{
    arguments::check_arguments,
    gate,
    offer::{Offered, Origin, offer},
    ports::{
        AppTools, Call, Context, Converse, Event, Exchange, Hold, Journal, Listener, Past, Round, Step,
        ToolState, Toolbox,
    },
    reply::{Reply, ReplyStatus, Source, ToolUse, Trouble},
    tools::{AppTool, DataTool},
};

/// How much a turn may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All of it.
    pub time: Duration,
    /// Rounds with the engine, the answering one included.
    pub rounds: usize,
    /// Calls of tools.
    pub calls: usize,
    /// Calls at the same time.
    pub at_once: usize,
    /// Characters of one result that the engine is shown.
    pub result: usize,
    /// Sources that a reply names.
    pub sources: usize,
    /// How often the turn's lease is renewed.
    pub renewal: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            rounds: 8,
            calls: 16,
            at_once: 4,
            result: 16_000,
            sources: 50,
            renewal: Duration::from_secs(5),
        }
    }
}

/// Who does the work of a turn.
#[derive(Clone)]
pub struct Ports {
    /// Chooses tools and words the answer.
    pub engine: Arc<dyn Converse>,
    /// The user's data.
    pub toolbox: Arc<dyn Toolbox>,
    /// The tools of installed apps.
    pub apps: Arc<dyn AppTools>,
    /// Keeps the reply.
    pub journal: Arc<dyn Journal>,
    /// Follows the turn.
    pub listener: Arc<dyn Listener>,
}

/// A person's message, to be answered.
pub struct Turn {
    /// What the turn knows.
    pub context: Context,
    /// The thread so far, oldest first.
    pub history: Vec<Past>,
    /// What the person wrote.
    pub question: String,
    /// Who does the work.
    pub ports: Ports,
    /// How much it may take.
    pub limits: Limits,
}

/// What there is of the reply so far: it outlives a turn that is cut off.
#[derive(Default)]
struct Progress {
    text: String,
    sources: Vec<Source>,
    tools: Vec<ToolUse>,
    /// Apps whose words are in the turn.
    heard: HashSet<String>,
}

impl Turn {
    /// Runs the turn to its end, until `stop` is done or until the turn is another process's, and returns the reply as its
    /// journal keeps it: when a reply is not kept, listeners receive that the turn was interrupted.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Reply {
        // What an app said before is heard again with the history.
        let heard = self.history.iter().flat_map(|past| past.apps.iter().cloned()).collect();
        let progress = Mutex::new(Progress { heard, ..Progress::default() });
        let round_done = Notify::new();
        let (status, trouble) = tokio::select! {
            ended = timeout(self.limits.time, self.converse(&progress, &round_done)) => match ended {
                Ok(Ok(())) => (ReplyStatus::Completed, None),
                Ok(Err(trouble)) => (ReplyStatus::Failed, Some(trouble)),
                Err(_) => (ReplyStatus::Failed, Some(Trouble::TurnTimeout)),
            },
            () = self.renew(&progress, &round_done) => (ReplyStatus::Failed, Some(Trouble::Interrupted)),
            () = stop => (ReplyStatus::Stopped, Some(Trouble::Interrupted)),
        };
        let mut reply = Reply { status, trouble, ..self.so_far(&progress) };
        if !self.ports.journal.finish(&reply).await {
            (reply.status, reply.trouble) = (ReplyStatus::Failed, Some(Trouble::Interrupted));
        }
        self.ports.listener.hear(Event::Over(reply.clone()));
        reply
    }

    /// Stores the reply after each round of tools and at least once in each interval, so that little of it is lost with the
    /// process. Returns when the turn is no longer this process's.
    async fn renew(&self, progress: &Mutex<Progress>, round_done: &Notify) {
        loop {
            let _ = timeout(self.limits.renewal, round_done.notified()).await;
            if !self.ports.journal.renew(&self.so_far(progress)).await {
                return;
            }
        }
    }

    fn so_far(&self, progress: &Mutex<Progress>) -> Reply {
        let progress = progress.lock();
        Reply {
            status: ReplyStatus::Running,
            trouble: None,
            text: progress.text.clone(),
            sources: progress.distinct_sources(self.limits.sources),
            tools: progress.tools.clone(),
            engine: self.ports.engine.id().to_owned(),
        }
    }

    async fn converse(&self, progress: &Mutex<Progress>, round_done: &Notify) -> Result<(), Trouble> {
        let data = DataTool::ALL.iter().copied().filter(|tool| self.ports.toolbox.may(*tool));
        let tools = offer(data, self.ports.apps.list().await, &self.question);
        let mut rounds: Vec<Vec<Exchange>> = Vec::new();
        let mut calls_left = self.limits.calls;
        let say = |words: &str| self.say(progress, words);
        for number in 1..=self.limits.rounds {
            let round = Round {
                context: &self.context,
                history: &self.history,
                question: &self.question,
                rounds: &rounds,
                tools: &tools,
                is_last: number == self.limits.rounds || calls_left == 0,
            };
            match self.ports.engine.next(round, &say).await? {
                Step::Answer { quotes, .. } => {
                    if let Some(quotes) = quotes {
                        progress.lock().sources.retain(|source| quotes.contains(&source.id));
                    }
                    return Ok(());
                }
                Step::Calls { .. } if round.is_last => return Err(Trouble::TooManyRounds),
                Step::Calls { calls, text } => {
                    if !text.is_empty() {
                        say("\n\n");
                    }
                    let (made, refused) = calls.split_at(calls.len().min(calls_left));
                    calls_left -= made.len();
                    let mut exchanges = self.call_all(made, &tools, progress).await?;
                    exchanges.extend(refused.iter().map(|call| Exchange {
                        call: call.clone(),
                        result: Err("Too many calls in one turn: answer with what is known.".to_owned()),
                        foreign: false,
                    }));
                    rounds.push(exchanges);
                    round_done.notify_one();
                }
            }
        }
        Err(Trouble::TooManyRounds)
    }

    fn say(&self, progress: &Mutex<Progress>, words: &str) {
        if words.is_empty() {
            return;
        }
        progress.lock().text.push_str(words);
        self.ports.listener.hear(Event::Text(words.to_owned()));
    }

    /// Makes calls, a few at a time, and returns their results in the order of the calls. Those that write are made one
    /// after the other.
    async fn call_all(
        &self,
        calls: &[Call],
        tools: &[Offered],
        progress: &Mutex<Progress>,
    ) -> Result<Vec<Exchange>, Trouble> {
        let found = |call: &Call| tools.iter().find(|tool| tool.name == call.name);
        let writes = calls.iter().any(|call| found(call).is_some_and(Offered::writes));
        let at_once = if writes { 1 } else { self.limits.at_once };
        let made: Vec<BoxFuture<'_, Result<Exchange, Trouble>>> =
            calls.iter().map(|call| self.exchange(call, found(call), progress).boxed()).collect();
        stream::iter(made).buffered(at_once).try_collect().await
    }

    async fn exchange(
        &self,
        call: &Call,
        tool: Option<&Offered>,
        progress: &Mutex<Progress>,
    ) -> Result<Exchange, Trouble> {
        let (result, foreign) = match tool {
            Some(tool) => self.call(call, tool, progress).await?,
            None => (Err("There is no such tool.".to_owned()), false),
        };
        Ok(Exchange { call: call.clone(), result, foreign })
    }

    async fn call(
        &self,
        call: &Call,
        tool: &Offered,
        progress: &Mutex<Progress>,
    ) -> Result<(Result<Value, String>, bool), Trouble> {
        let refused = |words: &str| Ok((Err(words.to_owned()), false));
        let checked = match &tool.origin {
            Origin::Data(data) => check_arguments(&data.parameters(), &call.arguments),
            Origin::App(app) => self.ports.apps.check(app, &call.arguments),
        };
        if let Err(problem) = checked {
            return refused(&problem);
        }
        if let Origin::App(app) = &tool.origin
            && !gate::lets(app, &progress.lock().heard, &self.question)
        {
            return refused(
                "Refused: another app has answered in this turn, and the person did not name this app.",
            );
        }
        // Nothing is changed in the name of a turn that reads as interrupted.
        if tool.writes() {
            match self.ports.journal.hold().await {
                Hold::Held => {}
                Hold::Lost => return Err(Trouble::Interrupted),
                Hold::Unknown => {
                    return refused("The service is not ready for this now: nothing was called.");
                }
            }
        }
        let event = |state| Event::Tool {
            name: tool.own_name().to_owned(),
            app_id: tool.app_id().map(str::to_owned),
            state,
        };
        self.ports.listener.hear(Event::Status(tool.status().to_owned()));
        self.ports.listener.hear(event(ToolState::Started));
        let begun = Instant::now();
        let (result, foreign) = match &tool.origin {
            Origin::Data(data) => (self.call_data(*data, &call.arguments, progress).await, false),
            Origin::App(app) => (self.call_app(app, &call.arguments, progress).await, true),
        };
        let ok = result.is_ok();
        progress.lock().tools.push(ToolUse {
            name: tool.own_name().to_owned(),
            app_id: tool.app_id().map(str::to_owned),
            ok,
            millis: u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX),
        });
        self.ports.listener.hear(event(if ok { ToolState::Done } else { ToolState::Failed }));
        Ok((result, foreign))
    }

    async fn call_data(
        &self,
        tool: DataTool,
        arguments: &Value,
        progress: &Mutex<Progress>,
    ) -> Result<Value, String> {
        let output = self.ports.toolbox.call(tool, arguments).await.map_err(|failure| failure.0)?;
        progress.lock().sources.extend(output.sources);
        Ok(output.value)
    }

    async fn call_app(
        &self,
        app: &AppTool,
        arguments: &Value,
        progress: &Mutex<Progress>,
    ) -> Result<Value, String> {
        progress.lock().heard.insert(app.app_id.clone());
        let bounded = |text: String| text.chars().take(self.limits.result).collect::<String>();
        let answer = self.ports.apps.call(app, arguments).await;
        answer.map(|text| Value::String(bounded(text))).map_err(|failure| bounded(failure.0))
    }
}

impl Progress {
    /// Each source once, at most so many: every renewal stores them, and every list of messages shows them.
    fn distinct_sources(&self, most: usize) -> Vec<Source> {
        let mut seen = HashSet::new();
        let distinct = self.sources.iter().filter(|source| seen.insert((source.kind.as_str(), &source.id)));
        distinct.take(most).cloned().collect()
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
