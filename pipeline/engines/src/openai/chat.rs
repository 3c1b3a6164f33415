//! One question to a model, answered in an agreed shape by servers that agree on less and less.

use job::FailureCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stages::Failure;

use super::line::Unanswered;
use super::manner::{Format, Manner, Manners};
use super::{OpenAi, prompt, schema};

/// Room for a long answer and for the hidden thoughts that some models count as output.
const MAX_OUTPUT_TOKENS: u32 = 8_192;
/// Reading what was said leaves nothing to imagination.
const TEMPERATURE: u32 = 0;

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
    /// Asks `question` and reads the answer as a `T`.
    pub(super) async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        question: Question,
    ) -> Result<T, Failure> {
        let body = self.converse(&question, &schema::strict::<T>()).await?;
        let completion: Completion =
            serde_json::from_slice(&body).map_err(|_| FailureCode::ModelMalformed)?;
        self.count(question.stage, completion.usage.as_ref());
        let text = content_of(completion)?;
        Ok(serde_json::from_str(json_in(&text)).map_err(|_| FailureCode::ModelMalformed)?)
    }

    /// Asks in the known manner, and in the next one as long as the server complains of the manner. One is
    /// remembered only once it worked.
    async fn converse(&self, question: &Question, schema: &Value) -> Result<Vec<u8>, Failure> {
        let mut manner = self.manners.known();
        loop {
            let request = self.request(manner, question, schema);
            match self.line.post(question.stage, "chat/completions", &request).await {
                Ok(body) => {
                    self.manners.remember(manner);
                    return Ok(body);
                }
                Err(Unanswered::NotUnderstood(complaint)) => {
                    manner = Manners::next(manner, complaint).ok_or(FailureCode::ModelRejected)?;
                }
                Err(Unanswered::Failed(failure)) => return Err(failure),
            }
        }
    }

    fn request(&self, manner: Manner, question: &Question, schema: &Value) -> Value {
        let (format, text) = match manner.format {
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
            fields.insert(manner.limit.to_owned(), MAX_OUTPUT_TOKENS.into());
            fields.extend(manner.temperature.then(|| ("temperature".to_owned(), TEMPERATURE.into())));
            fields.extend(format.map(|format| ("response_format".to_owned(), format)));
        }
        request
    }

    /// Tells the meter what the server counted.
    pub(super) fn count(&self, stage: &'static str, tokens: Option<&Tokens>) {
        let Some(tokens) = tokens else { return };
        let cached = tokens.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        let counts =
            [("prompt", tokens.prompt_tokens), ("cached", cached), ("completion", tokens.completion_tokens)];
        for (kind, count) in counts {
            if let Some(count) = count.filter(|&count| count > 0) {
                self.line.meter().tokens(stage, kind, count);
            }
        }
    }
}

/// A server that does not enforce the schema is at least told of it.
fn spelt_out(question: &Question, schema: &Value) -> String {
    format!(
        "{}\n\nAnswer with one JSON object of this JSON schema `{}` and nothing else:\n{schema}",
        question.text, question.stage
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
