//! One operation of the interface, as the document tells it.

use serde_json::{Map, Value, json};

use super::{answer::Answer, described::Described, errors};
use crate::{
    Scope,
    door::retire::{self, RETIRING},
};

/// What the document says of one method on one path. What every operation has in common (its errors, its request id)
/// is added when it is written.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// In small letters, as OpenAPI has it.
    pub(crate) method: &'static str,
    /// The route's own pattern.
    pub(crate) path: &'static str,
    /// The name that generated clients give it.
    pub(crate) id: &'static str,
    /// The heading under which it stands.
    pub(crate) tag: &'static str,
    /// A line.
    pub(crate) summary: &'static str,
    /// A paragraph or two, in Markdown.
    pub(crate) description: &'static str,
    /// What the key must hold; `None`: every key may.
    pub(crate) scope: Option<Scope>,
    /// Its parameters.
    pub(crate) query: Option<Described>,
    /// Its body.
    pub(crate) body: Option<RequestBody>,
    /// What it answers when all is well, and its own refusals.
    pub(crate) answers: Vec<Answer>,
    /// Whether it takes an `Idempotency-Key`.
    pub(crate) creates: bool,
    /// Whether it answers 304 to `If-None-Match`.
    pub(crate) conditional: bool,
    /// Whether it takes a person's own model key.
    pub(crate) keyed: bool,
    /// Whether it can be 422 although it reads nothing.
    pub(crate) refuses: bool,
    /// Whether it is answered without a key; nothing of anybody's is asked for.
    pub(crate) public: bool,
    /// Whether it takes the key of an app instead of a developer's.
    pub(crate) of_app: bool,
}

/// A body that is sent.
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    /// The name of its schema.
    pub(crate) name: &'static str,
    /// What is in it.
    pub(crate) fields: Described,
    /// Whether it must be there.
    pub(crate) required: bool,
    /// One that is right.
    pub(crate) example: Value,
}

impl Operation {
    /// Begins the description of `method` on `path`.
    pub(crate) fn new(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        tag: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            id,
            tag,
            summary,
            description: "",
            scope: None,
            query: None,
            body: None,
            answers: Vec::new(),
            creates: false,
            conditional: false,
            refuses: false,
            keyed: false,
            public: false,
            of_app: false,
        }
    }

    /// More words.
    pub(crate) fn says(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// It needs no key.
    pub(crate) fn public(self) -> Self {
        Self { public: true, ..self }
    }

    /// It takes the key of an app.
    pub(crate) fn of_app(self) -> Self {
        Self { of_app: true, ..self }
    }

    /// The scope that it demands.
    pub(crate) fn needs(self, scope: Scope) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Its query parameters.
    pub(crate) fn query(self, query: Described) -> Self {
        Self { query: Some(query), ..self }
    }

    /// Its body, which must be there.
    pub(crate) fn body(self, name: &'static str, fields: Described, example: Value) -> Self {
        Self { body: Some(RequestBody { name, fields, required: true, example }), ..self }
    }

    /// Its body, which may be left out.
    pub(crate) fn optional_body(self, name: &'static str, fields: Described, example: Value) -> Self {
        Self { body: Some(RequestBody { name, fields, required: false, example }), ..self }
    }

    /// What it answers.
    pub(crate) fn answers(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    /// 404, with the kind of thing that is missing.
    pub(crate) fn not_found(self, kind: &str) -> Self {
        self.answers(Answer::refusal(404, "The user has no such object.", &format!("{kind} not found")))
    }

    /// 409, with the words that say why.
    pub(crate) fn conflict(self, detail: &str) -> Self {
        self.answers(Answer::refusal(409, "The state does not allow it.", detail))
    }

    /// It makes something, and makes it once for each `Idempotency-Key`.
    pub(crate) fn creates(self) -> Self {
        Self { creates: true, ..self }
    }

    /// It knows `ETag` and `If-None-Match`.
    pub(crate) fn conditional(self) -> Self {
        Self { conditional: true, ..self }
    }

    /// It takes a person's own model key in a header.
    pub(crate) fn takes_keys(self) -> Self {
        Self { keyed: true, refuses: true, ..self }
    }

    /// The operation object of OpenAPI.
    pub(super) fn write(&self) -> Value {
        let mut object = json!({
            "tags": [self.tag],
            "summary": self.summary,
            "operationId": self.id,
        });
        if !self.description.is_empty() {
            object["description"] = self.description.into();
        }
        let parameters = self.parameters();
        if !parameters.is_empty() {
            object["parameters"] = parameters.into();
        }
        if let Some(body) = &self.body {
            object["requestBody"] = body.write();
        }
        if retire::of(RETIRING, &self.method.to_uppercase(), self.path).is_some() {
            object["deprecated"] = true.into();
        }
        object["responses"] = Value::Object(self.responses());
        let scopes: Vec<&str> = self.scope.iter().map(|scope| scope.as_str()).collect();
        object["security"] = match (self.public, self.of_app) {
            (true, _) => json!([]),
            (false, true) => json!([{ "appKey": [] }]),
            (false, false) => json!([{ "developerKey": scopes }]),
        };
        object
    }

    fn parameters(&self) -> Vec<Value> {
        let ids = self.path.split('/').filter_map(|step| step.strip_prefix('{')?.strip_suffix('}'));
        let mut parameters: Vec<Value> = ids.map(path_parameter).collect();
        parameters.extend(self.query.iter().flat_map(Described::parameters));
        if self.creates {
            parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
        }
        if self.keyed {
            parameters.push(json!({ "$ref": "#/components/parameters/ModelKey" }));
        }
        if self.conditional {
            parameters.push(json!({ "$ref": "#/components/parameters/IfNoneMatch" }));
        }
        parameters
    }

    fn responses(&self) -> Map<String, Value> {
        let mut responses = Map::new();
        for answer in &self.answers {
            answer.add_to(&mut responses, self.conditional);
        }
        let also = |status: &str, name: &str, responses: &mut Map<String, Value>| {
            responses.entry(status).or_insert_with(|| errors::reference(name));
        };
        if self.conditional {
            also("304", "NotModified", &mut responses);
        }
        if self.public {
            if self.query.is_some() {
                also("422", "Invalid", &mut responses);
            }
            return responses;
        }
        also("401", "NotAuthenticated", &mut responses);
        if let Some(scope) = self.scope {
            responses.insert("403".to_owned(), errors::forbidden(scope));
        }
        if self.body.is_some() {
            also("400", "UnreadableBody", &mut responses);
            also("408", "BodyTooSlow", &mut responses);
            also("413", "BodyTooLarge", &mut responses);
        }
        if self.creates {
            for (_, made) in responses.iter_mut().filter(|(status, _)| status.starts_with('2')) {
                made["headers"]["Idempotency-Replayed"] = errors::header("Idempotency-Replayed");
            }
            // A deleted conversation leaves a trace, so that a repeat can report the deletion.
            if !self.path.contains("/conversations") {
                also("404", "MadeAndGone", &mut responses);
            }
            also("409", "StillRunning", &mut responses);
        }
        if self.refuses || self.creates || self.body.is_some() || self.query.is_some() {
            also("422", "Invalid", &mut responses);
        }
        also("429", "TooManyRequests", &mut responses);
        also("503", "Unavailable", &mut responses);
        responses.values_mut().for_each(errors::say_what_is_left);
        responses.sort_keys();
        responses
    }
}

impl RequestBody {
    fn write(&self) -> Value {
        json!({
            "required": self.required,
            "content": { "application/json": {
                "schema": { "$ref": format!("#/components/schemas/{}", self.name) },
                "example": self.example,
            } },
        })
    }
}

fn path_parameter(name: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 },
    })
}
