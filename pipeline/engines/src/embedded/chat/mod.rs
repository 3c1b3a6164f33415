//! The assistant without a model: rules choose tools, templates word what the tools returned.
//!
//! Every sentence about the user's things quotes one of them, what is not found is said to be not found, and nothing is
//! written unless the message asks for it in so many words. The engine has no state: each round reads the message anew, with
//! the one before where it leans on that, and goes on from the results that are there.

mod app;
mod chatter;
mod conversations;
mod facts;
mod goals;
mod leaning;
mod no_app;
mod passages;
mod tasks;
mod wish;
mod words;

use assistant::{Call, Converse, DataTool, Exchange, Round, Step, Trouble};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use serde_json::Value;

use self::words::Message;
use super::{DayOrder, Embedded};

/// Said once in each thread: what answers here is no language model.
const NO_MODEL: &str = "(I answer by fixed rules, without a language model: short questions about your conversations, \
    tasks, memories and goals work best.)";

impl Converse for Embedded {
    fn id(&self) -> &str {
        "embedded/23"
    }

    fn next<'a>(
        &'a self,
        round: Round<'a>,
        say: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Step, Trouble>> {
        let mut step = step(&Turn::of(round, self.order));
        if let Step::Answer { text, .. } = &mut step {
            if round.context.is_first {
                text.push_str("\n\n");
                text.push_str(NO_MODEL);
            }
            say(text);
        }
        ready(Ok(step)).boxed()
    }
}

/// What the rules do with a round, where a model only words the answer.
pub(crate) fn chosen(round: Round<'_>, order: DayOrder) -> Step {
    step(&Turn::of(round, order))
}

/// A round, and the message that it is about.
struct Turn<'a> {
    message: Message,
    round: Round<'a>,
}

/// What the rules do: the first that feels addressed answers.
fn step(turn: &Turn<'_>) -> Step {
    let rules: [fn(&Turn<'_>) -> Option<Step>; 8] = [
        chatter::step,
        app::step,
        no_app::step,
        goals::step,
        wish::step,
        tasks::step,
        facts::step,
        conversations::step,
    ];
    rules.iter().find_map(|rule| rule(turn)).unwrap_or_else(|| passages::step(turn))
}

impl<'a> Turn<'a> {
    fn of(round: Round<'a>, order: DayOrder) -> Self {
        Self { message: leaning::whole(round.question, round.history, round.context, order), round }
    }
}

impl Turn<'_> {
    /// The result of the first call of `tool` so far.
    fn result(&self, tool: DataTool) -> Option<&Result<Value, String>> {
        let made = |exchange: &&Exchange| exchange.call.name == tool.as_str();
        self.round.rounds.iter().flatten().find(made).map(|exchange| &exchange.result)
    }

    fn offers(&self, tool: DataTool) -> bool {
        self.round.tools.iter().any(|offered| offered.name == tool.as_str())
    }

    /// Calls a data tool; where it is not offered, says that it is missing.
    fn call(&self, tool: DataTool, arguments: Value) -> Step {
        self.calls([(tool, arguments)])
    }

    /// Calls several at once.
    fn calls<const N: usize>(&self, calls: [(DataTool, Value); N]) -> Step {
        if self.message.leans && calls.iter().any(|(tool, _)| tool.writes()) {
            return answer("I changed nothing. Say all of it in one message, and I do it.");
        }
        if let Some((missing, _)) = calls.iter().find(|(tool, _)| !self.offers(*tool)) {
            return answer(format!(
                "The key of this chat may not do that: it lacks the scope {}.",
                missing.scope()
            ));
        }
        let calls = calls.into_iter().enumerate().map(|(number, (tool, arguments))| Call {
            id: format!("call_{}_{number}", self.round.rounds.len()),
            name: tool.as_str().to_owned(),
            arguments,
        });
        Step::Calls { calls: calls.collect(), text: String::new() }
    }
}

/// An answer that quotes nothing.
fn answer(text: impl Into<String>) -> Step {
    Step::Answer { text: text.into(), quotes: Some(Vec::new()) }
}

/// An answer that quotes things by their ids.
fn quoting(text: String, ids: Vec<String>) -> Step {
    Step::Answer { text, quotes: Some(ids) }
}

/// What is said when a tool did not do what was asked.
fn failed(words: &str) -> Step {
    answer(format!("That did not work: {words}"))
}

/// The objects of a list in a result.
fn listed<'v>(result: &'v Value, name: &str) -> Vec<&'v Value> {
    result.get(name).and_then(Value::as_array).map(|list| list.iter().collect()).unwrap_or_default()
}

/// A field that is a text.
fn text<'v>(object: &'v Value, name: &str) -> &'v str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}
