//! Gathering a streamed answer. Servers agree on the outer form alone: calls come at wrong indexes, without ids, with
//! arguments as objects or all at once, and `finish_reason` says nothing reliable. So calls are told apart by their ids,
//! then by their names, then by their places, and that there are calls makes a round of tools.

use std::collections::HashSet;

use assistant::{Call, Step};
use serde::Deserialize;
use serde_json::Value;

use crate::openai::bill::Tokens;
use crate::openai::chat::read_json;

/// Calls in one answer: more than a turn makes.
const MOST_CALLS: usize = 64;
/// Bytes of a call's arguments: more than any tool takes. They are read again with each piece that names the call.
const MOST_ARGUMENTS: usize = 64 * 1024;

/// What a model wrote: a text, or calls, or both.
pub(super) struct Message {
    pub(super) text: String,
    calls: Vec<Partial>,
}

/// A call, as far as it has come.
#[derive(Clone, Debug, Default)]
struct Partial {
    id: String,
    index: Option<u64>,
    name: String,
    arguments: String,
    /// Whether the arguments came all at once, as an object.
    is_object: bool,
}

#[derive(Default, Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Piece>>,
}

#[derive(Deserialize)]
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

/// An answer while it is streamed.
#[derive(Default)]
pub(super) struct Gathered {
    /// Bytes behind the last whole line.
    rest: Vec<u8>,
    /// Lines that are no events: a server that does not stream sends its answer as they are.
    other: String,
    text: String,
    /// The text up to which everything was said.
    said: usize,
    calls: Vec<Partial>,
    usage: Option<Tokens>,
    is_broken: bool,
}

impl Gathered {
    /// Takes bytes as they come.
    pub(super) fn take(&mut self, bytes: &[u8], say: &(dyn Fn(&str) + Send + Sync)) {
        // Each byte is looked at once, however they come: what is kept of a line has no end in it.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(line);
            if line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                self.line(&String::from_utf8_lossy(&line), say);
            }
        }
    }

    /// Whether words were said.
    pub(super) fn has_said(&self) -> bool {
        self.said > 0
    }

    /// The whole; `None`: it cannot be read.
    pub(super) fn finish(
        mut self,
        say: &(dyn Fn(&str) + Send + Sync),
        count: &dyn Fn(&Tokens),
    ) -> Option<Message> {
        let rest = std::mem::take(&mut self.rest);
        self.line(&String::from_utf8_lossy(&rest), say);
        if self.text.is_empty() && self.calls.is_empty() && !self.other.trim().is_empty() {
            let message = Message::of_completion(self.other.as_bytes(), count)?;
            say(&message.text);
            return Some(message);
        }
        if let Some(usage) = &self.usage {
            count(usage);
        }
        if self.is_broken {
            return None;
        }
        let thinks = self.text.trim_start().starts_with("<think>") && !self.text.contains("</think>");
        let text = if thinks { String::new() } else { spoken(&self.text).to_owned() };
        let message = Message { text, calls: self.calls };
        message.is_whole().then_some(message)
    }

    fn line(&mut self, line: &str, say: &(dyn Fn(&str) + Send + Sync)) {
        let line = line.trim();
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            let is_field =
                line.is_empty() || [":", "event:", "id:", "retry:"].iter().any(|it| line.starts_with(it));
            if !is_field {
                self.other.push_str(line);
                self.other.push('\n');
            }
            return;
        };
        if data == "[DONE]" || data.is_empty() {
            return;
        }
        match read_json(data.as_bytes()) {
            Some(Chunk { error: Some(_), .. }) | None => self.is_broken = true,
            Some(chunk) => self.chunk(chunk, say),
        }
    }

    fn chunk(&mut self, chunk: Chunk, say: &(dyn Fn(&str) + Send + Sync)) {
        self.usage = chunk.usage.or(self.usage.take());
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return };
        self.is_broken |= choice.finish_reason.as_deref() == Some("content_filter");
        let Some(delta) = choice.delta else { return };
        self.is_broken |= delta.refusal.is_some_and(|refusal| !refusal.is_empty());
        if let Some(content) = delta.content {
            self.text.push_str(&text_of(&content));
            self.speak(say);
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            self.is_broken |= !add(&mut self.calls, piece.into_partial());
        }
    }

    /// Says what is new; what a model thinks aloud is no answer.
    fn speak(&mut self, say: &(dyn Fn(&str) + Send + Sync)) {
        const THINK: &str = "<think>";
        let begun = self.text.trim_start();
        if begun.is_empty() || (begun.len() < THINK.len() && THINK.starts_with(begun)) {
            return;
        }
        if begun.starts_with(THINK) && !begun.contains("</think>") {
            return;
        }
        let spoken = spoken(&self.text);
        if let Some(more) = spoken.get(self.said..).filter(|more| !more.is_empty()) {
            say(more);
            self.said = spoken.len();
        }
    }
}

/// What stands behind a model's thoughts.
fn spoken(text: &str) -> &str {
    match text.trim_start().starts_with("<think>") {
        true => text.split_once("</think>").map_or("", |(_, answer)| answer.trim_start()),
        false => text,
    }
}

/// A text, or the parts of one.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

impl Piece {
    /// The call as far as this piece tells it.
    fn into_partial(self) -> Partial {
        let (name, arguments) = match self.function {
            Some(function) => (function.name.unwrap_or_default(), function.arguments),
            None => (String::new(), None),
        };
        let (arguments, is_object) = match arguments {
            Some(Value::String(text)) => (text, false),
            Some(Value::Null) | None => (String::new(), false),
            Some(object) => (object.to_string(), true),
        };
        Partial { id: self.id.unwrap_or_default(), index: self.index, name, arguments, is_object }
    }
}

/// Adds a piece to the call that it belongs to, or begins one. `false`: it is more than a model means.
fn add(calls: &mut Vec<Partial>, piece: Partial) -> bool {
    let Partial { id, index, name, arguments, is_object } = &piece;
    let at = match calls.iter().rposition(|call| !id.is_empty() && call.id == *id) {
        Some(same) => Some(same),
        None if !id.is_empty() => {
            // An id that comes behind its call's first piece.
            calls.iter().position(|call| {
                call.id.is_empty() && call.index == *index && (name.is_empty() || call.name == *name)
            })
        }
        None => {
            let of_index = calls.iter().rposition(|call| index.is_some() && call.index == *index);
            of_index.or_else(|| if index.is_none() { calls.len().checked_sub(1) } else { None })
        }
    };
    let Some(call) = at.and_then(|at| calls.get_mut(at)) else { return begin(calls, piece) };
    let is_another = !name.is_empty() && !call.name.is_empty() && call.name != *name;
    // A whole call, named again: another one where it says anything else, and an echo where it does not.
    let is_again = !name.is_empty() && is_object_text(&call.arguments);
    let is_echo = arguments.trim().is_empty() || *arguments == call.arguments;
    if is_another || (is_again && !is_echo) {
        return begin(calls, piece);
    }
    if call.id.is_empty() {
        call.id.clone_from(id);
    }
    if call.name.is_empty() {
        call.name.clone_from(name);
    }
    match is_object {
        // All at once.
        true => call.arguments.clone_from(arguments),
        false if is_again => {}
        false if call.arguments.len() + arguments.len() > MOST_ARGUMENTS => return false,
        false => call.arguments.push_str(arguments),
    }
    true
}

fn begin(calls: &mut Vec<Partial>, call: Partial) -> bool {
    let has_room = calls.len() < MOST_CALLS && call.arguments.len() <= MOST_ARGUMENTS;
    if has_room {
        calls.push(call);
    }
    has_room
}

/// Whether there are no arguments, as some servers say it.
fn is_absent(arguments: &str) -> bool {
    matches!(arguments.trim(), "" | "null")
}

fn is_object_text(text: &str) -> bool {
    read_json::<Value>(text.as_bytes()).is_some_and(|value| value.is_object())
}

impl Message {
    /// Reads an answer that came in one piece.
    pub(super) fn of_completion(bytes: &[u8], count: &dyn Fn(&Tokens)) -> Option<Self> {
        let chunk: Chunk = read_json(bytes)?;
        if let Some(usage) = &chunk.usage {
            count(usage);
        }
        let choice = chunk.choices?.into_iter().next()?;
        let filtered = choice.finish_reason.as_deref() == Some("content_filter");
        let delta = choice.delta?;
        if filtered || chunk.error.is_some() || delta.refusal.is_some_and(|refusal| !refusal.is_empty()) {
            return None;
        }
        // Each is a call of its own, whatever its id and its index say.
        let mut calls = Vec::new();
        for piece in delta.tool_calls.into_iter().flatten() {
            if !begin(&mut calls, piece.into_partial()) {
                return None;
            }
        }
        let text = spoken(&text_of(&delta.content.unwrap_or_default())).to_owned();
        let message = Self { text, calls };
        (!message.text.trim().is_empty() || message.calls.iter().any(|call| !call.name.is_empty()))
            .then_some(message)
    }

    /// Whether there is something in it, and every call can be made.
    fn is_whole(&self) -> bool {
        let is_call = |call: &Partial| {
            !call.name.is_empty() && (is_absent(&call.arguments) || is_object_text(&call.arguments))
        };
        self.calls.iter().all(is_call) && !(self.calls.is_empty() && self.text.trim().is_empty())
    }

    /// What it means for the turn. Arguments that are no object are the tool's to refuse: the model repairs them.
    pub(super) fn step(self, round: usize) -> Step {
        // Results are matched by ids: of calls that share one, the later ones get another.
        let mut taken = HashSet::new();
        let calls: Vec<Call> = self
            .calls
            .into_iter()
            .filter(|call| !call.name.is_empty())
            .enumerate()
            .map(|(at, call)| Call {
                id: match call.id.is_empty() || !taken.insert(call.id.clone()) {
                    true => format!("call_{round}_{at}"),
                    false => call.id,
                },
                name: call.name,
                arguments: match is_absent(&call.arguments) {
                    true => Value::Object(serde_json::Map::new()),
                    false => read_json(call.arguments.as_bytes()).unwrap_or(Value::Null),
                },
            })
            .collect();
        match calls.is_empty() {
            true => Step::Answer { text: self.text, quotes: None },
            false => Step::Calls { calls, text: self.text },
        }
    }
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
