//! What an operation answers.

use serde_json::{Map, Value, json};

use super::schemas::{list_of, reference};
use crate::error::example;

/// One status of one operation.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    words: &'static str,
    schema: Option<Value>,
    examples: Vec<Value>,
    headers: Vec<&'static str>,
    links: Vec<(&'static str, &'static str, &'static str)>,
    streamed: bool,
}

impl Answer {
    /// 200 with a thing.
    pub(crate) fn one(name: &'static str, words: &'static str, example: Value) -> Self {
        Self { schema: Some(reference(name)), examples: vec![example], ..Self::bare(200, words) }
    }

    /// 200 with a page of things, and a `Link` header.
    pub(crate) fn page(name: &'static str, example: Value) -> Self {
        let schema = Some(list_of(name));
        let words = "A page. `Link` names the next and the previous one.";
        Self { schema, examples: vec![json!([example])], ..Self::bare(200, words) }.with_header("Link")
    }

    /// 200 with all the things there are.
    pub(crate) fn all(name: &'static str, example: Value) -> Self {
        Self {
            schema: Some(list_of(name)),
            examples: vec![json!([example])],
            ..Self::bare(200, "All of them.")
        }
    }

    /// 200 `{"success": true}`: it is gone.
    pub(crate) fn gone() -> Self {
        Self::one("Success", "Deleted.", json!({ "success": true }))
    }

    /// A status without a body.
    pub(crate) fn bare(status: u16, words: &'static str) -> Self {
        Self {
            status,
            words,
            schema: None,
            examples: Vec::new(),
            headers: Vec::new(),
            links: Vec::new(),
            streamed: false,
        }
    }

    /// A refusal in one sentence.
    pub(crate) fn refusal(status: u16, words: &'static str, detail: &str) -> Self {
        let schema = Some(reference("Problem"));
        Self { schema, examples: vec![example(status, detail)], ..Self::bare(status, words) }
    }

    /// A header of `components.headers` that comes with it.
    pub(crate) fn with_header(mut self, name: &'static str) -> Self {
        self.headers.push(name);
        self
    }

    /// The same comes as a stream of events to clients that ask for no JSON.
    pub(crate) fn also_streamed(self) -> Self {
        Self { streamed: true, ..self }
    }

    /// Where to go on: the operation, the name of its id, and where the id stands in this answer's body.
    pub(crate) fn leads_to(
        mut self,
        operation: &'static str,
        parameter: &'static str,
        pointer: &'static str,
    ) -> Self {
        self.links.push((operation, parameter, pointer));
        self
    }

    /// Writes the response object under its status; a second refusal of one status adds its example to the first.
    pub(super) fn add_to(&self, responses: &mut Map<String, Value>, tagged: bool) {
        let status = self.status.to_string();
        if let Some(known) = responses.get_mut(&status) {
            let content = &mut known["content"]["application/json"];
            let mut examples = content["examples"].as_object().cloned().unwrap_or_default();
            for example in &self.examples {
                examples.insert(format!("example {}", examples.len() + 1), json!({ "value": example }));
            }
            content["examples"] = examples.into();
            return;
        }
        responses.insert(status, self.write(tagged));
    }

    fn write(&self, tagged: bool) -> Value {
        let mut response = json!({ "description": self.words });
        let mut names = self.headers.clone();
        names.push("X-Request-Id");
        if tagged && self.status == 200 {
            names.push("ETag");
        }
        let header =
            |name: &str| (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
        response["headers"] = names.into_iter().map(header).collect::<Map<_, _>>().into();
        if let Some(schema) = &self.schema {
            let examples: Map<String, Value> = self
                .examples
                .iter()
                .enumerate()
                .map(|(index, example)| (format!("example {}", index + 1), json!({ "value": example })))
                .collect();
            response["content"] = json!({ "application/json": { "schema": schema, "examples": examples } });
            if self.streamed {
                response["content"]["text/event-stream"] = json!({ "schema": {
                    "type": "object",
                    "description": "An event; `data` is a JSON object.",
                    "properties": { "event": { "type": "string" }, "data": { "type": "string" } },
                    "required": ["event", "data"],
                } });
            }
        }
        if !self.links.is_empty() {
            response["links"] = self.links.iter().map(link).collect::<Map<_, _>>().into();
        }
        response
    }
}

fn link((operation, parameter, pointer): &(&str, &str, &str)) -> (String, Value) {
    let place = format!("$response.body#{pointer}");
    ((*operation).to_owned(), json!({ "operationId": operation, "parameters": { *parameter: place } }))
}
