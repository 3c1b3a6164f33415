//! One question to a model, answered in an agreed shape by servers that agree on less and less.

use std::sync::atomic::{AtomicUsize, Ordering};

use job::FailureCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::server::Failure;
use super::{OpenAi, prompt, schema};

/// Room for a long answer and for the hidden thoughts that some models count as output.
const MAX_OUTPUT_TOKENS: u32 = 8_192;

/// How a request asks for JSON, and by which name it limits the output.
struct Rung {
    format: Format,
    limit: &'static str,
}

enum Format {
    Schema,
    Object,
    Plain,
}

/// From the newest way to ask down to the one that every server knows. Newer servers refuse `max_tokens`,
/// older ones `max_completion_tokens`; some do not know schemas, some no JSON mode at all.
const LADDER: [Rung; 4] = [
    Rung { format: Format::Schema, limit: "max_completion_tokens" },
    Rung { format: Format::Schema, limit: "max_tokens" },
    Rung { format: Format::Object, limit: "max_tokens" },
    Rung { format: Format::Plain, limit: "max_tokens" },
];

/// The highest rung that the server is known to stand on; begins at the top.
#[derive(Default)]
pub(super) struct Rungs(AtomicUsize);

/// One question about a talk.
pub(super) struct Question {
    /// The stage, for counting tokens; also the name of the schema.
    pub(super) stage: &'static str,
    /// The user's side of the prompt.
    pub(super) text: String,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

/// What a server says it counted.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptTokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptTokens {
    cached_tokens: Option<u64>,
}

impl OpenAi {
    /// Asks `question` and reads the answer as a `T`, within the engine's timeout.
    pub(super) async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        question: Question,
    ) -> Result<T, FailureCode> {
        let answered =
            tokio::time::timeout(self.timeout, self.climb_down(&question, &schema::strict::<T>())).await;
        let body = answered.map_err(|_| FailureCode::ModelTimeout)??;
        let completion: Completion =
            serde_json::from_slice(&body).map_err(|_| FailureCode::ModelMalformed)?;
        self.count(question.stage, completion.usage.as_ref());
        let text = content_of(completion)?;
        serde_json::from_str(json_in(&text)).map_err(|_| FailureCode::ModelMalformed)
    }

    /// Tries the rungs from the remembered one down. A lower rung is remembered only once it worked: what
    /// all rungs refuse is a refusal of the request itself, for example of an unknown model.
    async fn climb_down(&self, question: &Question, schema: &Value) -> Result<Vec<u8>, FailureCode> {
        let known = self.rungs.0.load(Ordering::Relaxed);
        for (index, rung) in LADDER.iter().enumerate().skip(known) {
            match self.server.post("chat/completions", &self.request(rung, question, schema)).await {
                Ok(body) => {
                    if self.rungs.0.fetch_max(index, Ordering::Relaxed) < index {
                        tracing::info!(
                            rung = index,
                            "the model server knows only an older way to ask for JSON"
                        );
                    }
                    return Ok(body);
                }
                Err(Failure::NotUnderstood) => {}
                Err(Failure::Final(code)) => return Err(code),
            }
        }
        Err(FailureCode::ModelRejected)
    }

    fn request(&self, rung: &Rung, question: &Question, schema: &Value) -> Value {
        let (format, text) = match rung.format {
            Format::Schema => {
                let named = json!({"name": question.stage, "strict": true, "schema": schema});
                (Some(json!({"type": "json_schema", "json_schema": named})), question.text.clone())
            }
            Format::Object => (Some(json!({"type": "json_object"})), spelt_out(question, schema)),
            Format::Plain => (None, spelt_out(question, schema)),
        };
        let mut request = json!({
            "model": &*self.model,
            "messages": [{"role": "system", "content": prompt::SYSTEM}, {"role": "user", "content": text}],
        });
        if let Some(fields) = request.as_object_mut() {
            fields.insert(rung.limit.to_owned(), MAX_OUTPUT_TOKENS.into());
            fields.extend(format.map(|format| ("response_format".to_owned(), format)));
        }
        request
    }

    /// Tells the usage sink what the server counted.
    pub(super) fn count(&self, stage: &'static str, tokens: Option<&Tokens>) {
        let Some(tokens) = tokens else { return };
        let cached = tokens.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        let counts =
            [("prompt", tokens.prompt_tokens), ("cached", cached), ("completion", tokens.completion_tokens)];
        for (kind, count) in counts {
            if let Some(count) = count.filter(|&count| count > 0) {
                (self.usage)(stage, kind, count);
            }
        }
    }
}

/// A server that does not enforce the schema is at least told of it.
fn spelt_out(question: &Question, schema: &Value) -> String {
    format!(
        "{}\n\nAnswer with one JSON object of this JSON schema and nothing else:\n{schema}",
        question.text
    )
}

fn content_of(completion: Completion) -> Result<String, FailureCode> {
    let choice = completion.choices.into_iter().next().ok_or(FailureCode::ModelMalformed)?;
    let refused = choice.message.refusal.is_some_and(|refusal| !refusal.is_empty());
    match choice.finish_reason.as_deref() {
        Some("content_filter") => Err(FailureCode::ModelRejected),
        _ if refused => Err(FailureCode::ModelRejected),
        // Cut in the middle: what parses by luck is still not the whole answer.
        Some("length") => Err(FailureCode::ModelMalformed),
        _ => choice.message.content.ok_or(FailureCode::ModelMalformed),
    }
}

/// The object in an answer: models without a JSON mode like to fence it, or to think aloud before it.
fn json_in(text: &str) -> &str {
    let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    match (text.find('{'), text.rfind('}')) {
        (Some(start), Some(end)) if start < end => &text[start..=end],
        _ => text,
    }
}
