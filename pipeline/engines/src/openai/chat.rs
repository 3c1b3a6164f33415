//! One question to a model, answered in an agreed shape by servers that agree on less and less.

use std::ops::Range;

use futures::{StreamExt, TryStreamExt, stream};
use job::{ErrorClass, FailureCode};
use names::whole_characters;
use records::Talk;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stages::Failure;

use super::bill::Tokens;
use super::complaint::Field;
use super::line::{Unanswered, not_understood};
use super::manner::{Format, Manner, Manners};
use super::prompt::Transcript;
use super::window::{self, Window};
use super::{OpenAi, prompt, schema};

/// Reading what was said leaves nothing to imagination.
const TEMPERATURE: u32 = 0;

/// How many parts of a long talk are asked about at once.
const AT_ONCE: usize = 3;

/// One question about a talk.
pub(super) struct Question<'a> {
    /// The stage, for counting tokens.
    pub(super) stage: &'static str,
    /// The name of the schema: the stages that it answers for, joined by `-`.
    pub(super) name: &'static str,
    /// The shape of the answer.
    pub(super) schema: Value,
    /// What is sent besides the talk.
    pub(super) data: Option<&'a Value>,
    /// The question itself.
    pub(super) text: &'a str,
}

impl<'a> Question<'a> {
    /// One for `stage` alone that is answered by a `T`.
    pub(super) fn of<T: JsonSchema>(stage: &'static str, data: Option<&'a Value>, text: &'a str) -> Self {
        Self { stage, name: stage, schema: schema::strict::<T>(), data, text }
    }

    /// The tokens of everything but the talk.
    fn tokens(&self) -> u32 {
        let data = self.data.map(ToString::to_string).unwrap_or_default();
        [prompt::SYSTEM, self.text, &self.schema.to_string(), &data].map(window::tokens).iter().sum()
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Tokens,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
    refusal: Option<String>,
}

/// What a model wrote: a text, or the parts of one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of an answer; those that are no text have none.
#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

impl Content {
    /// The text; nothing where no part is one.
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(parts) => {
                let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
                (!texts.is_empty()).then(|| texts.concat())
            }
        }
    }
}

impl OpenAi {
    /// Asks `question` of every part of `talk`, which for most talks is one, and reads the answers, in
    /// the order of the parts. Parts that were longer than the server's context are made anew, and smaller.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        talk: &Talk,
        question: &Question<'_>,
    ) -> Result<Vec<T>, Failure> {
        loop {
            let context = self.window.context();
            match self.ask_parts(talk, question, context).await {
                Err(failure) if self.outgrew(context, &failure) => {}
                answers => return answers,
            }
        }
    }

    async fn ask_parts<T: DeserializeOwned>(
        &self,
        talk: &Talk,
        question: &Question<'_>,
        context: u32,
    ) -> Result<Vec<T>, Failure> {
        let rest = question.tokens() + head_tokens(talk);
        let most = Window::part(context, rest);
        let transcript = Transcript::of(talk, most as usize / 2);
        let mut parts = window::parts(&transcript.lines, most);
        if parts.is_empty() {
            // Nothing was said: what is known beside the words is asked about.
            parts.push(0..0);
        }
        let asked = parts.into_iter().map(|part| self.ask_part(&transcript, part, question, context, rest));
        stream::iter(asked).buffered(AT_ONCE).try_collect().await
    }

    /// Whether a prompt that was made for `context` was too long, and is made anew because another context is known by now: a
    /// smaller one was learnt, or what was learnt an hour ago ended meanwhile.
    pub(super) fn outgrew(&self, context: u32, failure: &Failure) -> bool {
        failure.class == Some(ErrorClass::TooLong) && self.window.context() != context
    }

    /// Asks about `question`'s data alone.
    pub(super) async fn ask_data<T: DeserializeOwned>(
        &self,
        talk: &Talk,
        question: &Question<'_>,
        context: u32,
    ) -> Result<T, Failure> {
        let rest = question.tokens() + head_tokens(talk);
        let transcript = Transcript::of(talk, usize::MAX - 1);
        self.ask_part(&transcript, 0..0, question, context, rest).await
    }

    /// The tokens that the answers about a talk's parts may have together in one question.
    pub(super) fn room_for_answers(talk: &Talk, context: u32) -> u32 {
        Window::part(context, head_tokens(talk))
    }

    async fn ask_part<T: DeserializeOwned>(
        &self,
        transcript: &Transcript,
        part: Range<usize>,
        question: &Question<'_>,
        context: u32,
        rest: u32,
    ) -> Result<T, Failure> {
        let text = self.marks.user_text(transcript, part, question.data, question.text);
        let body = self.converse(question, &text, context, rest).await?;
        let text = self.read_text(question.stage, &body)?;
        let object = object_in(&text).ok_or_else(malformed)?;
        read_json(object.as_bytes()).ok_or_else(malformed)
    }

    /// The text of an answer, whose tokens are counted.
    pub(super) fn read_text(&self, stage: &'static str, body: &[u8]) -> Result<String, Failure> {
        let completion: Completion = read_json(body).ok_or_else(malformed)?;
        self.count(stage, &completion.usage);
        content_of(completion)
    }

    /// Asks `text`, which was made for `context` and has `rest` beside a part of the talk, in the known manner, and in the next one as
    /// long as the server complains of the manner; when the last one is refused, all of them anew. One is remembered once it worked.
    async fn converse(
        &self,
        question: &Question<'_>,
        text: &str,
        context: u32,
        rest: u32,
    ) -> Result<Vec<u8>, Failure> {
        let known = self.manners.known();
        let (mut manner, mut is_anew) = (known, known == Manner::NEWEST);
        loop {
            let request = self.request(manner, question, text, context);
            match self.line.post(question.stage, "chat/completions", &request).await {
                Ok(body) => {
                    if manner != known {
                        self.manners.remember(manner);
                    }
                    return Ok(body);
                }
                Err(Unanswered::NotUnderstood(complaint, status)) => {
                    if complaint == Some(Field::Length) {
                        self.window.shrink(context, rest);
                    }
                    manner = match Manners::next(manner, complaint) {
                        Some(next) => next,
                        // Perhaps another server stands there since that was learnt.
                        None if !is_anew && complaint != Some(Field::Length) => {
                            is_anew = true;
                            Manner::NEWEST
                        }
                        None => return Err(not_understood(complaint, status)),
                    };
                }
                Err(Unanswered::Failed(failure)) => return Err(failure),
            }
        }
    }

    fn request(&self, manner: Manner, question: &Question<'_>, text: &str, context: u32) -> Value {
        let (format, text) = match manner.format {
            Format::Schema => {
                let named = json!({"name": question.name, "strict": true, "schema": question.schema});
                (Some(json!({"type": "json_schema", "json_schema": named})), text.to_owned())
            }
            Format::Object => (Some(json!({"type": "json_object"})), spelt_out(question, text)),
            Format::Plain => (None, spelt_out(question, text)),
        };
        let mut request = json!({
            "model": &*self.model,
            "messages": [{"role": "system", "content": prompt::SYSTEM}, {"role": "user", "content": text}],
        });
        if let Some(fields) = request.as_object_mut() {
            fields.insert(manner.limit.to_owned(), Window::output(context).into());
            fields.extend(manner.temperature.then(|| ("temperature".to_owned(), TEMPERATURE.into())));
            fields.extend(format.map(|format| ("response_format".to_owned(), format)));
        }
        request
    }
}

/// The tokens of what is known of `talk` beside its words, and of what explains it.
fn head_tokens(talk: &Talk) -> u32 {
    let explained = if talk.background.pictures.is_empty() { "" } else { prompt::PICTURES };
    window::tokens(&prompt::head(talk).to_string()) + window::tokens(explained)
}

/// A server that does not enforce the schema at least receives it in the prompt.
fn spelt_out(question: &Question<'_>, text: &str) -> String {
    let Question { name, schema, .. } = question;
    format!("{text}\n\nAnswer with one JSON object of this JSON schema `{name}` and nothing else:\n{schema}")
}

fn content_of(completion: Completion) -> Result<String, Failure> {
    let filtered = || Failure::of_class(FailureCode::ModelRejected, ErrorClass::ContentFilter);
    let choice = completion.choices.into_iter().next().ok_or_else(malformed)?;
    let refused = choice.message.refusal.is_some_and(|refusal| !refusal.is_empty());
    match choice.finish_reason.as_deref() {
        Some("content_filter") => Err(filtered()),
        _ if refused => Err(filtered()),
        // Cut in the middle: what parses by luck is still not the whole answer.
        Some("length") => Err(Failure::of_class(FailureCode::ModelMalformed, ErrorClass::Cut)),
        _ => choice.message.content.and_then(Content::text).ok_or_else(malformed),
    }
}

/// An answer without the agreed form.
pub(super) fn malformed() -> Failure {
    Failure::of_class(FailureCode::ModelMalformed, ErrorClass::Malformed)
}

/// JSON of a model or its server, in which an emoji may be cut in half.
pub(super) fn read_json<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_str(&whole_characters(str::from_utf8(json).ok()?)).ok()
}

/// From the first `{` to the last `}` of an answer: models without a JSON mode fence their object, or think aloud
/// before it. `None` when there is no object: every agreed shape is one.
fn object_in(text: &str) -> Option<&str> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    text.get(text.find('{')?..=text.rfind('}')?)
}
