//! Gathering a streamed answer. Servers agree on the outer form alone: calls come at wrong indexes, without ids, with
//! arguments as objects or all at once, and `finish_reason` says nothing reliable. So calls are told apart by their ids,
//! then by their names, then by their places, and that there are calls makes a round of tools.

use assistant::{Call, Step};
use serde::Deserialize;
use serde_json::Value;

use crate::openai::bill::Tokens;

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
}

#[derive(Default, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
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
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.line(&String::from_utf8_lossy(&line), say);
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
        match serde_json::from_str::<Chunk>(data) {
            Ok(Chunk { error: Some(_), .. }) | Err(_) => self.is_broken = true,
            Ok(chunk) => self.chunk(chunk, say),
        }
    }

    fn chunk(&mut self, chunk: Chunk, say: &(dyn Fn(&str) + Send + Sync)) {
        self.usage = chunk.usage.or(self.usage.take());
        let Some(choice) = chunk.choices.into_iter().next() else { return };
        self.is_broken |= choice.finish_reason.as_deref() == Some("content_filter");
        let Some(delta) = choice.delta else { return };
        self.is_broken |= delta.refusal.is_some_and(|refusal| !refusal.is_empty());
        if let Some(content) = delta.content {
            self.text.push_str(&text_of(&content));
            self.speak(say);
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            add(&mut self.calls, piece);
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

/// Adds a piece to the call that it belongs to, or begins one.
fn add(calls: &mut Vec<Partial>, piece: Piece) {
    let id = piece.id.unwrap_or_default();
    let (name, arguments) = match piece.function {
        Some(function) => (function.name.unwrap_or_default(), function.arguments),
        None => (String::new(), None),
    };
    let at = match calls.iter().position(|call| !id.is_empty() && call.id == id) {
        Some(same) => Some(same),
        None if !id.is_empty() => {
            // An id that comes behind its call's first piece.
            calls.iter().position(|call| {
                call.id.is_empty() && call.index == piece.index && (name.is_empty() || call.name == name)
            })
        }
        None => {
            let of_index = calls.iter().rposition(|call| piece.index.is_some() && call.index == piece.index);
            of_index.or_else(|| if piece.index.is_none() { calls.len().checked_sub(1) } else { None })
        }
    };
    let begins_anew = |call: &Partial| {
        let another = !name.is_empty() && call.name != name && !call.name.is_empty();
        let again = !name.is_empty() && id.is_empty() && is_object(&call.arguments) && arguments.is_some();
        another || again
    };
    let at = at.filter(|at| calls.get(*at).is_some_and(|call| !begins_anew(call)));
    let at = at.unwrap_or_else(|| {
        calls.push(Partial { index: piece.index, ..Partial::default() });
        calls.len() - 1
    });
    let Some(call) = calls.get_mut(at) else { return };
    if call.id.is_empty() {
        call.id = id;
    }
    if call.name.is_empty() {
        call.name = name;
    }
    match arguments {
        Some(Value::String(text)) => call.arguments.push_str(&text),
        Some(Value::Null) | None => {}
        // All at once, as an object.
        Some(object) => call.arguments = object.to_string(),
    }
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

impl Message {
    /// Reads an answer that came in one piece.
    pub(super) fn of_completion(bytes: &[u8], count: &dyn Fn(&Tokens)) -> Option<Self> {
        let chunk: Chunk = serde_json::from_slice(bytes).ok()?;
        if let Some(usage) = &chunk.usage {
            count(usage);
        }
        let choice = chunk.choices.into_iter().next()?;
        let filtered = choice.finish_reason.as_deref() == Some("content_filter");
        let delta = choice.delta?;
        if filtered || chunk.error.is_some() || delta.refusal.is_some_and(|refusal| !refusal.is_empty()) {
            return None;
        }
        let mut calls = Vec::new();
        for (at, piece) in (0_u64..).zip(delta.tool_calls.into_iter().flatten()) {
            // Each is a call of its own, whatever its index says.
            add(&mut calls, Piece { index: Some(at), ..piece });
        }
        let text = spoken(&text_of(&delta.content.unwrap_or_default())).to_owned();
        let message = Self { text, calls };
        (!message.text.trim().is_empty() || message.calls.iter().any(|call| !call.name.is_empty()))
            .then_some(message)
    }

    /// Whether there is something in it, and every call can be made.
    fn is_whole(&self) -> bool {
        let is_call = |call: &Partial| {
            !call.name.is_empty() && (call.arguments.trim().is_empty() || is_object(&call.arguments))
        };
        self.calls.iter().all(is_call) && !(self.calls.is_empty() && self.text.trim().is_empty())
    }

    /// What it means for the turn. Arguments that are no object are the tool's to refuse: the model repairs them.
    pub(super) fn step(self, round: usize) -> Step {
        let calls: Vec<Call> = self
            .calls
            .into_iter()
            .filter(|call| !call.name.is_empty())
            .enumerate()
            .map(|(at, call)| Call {
                id: if call.id.is_empty() { format!("call_{round}_{at}") } else { call.id },
                name: call.name,
                arguments: match call.arguments.trim() {
                    "" => Value::Object(serde_json::Map::new()),
                    text => serde_json::from_str(text).unwrap_or(Value::Null),
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
